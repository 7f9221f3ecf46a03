"""python -m transformer is the `translate` command."""

import signal
import sys


def main() -> int:
    """The exit code of the command; Ctrl-C during its import or its exit leaves no traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from transformer import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
