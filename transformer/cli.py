"""What the commands have in common: a mistake that a person can mend is one line and exit code 2."""

import sys
from collections.abc import Callable

from transformer.config import UserError


def guarded(work: Callable[[], object]) -> int:
    """Runs a command and returns its exit code."""
    try:
        work()
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
