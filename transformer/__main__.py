"""python -m transformer is the `translate` command."""

import sys

from transformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
