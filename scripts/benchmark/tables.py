"""What all measurements print: tables in Markdown, and the machine that they were made on."""

import dataclasses
import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from transformer.evaluation.report import machine as this_machine
from transformer.files import write_text

# What decides between float32, bfloat16 and int8.
EXTENSIONS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
LIBRARIES = ("transformers", "ctranslate2")


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are flush right."""
    table = [list(heads), *map(list, rows)]
    widths = [max(3, *map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = (
        [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        for row in (table[0], rule, *table[1:])
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def extensions(cpuinfo: str) -> list[str]:
    """Those of EXTENSIONS that a text like /proc/cpuinfo names."""
    line = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    flags = set(line[1].split()) if line else set()
    return [name for name in EXTENSIONS if name in flags]


def version(library: str) -> str | None:
    """The installed version, or None."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def environment() -> dict[str, Any]:
    """Processor, cores, load, versions and commit."""
    facts = Path("/proc/cpuinfo")  # only Linux has it
    text = facts.read_text(encoding="utf-8") if facts.is_file() else ""
    values = dataclasses.asdict(this_machine())
    names = ("date", "processor", "torch", "python", "commit")
    return {
        **{name: values[name] for name in names},
        "instructions": extensions(text),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def described(facts: dict[str, Any]) -> str:
    """The environment in a line or two."""
    libraries = [
        f"{name} {installed}" for name, installed in facts["libraries"].items() if installed
    ]
    return (
        f"{facts['processor']} ({' '.join(facts['instructions']) or 'instructions unknown'}), "
        f"{facts['cores']} cores, load {facts['load'][0]}; torch {facts['torch']}, "
        f"{', '.join([*libraries, ''])}commit {facts['commit']}, {facts['date']}"
    )


def report(
    kind: str, file: Path | None, run: Callable[[Callable[[str], None]], tuple[str, dict[str, Any]]]
) -> None:
    """Prints the machine and what `run` says, and writes its values where they are wanted."""
    machine = environment()
    print(described(machine), flush=True)
    text, measured = run(lambda line: print(line, file=sys.stderr, flush=True))
    print(f"\n{text}", flush=True)
    if file:
        write_text(file, json.dumps({"environment": machine, kind: measured}, indent=2) + "\n")
