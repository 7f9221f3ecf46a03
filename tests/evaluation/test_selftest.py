"""The self-test: holds for a model that is whole, and fails for one that is not."""

import json
import shutil
from pathlib import Path

import pytest

from transformer import cli
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import SELFTEST
from transformer.config import UserError
from transformer.evaluation import selftest

PAIRS = [
    ("El gato ve la casa.", "The cat sees the house."),
    ("Nadie ve agua.", "Nobody sees water."),
]


@pytest.fixture
def released(random_checkpoint: Path, tmp_path: Path) -> Path:
    folder = shutil.copytree(random_checkpoint, tmp_path / "es-en")
    selftest.write(folder, {("es", "en"): PAIRS}, "two pairs")
    return folder


def failed(folder: Path) -> list[str]:
    return [check.name for check in selftest.run(folder, "cpu", "float32") if not check.passed]


def test_a_whole_model_holds(released: Path) -> None:
    checks = list(selftest.run(released, "cpu", "float32"))
    assert all(check.passed for check in checks)
    assert [check.name for check in checks] == ["size", "load", "golden sentences", "two pairs"]
    assert "float32 on cpu" in checks[1].detail
    assert "10 of 10 alike" in checks[2].detail


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
    assert err.startswith("translate: 1 of 4 checks failed")


@pytest.mark.parametrize("content", ["[]", "{}", '{"golden": [1], "test": {}}'])
def test_a_self_test_that_cannot_be_read_is_an_error(released: Path, content: str) -> None:
    (released / SELFTEST).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="expected"):
        list(selftest.run(released, "cpu", "float32"))


def test_a_model_without_one_says_who_writes_it(random_checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"scripts/release\.py writes: this model has no self-test"):
        list(selftest.run(random_checkpoint, "cpu", "float32"))
