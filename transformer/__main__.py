"""`python -m transformer` is the command `translate`."""

import os
import platform
import signal
import sys


def _restart_with_malloc() -> None:
    """Replace this process by one with PYTHONMALLOC=malloc, unless that is set or without glibc.

    glibc returns memory to the system by the page; Python's allocator, by the empty MiB.
    """
    has_glibc = platform.libc_ver()[0] == "glibc"
    if has_glibc and sys.executable and "PYTHONMALLOC" not in os.environ:
        os.environ["PYTHONMALLOC"] = "malloc"
        os.execv(sys.executable, sys.orig_argv)


def main() -> int:
    """Run the command, return its exit code; Ctrl-C during import or exit leaves no traceback."""
    if "--serve" in sys.argv or sys.argv[1:2] == ["serve"]:
        _restart_with_malloc()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from transformer import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
