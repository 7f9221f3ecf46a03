"""A model's own translations: which of a beam is kept, what is left out, what the file holds."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest

from scripts.corpus import diversify
from tests.processes import tsv
from transformer.config import DecodeConfig
from transformer.corpus.readers import read_pairs
from transformer.translation.translator import Candidate, Translation, Translator


class Beams:
    """Gives the translations that are written down."""

    src_lang, tgt_lang = "es", "en"

    def __init__(self, found: dict[str, list[str]]) -> None:
        self.found = found

    def stream(self, lines: Iterable[str], decode: DecodeConfig) -> Iterator[Translation]:
        for line in lines:
            texts = self.found[line][: decode.n_best]
            candidates = tuple(Candidate(text=text, score=0.0, tokens=()) for text in texts)
            yield Translation(source=line, candidates=candidates)


BEAMS = {
    "Nadie ve el agua.": ["Someone sees.", "Nobody can see the water.", "Nobody sees the water ."],
    "Tengo hambre.": ["I am a hunger.", "I'm hungry."],
    "No.": ["The cat is on the mat."],
}
PAIRS = [
    ("Nadie ve el agua.", "Nobody sees the water."),
    ("Tengo hambre.", "I'm hungry."),
    ("No.", "No."),
]


def chosen(n_best: int) -> tuple[list[tuple[str, str]], Counter[str]]:
    counts: Counter[str] = Counter()
    translator = cast(Translator, Beams(BEAMS))
    decode = DecodeConfig(beam_size=3, n_best=n_best)
    return list(diversify.new_pairs(translator, PAIRS, decode, 50.0, counts)), counts


def test_the_nearest_of_the_beam_is_kept_and_what_teaches_nothing_left_out() -> None:
    pairs, counts = chosen(3)
    assert pairs == [("Nadie ve el agua.", "Nobody sees the water .")]
    assert counts == {"written": 1, "equal to the reference": 1, "too far from it": 1}
    assert chosen(1) == ([], {"too far from it": 3})  # nothing to choose from


def test_the_file_is_a_corpus_for_both_directions(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.tsv").write_text("en\tes\nThe cat.\tEl  gato.\nA dog.\tUn perro.\n")
    flags = ["--model", str(random_checkpoint), "--pairs", str(tmp_path / "my.tsv")]
    output = tmp_path / "own.tsv"
    assert diversify.main([*flags, "--output", str(output), "--at-least", "0"]) == 0
    assert capsys.readouterr().out == "2 written\n"
    pairs = list(read_pairs(str(output), "es", "en"))
    assert [src for src, _ in pairs] == ["El gato.", "Un perro."]
    assert [pair[::-1] for pair in pairs] == list(read_pairs(str(output), "en", "es"))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("1", ("Tengo hambre.", "I am a hunger.")),
        ("2", ("Nadie ve el agua.", "Nobody can see the water.")),
    ],
)
def test_a_place_of_the_beam_is_taken_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, expected: tuple[str, str]
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_, langs: Beams(BEAMS))
    corpus, output = tsv(tmp_path / "my.tsv", PAIRS), tmp_path / "own.tsv"
    flags = ["--model", "any", "--pairs", str(corpus), "--output", str(output)]
    assert diversify.main([*flags, "--place", place, "--at-least", "20"]) == 0
    assert list(read_pairs(str(output), "es", "en")) == [expected]


def test_of_a_model_for_both_the_direction_that_is_asked_for_translates(
    both_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, output = tsv(tmp_path / "my.tsv", PAIRS), tmp_path / "own.tsv"
    flags = ["--model", str(both_checkpoint), "--pairs", str(corpus), "--output", str(output)]
    for lang, to, column in (("es", "en", 0), ("en", "es", 1)):
        assert diversify.main([*flags, "--lang", lang, "--to", to, "--at-least", "0"]) == 0
        sources = [src for src, _ in read_pairs(str(output), lang, to)]
        assert sources == [pair[column] for pair in PAIRS]
    assert diversify.main([*flags, "--lang", "en"]) == 2
    assert "expected --lang and --to together, got only one of them" in capsys.readouterr().err


def test_a_place_beyond_the_beam_and_another_kind_of_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--model", "any", "--pairs", "my.tsv", "--output", str(tmp_path / "own.tsv")]
    assert diversify.main([*flags, "--place", "5"]) == 2
    assert "expected a --place from 1 to --beam-size 4" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
    with pytest.raises(SystemExit, match="2"):
        diversify.main([*flags[:-1], str(tmp_path / "own.txt")])
    assert "expected a name that ends in .tsv, got" in capsys.readouterr().err
