"""What must hold for large inputs. Slow: `pytest -m slow tests/test_scale.py -s` prints figures."""

import itertools
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.processes import ROOT, environment

PREPARE = """
import sys
from pathlib import Path
from transformer.config import CorpusConfig, ModelConfig
from transformer.corpus.prepare import prepare
from transformer.corpus.prepared import Source
done = prepare([Source(sys.argv[1])], [], [("es", "en")], CorpusConfig(),
               ModelConfig(vocab_size=8000, max_len=256), Path(sys.argv[2]))
print(len(done.pairs), "pairs kept", done.pairs[len(done.pairs) - 1])
"""


def peak_memory(command: list[str]) -> tuple[float, float]:
    """Runs a command; gives the peak of its memory with all its children, in GiB, and seconds.

    Memory is counted as proportional set size: what processes share counts once.
    """
    start, peak = time.monotonic(), 0
    with subprocess.Popen(command, env=environment()) as child:
        while child.poll() is None:
            peak = max(peak, _tree(psutil.Process(child.pid)))
            time.sleep(0.5)
    assert child.returncode == 0
    return peak / 2**30, time.monotonic() - start


def _tree(process: psutil.Process) -> int:
    total = 0
    try:
        for one in [process, *process.children(recursive=True)]:
            total += one.memory_full_info().pss
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    return total


def write_pairs(path: Path, number: int) -> None:
    """Distinct pairs: two short ones of the training file each, some 40 characters."""
    rows = [line.split("\t") for line in (ROOT / "data" / "train.tsv").open(encoding="utf-8")][1:]
    short = [[side.strip() for side in row] for row in rows if len(row[0]) <= 30]
    with path.open("w", encoding="utf-8") as file:
        file.write("es\ten\n")
        for pair in itertools.islice(itertools.product(short, short), number):
            file.write("\t".join(map(" ".join, zip(*pair, strict=True))) + "\n")


@pytest.mark.slow
def test_five_million_pairs_prepare_in_two_gigabytes(tmp_path: Path) -> None:
    corpus = tmp_path / "large.tsv"
    write_pairs(corpus, 5_000_000)
    command = [sys.executable, "-c", PREPARE, str(corpus), str(tmp_path / "cache")]
    peak, seconds = peak_memory(command)
    print(f"5,000,000 pairs prepared: peak {peak:.2f} GiB, {seconds:.0f} s")
    assert peak <= 2.0


@pytest.mark.slow
def test_a_hundred_thousand_lines_come_out_in_constant_memory(tmp_path: Path) -> None:
    test = (ROOT / "data" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    sources = [line.split("\t")[0] for line in test]
    lines = [sources[i % len(sources)] if i % 10 else "" for i in range(100_000)]
    given, made = tmp_path / "lines.es", tmp_path / "lines.en"
    given.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "transformer", "--input", str(given), "--output", str(made)]
    peak, seconds = peak_memory(command)
    print(f"100,000 lines translated: peak {peak:.2f} GiB, {seconds:.0f} s")
    translated = made.read_text(encoding="utf-8").split("\n")
    assert len(translated) == 100_001
    assert all((given == "") == (out == "") for given, out in zip(lines, translated, strict=False))
    assert peak <= 1.5
