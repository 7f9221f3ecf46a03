"""One table of formats: what is said of them anywhere is what the code has."""

import re
import subprocess
import sys

from tests.processes import ROOT
from transformer.documents.formats import FORMATS, REFUSED, TABLE

README = (ROOT / "transformer" / "documents" / "README.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in README.splitlines() if line.startswith("| `.")]


def test_the_page_of_formats_lists_them_in_order() -> None:
    known = [[re.sub("`", "", row[0]), row[1]] for row in ROWS if len(row) > 2]
    assert known == [[kind.suffixes, kind.name] for kind in TABLE]
    refused = {row[0].strip("`"): row[1] for row in ROWS if len(row) == 2}
    assert refused == REFUSED


def test_no_ending_is_of_two_formats() -> None:
    endings = [ending for kind in TABLE for ending in kind.suffixes.split()]
    assert len(endings) == len({*endings}) == len(FORMATS)
    assert not FORMATS.keys() & REFUSED.keys()


def test_help_names_every_ending() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "transformer", "--help"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    said = shown[shown.index("a document:") : shown.index("--format")]
    assert re.findall(r"\w+", said)[2:] == [ending[1:] for ending in FORMATS]
