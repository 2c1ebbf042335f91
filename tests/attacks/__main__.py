"""`python -m tests.attacks [names]`; in a module of its own because other processes import what they run by name."""

import sys

from tests.attacks.running import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
