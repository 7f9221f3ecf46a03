"""Text in one language made pairs: by a command, by a model, by copying; stopped and gone on."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scripts.corpus import back_translate
from transformer.corpus.readers import read_pairs

UPPER = "tr a-z A-Z"
TEXTS = [f"línea {i}" for i in range(7)]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text; a chunk is two lines."""
    monkeypatch.setattr(back_translate, "CHUNK", 2)
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "news.txt").write_text("".join(f"{line}\n" for line in TEXTS), encoding="utf-8")
    return folder


def run_script(text: Path, *way: str) -> int:
    given = ["--text", str(text), "--lang", "es", "--to", "en", "--output", str(text.parent / "bt")]
    return back_translate.main([*given, *way])


def pairs(text: Path, name: str = "bt-es-news") -> list[tuple[str, str]]:
    return list(read_pairs(str(text.parent / "bt" / f"{name}.tsv"), "es", "en"))


def test_what_people_wrote_comes_first_and_what_the_command_made_is_marked(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"text": ["dos\ttres", "cuatro"]}), text / "web.parquet")
    assert run_script(text, "--command", UPPER, "--jobs", "2") == 0
    assert "bt-es-news.tsv: 7 pairs" in capsys.readouterr().out
    assert pairs(text) == [(line, f"<bt> LíNEA {i}") for i, line in enumerate(TEXTS)]
    assert pairs(text, "bt-es-web") == [("dos tres", "<bt> DOS TRES"), ("cuatro", "<bt> CUATRO")]


@pytest.mark.parametrize("torn", ["", "línea 3\t<bt", "línea 3\t<bt> L\u00cd"])
def test_a_stopped_command_goes_on_after_its_last_whole_line(text: Path, torn: str) -> None:
    part = text.parent / "bt" / "bt-es-news.tsv.part"
    part.parent.mkdir()
    done = "".join(f"{line}\t<bt> before\n" for line in TEXTS[:3])
    part.write_text(f"es\ten\n{done}{torn}", encoding="utf-8")
    assert run_script(text, "--command", UPPER) == 0
    expected = [(line, "<bt> before") for line in TEXTS[:3]]
    expected += [(line, f"<bt> LíNEA {i}") for i, line in enumerate(TEXTS) if i >= 3]
    assert pairs(text) == expected
    assert not part.exists()


def test_what_is_finished_is_passed_over(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script(text, "--command", UPPER) == run_script(text, "--command", "false") == 0
    assert capsys.readouterr().out.count("pairs") == 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("head -n 1", "expected 2 lines from 'head -n 1'; got 1 and exit code 0"),
        ("sh -c 'cat; exit 3'", "got 2 and exit code 3"),
        ("no-such-program", "expected a command that runs"),
    ],
)
def test_a_command_that_drops_a_line_or_fails_is_an_error(
    text: Path, command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script(text, "--command", command, "--jobs", "1") == 2
    assert said in capsys.readouterr().err
    assert not (text.parent / "bt" / "bt-es-news.tsv").exists()
    assert run_script(text, "--command", UPPER) == 0  # and what was begun goes on
    assert len(pairs(text)) == len(TEXTS)


def test_every_nth_text_is_copied(text: Path) -> None:
    assert run_script(text, "--copy", "3") == 0
    copies = [(line, f"<copy> {line}") for line in TEXTS[::3]]
    assert pairs(text, "copy-es-news") == copies


def test_a_model_translates(text: Path, random_checkpoint: Path) -> None:
    assert run_script(text, "--model", str(random_checkpoint), "--compute-type", "float32") == 0
    written = pairs(text)
    assert [line for line, _ in written] == TEXTS
    assert all(source.startswith("<bt> ") for _, source in written)


def test_no_text_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run_script(tmp_path / "empty", "--copy", "1") == 2
    assert "expected files (" in capsys.readouterr().err
