"""python -m transformer is the `translate` command."""

import os
import signal
import sys


def _give_back_by_the_page() -> None:
    """Starts again with glibc's allocator, which gives a server's memory back page by page.

    Python's own gives back a MiB, and only one in which nothing is left.
    """
    try:
        has_glibc = "glibc" in (os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, ValueError, OSError):  # another system, another library
        has_glibc = False
    if has_glibc and sys.executable and "PYTHONMALLOC" not in os.environ:
        os.environ["PYTHONMALLOC"] = "malloc"
        os.execv(sys.executable, sys.orig_argv)


def main() -> int:
    """The exit code of the command; Ctrl-C during its import or its exit leaves no traceback."""
    if "--serve" in sys.argv or sys.argv[1:2] == ["serve"]:
        _give_back_by_the_page()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from transformer import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
