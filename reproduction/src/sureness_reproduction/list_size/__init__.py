"""Chapter 4: how many items each user should see."""
