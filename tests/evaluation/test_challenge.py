"""The challenge set: its judge can fail, and the released model keeps the form of its texts."""

from pathlib import Path

import pytest

from transformer.config import UserError
from transformer.evaluation.challenge import ChallengeCase, Verdict, judge, read_challenge
from transformer.translation.directions import load
from transformer.translation.translator import Candidate, Translation

ROOT = Path(__file__).resolve().parents[2]


CASES = read_challenge(ROOT / "data" / "challenge.tsv")


def verdict(source: str, output: str, *expected: tuple[str, ...]) -> Verdict:
    said = Translation(source=source, candidates=(Candidate(text=output, score=0, tokens=()),))
    (found,) = judge([ChallengeCase("es", "", source, expected)], [said])
    return found


@pytest.mark.parametrize(
    ("source", "output", "wrong"),
    [
        ("Hola {a}.", "Hello.", "missing: {a}"),
        ("Feliz día 🎉", "Happy day", "missing: 🎉"),
        ("HOLA", "Hello", "small letters"),
        ("  Hola.", "Hello.", "white space"),
        ("123", "12", "changed"),
        ("Ensalada", "Salad salad salad", "repetition"),
        ("Nació en 1916.", "Born in 1961.", "number lost: 1916"),
    ],
)
def test_a_wrong_form_is_seen(source: str, output: str, wrong: str) -> None:
    found = verdict(source, output)
    assert wrong in found.form
    assert not found.passed


def test_one_of_the_ways_to_say_each_word_must_be_there() -> None:
    assert verdict("Hola, perro.", "Hi, dog.", ("hello", "hi"), ("dog",)).passed
    assert verdict("Hola, perro.", "Hi, cat.", ("hello", "hi"), ("dog",)).words == ("dog",)


def test_a_warning_is_a_wrong_form() -> None:
    candidates = (Candidate(text="Hi.", score=0, tokens=()),)
    said = Translation(source="Hola.", candidates=candidates, warnings=("too short",))
    assert judge([ChallengeCase("es", "", "Hola.", ())], [said])[0].form == ("too short",)


def test_the_challenge_set_covers_both_directions_alike() -> None:
    kinds = [{case.kind for case in CASES if case.src_lang == lang} for lang in ("es", "en")]
    assert len(CASES) > 120
    assert len(kinds[0] & kinds[1]) >= 12
    assert max(len(case.source.split()) for case in CASES) >= 400


def test_other_columns_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("es\ten\n", encoding="utf-8")
    with pytest.raises(UserError, match="expected the columns"):
        read_challenge(tmp_path / "a.tsv")


@pytest.mark.parametrize("name", ["es-en", "en-es"])
def test_the_released_model_keeps_the_form(name: str) -> None:
    folder = ROOT / "checkpoints" / name
    if not folder.is_dir():
        pytest.skip(f"no {name} is released")
    translator = load(folder, device="cpu", compute_type="float32")
    cases = [case for case in CASES if case.src_lang == name[:2]]
    found = judge(cases, translator.translate([case.source for case in cases]))
    wrong = [(one.case.source, one.output, one.form) for one in found if one.form]
    assert len(wrong) <= len(cases) // 50, wrong
