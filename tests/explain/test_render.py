"""A translation explained: pictures by suffix, steps as text, one clear line for mistakes."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from transformer import cli
from transformer.config import EOS_ID, UserError
from transformer.explain.render import draw, explained, lines, sharpest
from transformer.explain.trace import Trace, trace
from transformer.translation.translator import Translator

SENTENCE = "El gato ve la casa."


@pytest.fixture(scope="module")
def opened(random_checkpoint: Path) -> Translator:
    return Translator.load(random_checkpoint, "cpu", "float32")


@pytest.fixture(scope="module")
def told(opened: Translator) -> Trace:
    ids = [*opened.tokenizer.encode("The cat sees the house."), EOS_ID]
    return trace(opened, SENTENCE, ids)


def test_the_sharpest_layer_is_the_one_that_looks_at_single_pieces() -> None:
    vague, sharp = torch.full((2, 4, 5), 0.2), torch.eye(4, 5).expand(2, 4, 5)
    assert sharpest(torch.stack([vague, sharp])) == 1
    assert sharpest(torch.stack([sharp, vague])) == 0


def test_looking_at_the_end_mark_is_no_alignment() -> None:
    resting = torch.zeros(2, 4, 5)
    resting[:, :, -1] = 1
    assert sharpest(torch.stack([resting, torch.full((2, 4, 5), 0.2)])) == 1


def test_every_step_is_told(told: Trace) -> None:
    text = "\n".join(lines(told))
    steps = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    assert steps == [str(n + 1) for n in range(len(told.target_ids))]
    assert text.count("likeliest: ") == text.count("looks at: ") == len(steps)
    assert text.endswith(f"translation: {told.target}")
    first = told.steps[0][0]
    assert f"{first.piece} {first.probability:.3f}" in text


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_the_suffix_says_what_is_drawn(told: Trace, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"map{suffix}"
    draw(told, file)
    drawn = file.read_bytes()
    if suffix == ".png":
        assert drawn.startswith(b"\x89PNG")
        return
    text = drawn.decode()
    assert all(piece in text for piece in told.source_pieces[:-1])
    if suffix == ".svg":
        ET.fromstring(text)
    else:
        assert text.startswith("<!DOCTYPE html>")
        assert "likeliest" in text


def test_a_folder_that_is_not_there_is_told(told: Trace, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        draw(told, tmp_path / "no" / "map.svg")


def test_a_picture_is_of_one_sentence(opened: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected one sentence for --attention, got 2"):
        list(explained(opened, ["Hola. Adiós."], tmp_path / "map.svg"))


def test_without_matplotlib_one_line_says_what_to_install(
    told: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match="install the extra `plots`"):
        draw(told, tmp_path / "map.png")


def test_the_command_explains_each_sentence_and_draws_one(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--from", "es", "--to", "en", "--model", str(random_checkpoint)]
    assert cli.main([*common, "--explain", "Hola. El gato ve la casa."]) == 0
    assert capsys.readouterr().out.count("translation: ") == 2
    picture = tmp_path / "map.svg"
    assert cli.main([*common, "--attention", str(picture), SENTENCE]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert picture.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--attention", "map.jpg"], "expected .png, .svg, .html for --attention, got map.jpg"),
        (["--explain", "--json"], "expected --json, or --explain and --attention, got both"),
    ],
)
def test_mistakes_are_told_in_one_line(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*options, "Hola."]) == 2
    assert capsys.readouterr().err == f"translate: {message}\n"
