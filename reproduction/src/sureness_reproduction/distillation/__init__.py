"""Chapter 3: a large and a small model teach each other."""
