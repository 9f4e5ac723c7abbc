"""`python -m classic` is `classic`, for who has no path to the command."""

from classic.cli.main import run

if __name__ == "__main__":
    run()
