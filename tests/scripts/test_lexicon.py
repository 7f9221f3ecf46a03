"""A dictionary as pairs: its entries, then lists of them in the same order on both sides."""

from pathlib import Path

import pytest

from scripts.corpus import lexicon
from transformer.corpus.readers import read_pairs

ENTRIES = [(f"palabra{i}", f"word{i}") for i in range(9)]


def run_script(folder: Path, *more: str) -> int:
    words = folder / "words.tsv"
    if not words.exists():
        words.write_text("".join(f"{s}\t{t}\n" for s, t in ENTRIES), encoding="utf-8")
    return lexicon.main(["--entries", str(words), "--output", str(folder / "out.tsv"), *more])


def test_entries_stand_alone_and_in_lists_that_keep_their_order(tmp_path: Path) -> None:
    assert run_script(tmp_path, "--lists", "20") == 0
    written = list(read_pairs(str(tmp_path / "out.tsv"), "es", "en"))
    assert written[: len(ENTRIES)] == ENTRIES
    assert len(written) == len(ENTRIES) + 20
    of = dict(ENTRIES)
    for src, tgt in written[len(ENTRIES) :]:
        words = src.removesuffix(".").replace(" y ", ", ").split(", ")
        assert 3 <= len(words) == len(set(words)) <= 7
        assert tgt.removesuffix(".").replace(" and ", ", ").split(", ") == [of[w] for w in words]


def test_what_is_drawn_depends_on_the_seed_alone(tmp_path: Path) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        assert run_script(tmp_path, "--lists", "5", "--seed", seed) == 0
        outputs.append((tmp_path / "out.tsv").read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize("line", ["palabra", "palabra\t", "una\tdos\ttres"])
def test_a_line_that_is_no_entry_is_an_error_that_names_it(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words.tsv").write_text(f"sí\tyes\n{line}\n", encoding="utf-8")
    assert run_script(tmp_path) == 2
    assert "words.tsv, line 2: expected a word, a tab" in capsys.readouterr().err
    assert not (tmp_path / "out.tsv").exists()
