"""What all measurements print: Markdown tables, the machine that they were made on, progress."""

import contextlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from transformer.evaluation.report import machine as this_machine

# What decides between float32, bfloat16 and int8.
EXTENSIONS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
LIBRARIES = ("transformers", "ctranslate2")


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; all columns but the first are flush right."""
    table = [list(heads), *map(list, rows)]
    widths = [max(3, *map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    lines = (
        [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        for row in table
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def log(message: str) -> None:
    """Print a line of progress on standard error."""
    print(message, file=sys.stderr, flush=True)


def cpu_extensions(cpuinfo: str) -> list[str]:
    """Return the EXTENSIONS that a text like /proc/cpuinfo names."""
    line = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    flags = set(line[1].split()) if line else set()
    return [name for name in EXTENSIONS if name in flags]


def environment() -> str:
    """Describe the processor, its load, the versions of the libraries and the commit in a line."""
    cpuinfo = Path("/proc/cpuinfo")  # only Linux has it
    known = cpu_extensions(cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else "")
    machine = this_machine()
    versions = [f"torch {machine['torch']}"]
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    return (
        f"{machine['processor']} ({' '.join(known) or 'instructions unknown'}), {os.cpu_count()} "
        f"cores, load {os.getloadavg()[0]:.2f}; {', '.join(versions)}, commit {machine['commit']}, "
        f"{machine['date']}"
    )
