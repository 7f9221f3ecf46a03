"""The report of a release: slices, tables; the judge of the challenge set can fail."""

from pathlib import Path

import pytest

from scripts.evaluate_release import (
    ChallengeCase,
    Verdict,
    judge,
    main,
    read_challenge,
    rewrite_sources,
)
from transformer.config import UserError
from transformer.translation.directions import load
from transformer.translation.translator import Candidate, Translation

ROOT = Path(__file__).resolve().parents[2]
CASES = read_challenge(ROOT / "data" / "challenge.tsv")


def test_a_slice_is_the_same_pairs_written_in_another_way() -> None:
    pairs = [("¿Qué día es hoy?", "What day is it today?"), ("Hola.", "Hi.")] * 4
    slices = dict(rewrite_sources(pairs))
    assert slices["capitals"][0] == ("¿QUÉ DÍA ES HOY?", "What day is it today?")
    assert slices["title case"][0][0] == "¿Qué Día Es Hoy?"
    assert slices["no accents, no ¿¡"][0][0] == "Que dia es hoy?"
    assert slices["no final mark"][1] == ("Hola", "Hi")
    assert slices["one word"] == [("Hola.", "Hi.")] * 4
    assert len(slices["8 joined"]) == 1
    assert slices["8 joined"][0][0].count("Hola.") == 4


def test_the_report_has_its_tables(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = tmp_path / "newstest2013.tsv"
    rows = (ROOT / "data" / "test.tsv").read_text(encoding="utf-8").splitlines()[:4]
    name.write_text("\n".join(rows) + "\n", encoding="utf-8")
    flags = ["--test", name, "--model", random_checkpoint, "--n-bootstrap", 10, "--device", "cpu"]
    assert main([*map(str, flags), "--compute-type", "float32"]) == 0
    printed = capsys.readouterr().out
    for row in ("this model, beam 4", "Firefox tiny", "opus-mt", "capitals", "placeholders"):
        assert row in printed


def verdict(source: str, output: str, *expected: tuple[str, ...]) -> Verdict:
    translation = Translation(
        source=source, candidates=(Candidate(text=output, score=0, tokens=()),)
    )
    (found,) = judge([ChallengeCase("es", "", source, expected)], [translation])
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
    translation = Translation(source="Hola.", candidates=candidates, warnings=("too short",))
    assert judge([ChallengeCase("es", "", "Hola.", ())], [translation])[0].form == ("too short",)


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
