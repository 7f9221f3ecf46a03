"""Words and phrases read off a corpus: the alignment by hand, the phrases, the file."""

from pathlib import Path

import numpy as np
import pytest

from scripts.corpus import extract_phrases as phrases
from tests.processes import tsv
from transformer.corpus.readers import read_pairs

TEXTS = [
    ("la casa", "the house"), ("la casa roja", "the red house"), ("la mesa roja", "the red table"),
    ("una mesa", "a table"), ("una casa", "a house"), ("roja", "red"), ("mesa", "table"),
]  # fmt: skip


def linked(texts: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The target words of each pair, each with the source word that it is linked to."""
    sides = [[text.split() for text in side] for side in zip(*texts, strict=True)]
    found = phrases.align(phrases.to_ids(sides[0]), phrases.to_ids(sides[1]))
    return [
        [(e[i], f[int(j)] if j >= 0 else "") for i, j in enumerate(places)]
        for f, e, places in zip(*sides, found, strict=True)
    ]


def test_model_one_finds_which_word_is_which_where_the_order_differs() -> None:
    assert linked(TEXTS)[1] == [("the", "la"), ("red", "roja"), ("house", "casa")]
    assert linked(TEXTS)[2] == [("the", "la"), ("red", "roja"), ("table", "mesa")]


def test_one_step_of_em_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of "la casa, una casa" and "the house, a house": t(house | casa) = (1/2 + 1/2) / 2."""
    monkeypatch.setattr(phrases, "TENSION", 0.0)
    monkeypatch.setattr(phrases, "NULL", 0.0)
    both = [np.array([1, 2]), np.array([3, 2])]
    text = phrases.cooccurrences(both, both)
    chance = phrases.em_step(text, np.ones(len(text.source_of_pair)))
    casa = chance[text.source_of_pair == 2]
    assert sorted(casa) == pytest.approx([0.25, 0.25, 0.5])


def test_a_phrase_is_linked_into_its_partner_only() -> None:
    up, down = np.array([0, 2, 1]), np.array([0, 2, 1])  # la casa roja: the red house
    spans = set(phrases.phrase_spans(up, down, 3))
    assert ((1, 3), (1, 3)) in spans  # casa roja: red house
    assert ((0, 3), (0, 3)) in spans
    assert ((0, 2), (0, 3)) not in spans  # la casa: the red house, whose red is elsewhere
    assert len(spans) == 5


def test_no_phrase_begins_or_ends_with_a_word_without_a_partner() -> None:
    up, down = np.array([0]), np.array([0, -1])
    assert set(phrases.phrase_spans(up, down, 3)) == {((0, 1), (0, 1))}


def test_the_most_frequent_translation_of_what_is_frequent_enough() -> None:
    counts = {("banco", "bank"): 5, ("banco", "bench"): 4, ("raro", "odd"): 2, ("a", "b"): 3}
    counts |= {("a", other): 2 for other in "cdefghijk"}
    assert list(phrases.best_translations(counts, least=3, share=0.25)) == [("banco", "bank")]


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    """A corpus of these texts, and where its phrases go."""
    pairs = [(src.capitalize(), tgt.capitalize()) for src, tgt in TEXTS for _ in range(3)]
    corpus, output = tsv(tmp_path / "my.tsv", pairs), tmp_path / "phrases.tsv"
    return ["--pairs", str(corpus), "--from", "es", "--to", "en", "--output", str(output)]


def test_the_file(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert phrases.main(flags) == 0
    found = list(read_pairs(flags[-1], "es", "en"))
    assert {("casa", "house"), ("Casa", "House"), ("casa roja", "red house")} <= set(found)
    assert capsys.readouterr().out.endswith("phrases of 21 pairs\n")
    assert phrases.main([*flags, "--max-chars", "3"]) == 2
    assert "expected pairs of at most 3 characters" in capsys.readouterr().err


def test_single_words_in_a_file_of_their_own(flags: list[str], tmp_path: Path) -> None:
    words = str(tmp_path / "words.tsv")
    assert phrases.main(flags) == 0
    whole = set(read_pairs(flags[-1], "es", "en"))
    assert phrases.main([*flags, "--words", words]) == 0
    apart = set(read_pairs(words, "es", "en")), set(read_pairs(flags[-1], "es", "en"))
    assert {("casa", "house"), ("Casa", "House")} <= apart[0]
    assert ("casa roja", "red house") in apart[1]
    assert apart[0] | apart[1] == whole
    assert not apart[0] & apart[1]
