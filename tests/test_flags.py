"""The commands of `translate`, its help and mistakes, files and folders, and its progress."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents.shouting import pdf
from transformer import cli
from transformer.command import Progress
from transformer.translation.directions import Directions

FLAGS = ["--device", "cpu", "--no-guard"]
Captured = pytest.CaptureFixture[str]


def ended(*words: str) -> int:
    """The exit code of the command."""
    try:
        return cli.main([*words])
    except SystemExit as end:
        return int(end.code or 0)


def test_the_help_is_plain_and_shows_examples_and_no_limits_of_a_server(capsys: Captured) -> None:
    assert ended("--help") == 0
    shown = capsys.readouterr().out
    assert "Config" not in shown
    assert "--char-limit" not in shown
    assert "translate -i letters.es -o letters.en" in shown
    assert ended("serve", "--help") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: translate serve")
    assert "--char-limit" in shown
    assert "--attention" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "fr", "x"], "translate: argument -t/--to: invalid choice: 'fr'"),
        (["serve", "--speed"], "translate serve: unrecognized arguments: --speed"),
        (["completion", "fish"], "translate completion: argument completion: invalid choice"),
        (["serve", "--port", "99999"], "translate serve: expected 0 <= port < 65536, not 99999"),
        (["hola", __file__], f"translate: expected texts or files, got both: {__file__} is a file"),
        (["-i", "tests"], "translate: expected --output FOLDER for several files, got none"),
        (["-i", "x.docx"], "translate: cannot read x.docx: No such file"),
    ],
)
def test_a_mistake_is_one_line_without_usage(capsys: Captured, words: list[str], said: str) -> None:
    assert ended(*words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(said)


@pytest.mark.parametrize(
    ("old", "new"),
    [("--serve --port 80", "serve --port 80"), ("--selftest -f es", "selftest -f es")],
)
def test_a_command_is_what_its_old_flag_was(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_serve", "_selftest"):
        monkeypatch.setattr(cli, name, lambda args, name=name: print(name, args.port, args.src_lang)
                            if name == "_serve" else print(name, args.src_lang))  # fmt: skip
    said = []
    for words in (old, new):
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        assert ended(*words.split()) == 0
        said.append(sys.stdout.getvalue())  # type: ignore[union-attr]
    assert said[0] == said[1]
    assert said[0].startswith(f"_{new.split()[0]} ")


@pytest.mark.parametrize("name", ["en-US", "en_GB.UTF-8", "EN", "eng"])
def test_a_region_changes_nothing_of_a_language(name: str, capsys: Captured) -> None:
    for lang in ("en", name):
        assert ended("-f", lang, "-t", "es-419", "The house is red.") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert ended("-f", "fr-FR", "Hola") == 2


def test_the_version_names_the_project_and_its_models(capsys: Captured) -> None:
    assert ended("--version") == 0
    project, *models = capsys.readouterr().out.splitlines()
    assert project.startswith("transformer-es-en ")
    assert [line.split()[0] for line in models] == ["es-en", "en-es"]
    assert all(len(line.split()[1]) == 12 for line in models)


@pytest.mark.parametrize("words", [["--", "serve"], ["--text", "serve"], ["serve", "hola"]])
def test_the_name_of_a_command_can_be_translated(words: list[str], capsys: Captured) -> None:
    """After -- or --text it is a text; a command takes none."""
    code = ended("-f", "en", *words) if words[0] != "serve" else ended(*words)
    assert (code, bool(capsys.readouterr().out)) == (
        (0, True) if words[0] != "serve" else (2, False)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several formats, one broken, one unknown."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    lines = "Hola.\nMe gusta leer.\nWhere is the library?\nGracias por todo.\n"
    (tmp_path / "in" / "a.txt").write_text(lines, "utf-8")
    (tmp_path / "in" / "sub" / "b.json").write_text('{"a": "Buenos días."}', "utf-8")
    (tmp_path / "in" / "c.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_a_folder_becomes_a_folder(folder: Path, capsys: Captured) -> None:
    out = folder / "out"
    assert ended("-i", str(folder / "in"), "-o", str(out)) == 0
    assert "c.png: skipped" in capsys.readouterr().err
    assert json.loads((out / "sub" / "b.json").read_text("utf-8")) == {"a": "Good morning."}
    assert len((out / "a.txt").read_text("utf-8").splitlines()) == 4
    assert sorted(p.name for p in out.rglob("*") if p.is_file()) == ["a.txt", "b.json"]
    (out / "a.txt").write_text("kept")
    (folder / "in" / "bad.docx").write_text("no zip")
    assert ended("-i", str(folder / "in"), "-o", str(out), "--resume") == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("translate: 1 of 3 files could not")
    assert (out / "a.txt").read_text() == "kept"


def test_a_file_has_one_language_unless_each_line_is_asked(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an argument too, of which the user is told."""
    monkeypatch.chdir(folder / "in")
    assert ended("a.txt") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] in ("Hello.", "Hi.")
    assert "biblioteca" not in out
    assert err.startswith("translate: a.txt is a file and translated as one")
    assert ended("--per-line", "-i", "a.txt") == 0
    assert "biblioteca" in capsys.readouterr().out
    assert ended("--text", "a.txt") == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_a_text_in_neither_language_is_told(capsys: Captured) -> None:
    texts = ["Je voudrais un café s'il vous plaît.", "Quiero un café con leche, por favor."]
    assert ended(*texts) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("translate: 1: does not read like Spanish")


def test_what_a_pdf_loses_is_told(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("pypdf", reason="needs the extra `files`")
    (tmp_path / "a.pdf").write_bytes(pdf("La casa es grande."))
    assert ended("-i", str(tmp_path / "a.pdf"), "-o", str(tmp_path / "a.txt")) == 0
    assert "a.pdf: comes out as plain text, without pictures" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for is_terminal in (True, False):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
        progress = Progress(2, is_shown=True)
        for name in ("one.txt", "two.txt"):
            with progress.track_file(name):
                progress.start(3, 1)
                progress.update(2)
        progress.close()
        shown[is_terminal] = sys.stderr.getvalue()  # type: ignore[union-attr]
    assert shown[False] == ""
    for said in ("one.txt", "two.txt", "/3", "/2", "lines", "files"):
        assert said in shown[True]


def test_completion_knows_every_flag_and_command(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("shtab")
    assert ended("completion", "zsh") == 0
    shown = capsys.readouterr().out
    for word in ("--input", "--beam-size", "--char-limit", "serve", "selftest", "completion"):
        assert word in shown, word
    assert ended("completion", "bash") == 0
    (tmp_path / "completion").write_text(capsys.readouterr().out, "utf-8")
    for typed, words in (("--inp", "--input"), ("ser", "serve"), ("serve --char", "--char-limit")):
        ask = (
            f"source {tmp_path}/completion; COMP_WORDS=(translate {typed}); "
            f"COMP_CWORD={len(typed.split())}; _shtab_translate translate; echo ${{COMPREPLY[@]}}"
        )
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=False)
        assert done.stdout.split() == [words]


def test_a_server_has_the_glossary_that_it_was_started_with(
    random_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = pytest.importorskip("transformer.serving.app", reason="needs the extra `serve`")
    served: list[Directions] = []
    monkeypatch.setattr(server, "application", lambda opened, *_: served.append(opened))
    monkeypatch.setattr(server, "serve", lambda *_: None)
    (tmp_path / "terms.tsv").write_text("gato\tfeline\n", encoding="utf-8")
    flags = ["--model", str(random_checkpoint), "--glossary", str(tmp_path / "terms.tsv")]
    assert cli.main(["serve", *flags]) == 0
    assert "feline" in served[0].translate(["Un gato."])[0].text.lower()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-i", "a.txt", "-o", "a.txt"], 2, "expected --output elsewhere: a.txt would be overw"),
        (["a.txt", "-o", "."], 2, "expected --output elsewhere: a.txt would be overwritten"),
        (["-i", ".", "-o", "."], 2, "expected --output elsewhere: . would be overwritten"),
        (["casa"], 0, "casa is a folder too: -i casa -o FOLDER translates its files"),
        (["nada.txt"], 0, "there is no file nada.txt: translated as a text"),
    ],
)
def test_a_name_that_is_mistaken_is_told_and_no_source_is_lost(
    words: list[str], code: int, message: str,
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder / "in")
    Path("casa").mkdir()
    before = Path("a.txt").read_bytes()
    assert ended(*words) == code
    assert message in capsys.readouterr().err
    assert Path("a.txt").read_bytes() == before


def test_a_folder_is_translated_where_a_place_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert ended("in", "-o", "new") == 0
    assert Path("new/a.txt").is_file()
