"""What `python -m sureness` runs: the command line."""

from sureness.cli import main

if __name__ == "__main__":
    main()
