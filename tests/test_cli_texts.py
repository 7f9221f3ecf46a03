"""The `translate` command on text as people have it: line ends, encodings, loose words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from transformer import cli
from transformer.translation.translator import Translator

TEXTS = ["El gato ve la casa.", "Nadie compra agua hoy.", "¿Quiere un libro?"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(random_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command with the random model: exit code, standard output, standard error."""

    def call(*args: object) -> tuple[int, str, str]:
        flags = ["--model", str(random_checkpoint), "--compute-type", "float32", "--no-guard"]
        code = cli.main([*flags, "--device", "cpu", *map(str, args)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def translations(random_checkpoint: Path) -> list[str]:
    """What the library makes of TEXTS."""
    translator = Translator.load(random_checkpoint, "cpu", "float32")
    return [result.text for result in translator.translate(TEXTS)]


@pytest.mark.parametrize("text", ["{}\r\n{}\r\n\r\n{}\r\n", "{}\n{}\r\n{}", "{}\n\n{}\n{}\n"])
def test_a_file_keeps_its_line_ends(
    run: Run, translations: list[str], tmp_path: Path, text: str
) -> None:
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_bytes(text.format(*TEXTS).encode())
    assert run("--input", source, "--output", target) == (0, "", "")
    assert target.read_bytes() == text.format(*translations).encode()
    part = target.rename(tmp_path / "target.txt.part")  # as a run that was ended leaves it
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[:2]))
    assert run("--input", source, "--output", target, "--resume") == (0, "", "")
    assert target.read_bytes() == text.format(*translations).encode()


def test_other_encodings_are_recognised_or_named_and_written_in_utf8(
    run: Run, tmp_path: Path
) -> None:
    text = "La niña está aquí.\n¿Dónde está el camión?\n"
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text(text, encoding="utf-8")
    assert run("-i", source, "-o", target) == (0, "", "")
    expected = target.read_text(encoding="utf-8")
    for encoding, named in (("cp1252", ()), ("latin-1", ()), ("cp850", ("--encoding", "cp850"))):
        source.write_text(text, encoding=encoding)
        code, out, _ = run("-i", source, "-o", target, *named)
        assert (code, out) == (0, "")
        assert target.read_text(encoding="utf-8") == expected
    source.write_text(text, encoding="cp850")
    assert "line 1: expected UTF-8 text" in run("-i", source, "-o", tmp_path / "new")[2]
    assert "such as latin-1 or cp850, got 'x'" in run("--encoding", "x", "hola")[2]
    subtitles = "1\n00:00:01,000 --> 00:00:02,000\n¿Dónde está la niña?\n"
    (tmp_path / "a.srt").write_text(subtitles, encoding="latin-1")
    code, _, err = run("-i", tmp_path / "a.srt", "-o", tmp_path / "b.srt")
    assert (code, err.count("\n")) == (0, 1)
    assert "a.srt: no UTF-8: read as Windows-1252 (Latin-1), written in UTF-8" in err
    assert (tmp_path / "b.srt").read_text(encoding="utf-8").startswith("1\n00:00:01,000")


def test_words_without_quotation_marks_are_one_text(run: Run) -> None:
    code, out, err = run("El", "gato", "ve", "la", "casa.")
    assert (code, out) == run("El gato ve la casa.")[:2]
    assert (
        err == "translate: the words are translated as one text (--text WORD: a word by itself)\n"
    )
    assert len(run("El gato", "Nadie")[1].splitlines()) == 2
    assert len(run("--text", "gato", "--text", "casa")[1].splitlines()) == 2
