"""`python -m selfpaced` is `selfpaced`."""

import sys

from selfpaced.cli import main

if __name__ == "__main__":
    sys.exit(main())
