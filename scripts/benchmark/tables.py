"""What all measurements print: tables in Markdown, and the machine that they were made on."""

import contextlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from transformer.evaluation.report import machine as this_machine

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


def environment() -> str:
    """Processor, cores, load, versions and commit, in a line or two."""
    facts = Path("/proc/cpuinfo")  # only Linux has it
    known = extensions(facts.read_text(encoding="utf-8") if facts.is_file() else "")
    machine = this_machine()
    versions = [f"torch {machine.torch}"]
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    return (
        f"{machine.processor} ({' '.join(known) or 'instructions unknown'}), {os.cpu_count()} "
        f"cores, load {os.getloadavg()[0]:.2f}; {', '.join(versions)}, commit {machine.commit}, "
        f"{machine.date}"
    )


def report(run: Callable[[Callable[[str], None]], str]) -> None:
    """Prints the machine, progress on standard error, and what `run` says."""
    print(environment(), flush=True)
    text = run(lambda line: print(line, file=sys.stderr, flush=True))
    print(f"\n{text}", flush=True)
