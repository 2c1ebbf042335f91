"""Other libraries, run as their documentation says, each in the environment it needs."""
