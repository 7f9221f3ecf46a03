"""The self-test and the challenge set: they hold for a model that is whole, and can fail."""

import json
import shutil
from pathlib import Path

import pytest

from transformer import cli
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import SELFTEST
from transformer.config import UserError
from transformer.evaluation import selftest
from transformer.evaluation.selftest import ChallengeCase, Verdict, judge, read_challenge
from transformer.translation.directions import load
from transformer.translation.translator import Candidate, Translation

ROOT = Path(__file__).resolve().parents[2]
CASES = read_challenge(ROOT / "data" / "challenge.tsv")

PAIRS = [
    ("El gato ve la casa.", "The cat sees the house."),
    ("Nadie ve agua.", "Nobody sees water."),
]


@pytest.fixture
def released(random_checkpoint: Path, tmp_path: Path) -> Path:
    folder = shutil.copytree(random_checkpoint, tmp_path / "es-en")
    selftest.written(folder, {("es", "en"): PAIRS}, "two pairs")
    return folder


def failed(folder: Path) -> list[str]:
    return [check.name for check in selftest.run(folder, "cpu", "float32") if not check.holds]


def test_a_whole_model_holds(released: Path) -> None:
    checks = list(selftest.run(released, "cpu", "float32"))
    assert all(check.holds for check in checks)
    assert [check.name for check in checks] == ["size", "load", "golden sentences", "two pairs"]
    assert "float32 on cpu" in checks[1].seen
    assert "10 of 10 alike" in checks[2].seen


def test_other_weights_do_not(released: Path) -> None:
    opened = checkpoint.load(released)
    weights = {name: -tensor for name, tensor in opened.model.state_dict().items()}
    kept = (released / SELFTEST).read_bytes()
    checkpoint.save(
        released, weights, opened.model.config, opened.tokenizer, opened.directions, "# A test\n"
    )
    (released / SELFTEST).write_bytes(kept)
    assert "golden sentences" in failed(released)


def test_a_score_below_that_of_the_release_does_not(released: Path) -> None:
    values = json.loads((released / SELFTEST).read_text(encoding="utf-8"))
    values["test"]["bleu"] += 1
    (released / SELFTEST).write_text(json.dumps(values), encoding="utf-8")
    assert failed(released) == ["two pairs"]


def test_a_folder_that_is_too_large_does_not(
    released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "MAX_MEGABYTES", 0.001)
    assert failed(released) == ["size"]


def test_the_command_prints_a_line_a_check_and_fails_with_1(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--selftest", "--model", str(released), "--device", "cpu", "--compute-type", "float32"]
    assert cli.main(flags) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 4
    assert not err
    values = json.loads((released / SELFTEST).read_text(encoding="utf-8"))
    values["golden"][0][1] = "something else"
    (released / SELFTEST).write_text(json.dumps(values), encoding="utf-8")
    assert cli.main(flags) == 1
    out, err = capsys.readouterr()
    assert "golden sentences: WRONG: 9 of 10 alike" in out
    assert "not 'something else'" in out
    assert err.startswith("translate: 1 check does not hold")


@pytest.mark.parametrize("content", ["[]", "{}", '{"golden": [1], "test": {}}'])
def test_a_self_test_that_cannot_be_read_is_an_error(released: Path, content: str) -> None:
    (released / SELFTEST).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="expected"):
        list(selftest.run(released, "cpu", "float32"))


def test_a_model_without_one_says_who_writes_it(random_checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"scripts/release\.py writes: this model has no self-test"):
        list(selftest.run(random_checkpoint, "cpu", "float32"))


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
