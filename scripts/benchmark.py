"""Measures this project beside others, by turns: decoding, start-up, training.

python scripts/benchmark.py --what decoding --vocab-size 16000 --beams 1 --cores 2
python scripts/benchmark.py --what startup --json measured.json
python scripts/benchmark.py --what training --preset small --threads 2 --profile
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bench_decoding
import bench_startup
import bench_training
from bench_tables import described, environment

from transformer import cli
from transformer.folder import write_text

MEASURED: dict[str, Any] = {
    "decoding": bench_decoding,
    "startup": bench_startup,
    "training": bench_training,
}


def parser(what: str) -> argparse.ArgumentParser:
    """The flags of all measurements, and those of one kind."""
    flags = argparse.ArgumentParser(
        description="Measures this project beside others, by turns, and prints tables. What is not "
        "installed is skipped. The flags below are those of one kind of measurement: --what "
        "decoding --help, --what startup --help, --what training --help; with all, each kind has "
        "its defaults."
    )
    add = flags.add_argument
    add("--what", choices=(*MEASURED, "all"), default="decoding", help="default: decoding")
    add("--json", type=Path, help="a file for all values")
    add("--model", help="a checkpoint folder, for decoding and start-up (default: decoding with a "
        "model that copies, of the size of --preset)")  # fmt: skip
    MEASURED[what].add_flags(flags)
    return flags


def kinds(argv: Sequence[str] | None) -> list[str]:
    """What is to be measured."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--what", default="decoding")
    what = first.parse_known_args(argv)[0].what
    return list(MEASURED) if what == "all" else [what if what in MEASURED else "decoding"]


def run(given: dict[str, argparse.Namespace], json_file: Path | None) -> None:
    """Measures each kind, prints its tables at once, and writes the file after each."""
    found: dict[str, Any] = {"environment": environment()}
    print(described(found["environment"]), flush=True)
    for kind, flags in given.items():
        text, found[kind] = MEASURED[kind].run(flags, _say)
        print(f"\n## {kind.capitalize()}\n\n{text}", flush=True)
        if json_file:
            write_text(json_file, json.dumps(found, indent=2) + "\n")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = {kind: parser(kind).parse_args(argv) for kind in kinds(argv)}
    file = next(iter(given.values())).json
    return cli.guarded(lambda: run(given, file), "benchmark")


if __name__ == "__main__":
    sys.exit(main())
