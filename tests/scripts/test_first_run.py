"""What `python scripts/train.py` gives somebody who has just cloned the project."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import ROOT

LEAST, MINUTES = 25.0, 4.5  # BLEU on sentences of three to six words; it reaches 36


@pytest.mark.slow
def test_the_first_run_learns_to_translate_short_sentences(tmp_path: Path) -> None:
    places = ["--output", str(tmp_path / "run"), "--cache", str(tmp_path / "cache")]
    command = [sys.executable, str(ROOT / "scripts" / "train.py"), *places]
    begun = time.monotonic()
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert time.monotonic() - begun < 60 * MINUTES
    output = re.search(r"^BLEU ([\d.]+) \[", ran.stdout + ran.stderr, re.MULTILINE)
    assert output is not None, ran.stderr
    assert float(output[1]) >= LEAST
