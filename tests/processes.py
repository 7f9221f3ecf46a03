"""What several test files share: Python in processes of its own, and corpora in files."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """That of this process, for one that finds this repository and computes in one thread."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}


def python(*arguments: object, text: str = "", **more: str) -> "subprocess.CompletedProcess[str]":
    """A run of Python to its end, with what it printed; `more` is of its environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], input=text, env=environment(**more),
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def quiet(code: str) -> None:
    """Runs a program in a fresh interpreter; it must say nothing and end well."""
    done = python("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def shipped(part: str) -> list[tuple[str, str]]:
    """The pairs of the corpus in the repository, of `train`, `dev` or `test`."""
    rows = (ROOT / "data" / f"{part}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [(es, en) for es, en in (row.split("\t") for row in rows)]


def tsv(path: Path, pairs: Iterable[tuple[str, str]]) -> Path:
    """A corpus of Spanish and English in a file."""
    path.write_text("es\ten\n" + "".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return path


def parquet(path: Path, pairs: Iterable[tuple[str, str]]) -> Path:
    """The same as a table with the hub's column `translation`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"es": src, "en": tgt} for src, tgt in pairs]
    pq.write_table(pa.table({"id": range(len(rows)), "translation": rows}), path)
    return path
