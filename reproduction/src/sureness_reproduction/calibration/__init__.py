"""Chapter 2: scores of five recommenders become probabilities, judged on uniformly exposed pairs."""
