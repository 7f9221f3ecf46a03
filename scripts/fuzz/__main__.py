"""A campaign of hostile input, full disks and bad luck; it ends with a table of figures.

    python -m scripts.fuzz                                  all of it, about an hour and a half
    python -m scripts.fuzz --only server --minutes 30       200 clients while attacks run
    python -m scripts.fuzz --only files lines --share 0.01  a hundredth of the counts, for a look

Each part prints its rows when it ends; where one does not hold, the exit code is 1.
"""

import importlib
import signal
import tempfile
import time
from pathlib import Path

from scripts.benchmark.tables import environment, log, markdown
from scripts.fuzz.checks import Check, Options
from transformer.command import CheckFailed, Parser, run_command
from transformer.files import write_text

PARTS = ("server", "files", "checkpoints", "training", "lines")
HEADS = ("check", "count", "verdict", "worst, or what was seen")


def main() -> None:
    """Run the parts that are asked for; raise where a check does not hold."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--only", nargs="+", choices=PARTS, default=PARTS, help="parts (default: all)")
    add("--minutes", type=float, default=30.0, help="under attack, of a server (default: 30)")
    add("--share", type=float, default=1.0, help="of the counts of the other parts (default: 1)")
    add("--clients", type=int, default=200, help="that translate meanwhile (default: 200)")
    add("--seed", type=int, default=1, help="of all that is random (default: 1)")
    add("--output", type=Path, help="Markdown file for the figures")
    args = flags.parse_args()
    # A shell starts what is in the background with Ctrl-C ignored, and so all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    checks: list[Check] = []
    machine = environment()
    for name in args.only:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-") as folder:
            options = Options(args.minutes, args.share, Path(folder), args.clients, args.seed)
            for check in importlib.import_module(f"scripts.fuzz.{name}").run(options):
                checks.append(check)
                log(" | ".join(check.row()))
        log(f"{name}: {time.monotonic() - started:.0f} s")
    figures = f"{markdown(HEADS, [check.row() for check in checks])}\n\n{machine}\n"
    print(figures)
    if args.output:
        write_text(args.output, figures)
    broken = [check.what for check in checks if not check.holds]
    if broken:
        raise CheckFailed(f"{len(broken)} of {len(checks)} do not hold: {'; '.join(broken)}")


if __name__ == "__main__":
    raise SystemExit(run_command(main, "fuzz"))
