"""The `translate` command: what comes out where, and how it ends."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.processes import environment, python
from transformer import cli
from transformer.checkpoint import locate
from transformer.config import ComputeType, DecodeConfig
from transformer.translation.translator import Translator

TEXTS = ["El gato ve la casa.", "Nadie compra agua hoy.", "¿Quiere un libro?"]
Run = Callable[..., tuple[int, str, str]]
# In float32: PyTorch's int8 products of a sentence depend a little on those beside it, and a model
# that has learnt nothing is never sure of its choice.
ON: tuple[str, ComputeType] = ("cpu", "float32")
FLAGS = ("--device", "cpu", "--compute-type", "float32")


@pytest.fixture
def run(random_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command with the random model: exit code, standard output, standard error."""

    def call(*args: object, model: Path | None = random_checkpoint) -> tuple[int, str, str]:
        # A model that has learnt nothing gives what the guard would try again and again.
        flags = ["--model", str(model), *FLAGS] if model else []
        if "--guard" not in args:
            flags.append("--no-guard")
        code = cli.main([*flags, *map(str, args)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def translations(random_checkpoint: Path) -> list[str]:
    """What the library makes of TEXTS."""
    results = Translator.load(random_checkpoint, *ON).translate(TEXTS)
    assert all("\n" not in result.text for result in results)
    return [result.text for result in results]


@pytest.fixture
def on_stdin(tmp_path: Path) -> Iterator[Callable[[bytes], None]]:
    """Puts bytes on standard input."""
    before = os.dup(0)

    def give(content: bytes) -> None:
        (tmp_path / "typed").write_bytes(content)
        file = os.open(tmp_path / "typed", os.O_RDONLY)
        os.dup2(file, 0)
        os.close(file)

    yield give
    os.dup2(before, 0)
    os.close(before)


@pytest.fixture
def process(random_checkpoint: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The command in a process of its own, with pipes to and from it."""
    flags = ["--model", str(random_checkpoint), *FLAGS, "--no-guard"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "transformer", *flags], env=environment(),
        stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0,
    ) as started:  # fmt: skip
        yield started
        started.kill()


def failure(result: tuple[int, str, str]) -> str:
    """The one line of a command that has failed and said nothing else."""
    code, out, err = result
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("translate: ")
    return err


# What comes in and out


def test_arguments_are_translated_one_line_each(run: Run, translations: list[str]) -> None:
    assert run(*TEXTS) == (0, "".join(f"{line}\n" for line in translations), "")


def test_standard_input_gives_a_line_for_each_line(
    run: Run, translations: list[str], on_stdin: Callable[[bytes], None]
) -> None:
    on_stdin(f"{TEXTS[0]}\r\n\n \n{TEXTS[1]}\n\n😀\n{TEXTS[2]}".encode())
    first, second, third = translations
    lines = (0, f"{first}\r\n\n \n{second}\n\n😀\n{third}\n", "")
    assert run() == lines
    on_stdin(f"{TEXTS[0]}\r\n\n \n{TEXTS[1]}\n\n😀\n{TEXTS[2]}".encode())
    assert run("--input", "-", "--output", "-") == lines
    on_stdin(b"")
    assert run() == (0, "", "")


def test_a_file_becomes_a_file_with_as_many_lines(
    run: Run, translations: list[str], tmp_path: Path
) -> None:
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text("\n".join([*TEXTS, "", "", TEXTS[0]]) + "\n", encoding="utf-8")
    assert run("--input", source, "--output", target) == (0, "", "")
    lines = target.read_text(encoding="utf-8").split("\n")
    assert lines == [*translations, "", "", translations[0], ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.txt", "target.txt"]
    for end, last in (("\r\n", "\r\n"), ("\r\n", ""), ("\n", "")):
        source.write_bytes((end.join(TEXTS) + last).encode())
        assert run("--input", source, "--output", target) == (0, "", "")
        assert target.read_bytes().decode() == end.join(translations) + last
    source.write_bytes("\n".join(TEXTS).encode("utf-16"))  # as Notepad writes it
    assert run("--input", source, "--output", target) == (0, "", "")
    assert target.read_text(encoding="utf-16").split("\n") == translations
    source.write_text("\n".join(TEXTS), encoding="utf-8-sig")
    assert len(run("--json", "--input", source)[1].splitlines()) == len(TEXTS)


def test_json_has_an_object_a_line(run: Run, random_checkpoint: Path) -> None:
    code, out, _ = run("--json", *TEXTS, "\n")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    results = Translator.load(random_checkpoint, *ON).translate([*TEXTS, "\n"])
    assert records == [
        {
            "source": result.source,
            "translation": result.text,
            "score": pytest.approx(result.score, abs=1e-3),
            "tokens": list(result.tokens),
            "langs": ["es", "en"],
            "warnings": [],
        }
        for result in results
    ]


def test_json_holds_all_translations_that_are_asked_for(run: Run) -> None:
    code, out, _ = run("--json", "--beam-size", 3, "--n-best", 2, TEXTS[0])
    (record,) = (json.loads(line) for line in out.splitlines())
    assert code == 0
    assert [*record] == ["source", "translation", "score", "tokens", "n_best", "langs", "warnings"]
    assert len(record["n_best"]) == 2
    assert record["n_best"][0] == {name: record[name] for name in list(record)[1:4]}


def test_more_than_one_translation_comes_with_rank_and_score(
    run: Run, random_checkpoint: Path
) -> None:
    code, out, _ = run("--beam-size", 3, "--n-best", 2, *TEXTS[:2])
    assert code == 0
    decode = DecodeConfig(beam_size=3, n_best=2)
    results = Translator.load(random_checkpoint, *ON).translate(TEXTS[:2], decode)
    rows = [line.split("\t") for line in out.splitlines()]
    expected = [(str(k), c) for r in results for k, c in enumerate(r.candidates, 1)]
    assert [(rank, text) for rank, _, text in rows] == [(rank, c.text) for rank, c in expected]
    scores = [float(score) for _, score, _ in rows]
    assert scores == pytest.approx([c.score for _, c in expected], abs=1e-3)


def test_a_pipe_as_output_is_written_to_and_not_replaced(
    run: Run, translations: list[str], tmp_path: Path
) -> None:
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(
        target=lambda: received.append(pipe.read_text(encoding="utf-8")), daemon=True
    )
    reader.start()
    assert run("--output", pipe, TEXTS[0]) == (0, "", "")
    reader.join(timeout=60)
    assert received == [f"{translations[0]}\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_output_through_a_link_goes_to_the_file_behind_it(
    run: Run, translations: list[str], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert run("--output", tmp_path / "link", TEXTS[0])[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == f"{translations[0]}\n"


# What a person can mend


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--device", "gpu", "hola"], "expected a device such as cpu or cuda, got 'gpu'"),
        (["--from", "es", "--to", "es", "hola"], "two languages, got --from es --to es"),
        (["--from", "en", "hola"], "expected a model for en-es, but .* translates es to en"),
        (["--to", "es", "hola"], "expected a model for en-es, but .* translates es to en"),
        (["--input", "a.txt", "hola"], "expected texts or --input, got both"),
        (["--input", "/nothing/a.txt"], "cannot read /nothing/a.txt: No such file"),
        (["--input", "/"], "expected --output FOLDER for several files, got none"),
        (["--output", "/", "hola"], "cannot write /: Is a directory"),
        (["--n-best", "2", "hola"], "1 <= n_best <= beam_size, not 2 of 1"),
        (["--model", "/nothing", "hola"], "expected a checkpoint folder, got '/nothing'"),
        (["ma\udcf1ana"], "expected UTF-8 text in the arguments"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(run: Run, flags: list[str], message: str) -> None:
    assert re.search(message, failure(run(*flags)))


def test_bytes_that_are_no_text_are_an_error_with_their_line(
    run: Run, translations: list[str], on_stdin: Callable[[bytes], None]
) -> None:
    on_stdin(TEXTS[0].encode() + b"\nma\xa4ana\n" + TEXTS[1].encode())
    code, out, err = run()
    assert (code, out, err.count("\n")) == (2, f"{translations[0]}\n", 1)
    assert "standard input, line 2: expected UTF-8 text" in err


def test_an_output_appears_whole_or_not_at_all(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_bytes(TEXTS[0].encode() + b"\nma\xa4ana\n")
    assert f"{source}, line 2" in failure(run("--input", source, "--output", tmp_path / "new"))
    (tmp_path / "old").write_text("before")
    assert f"{source}, line 2" in failure(run("--input", source, "--output", tmp_path / "old"))
    assert (tmp_path / "old").read_text() == "before"
    for name in ("new", "old"):  # what is done, see test_output
        (tmp_path / f"{name}.part").unlink()
    missing = tmp_path / "missing" / "out.txt"
    message = f"cannot write {missing}: No such file or directory"
    assert message in failure(run("--output", missing, "hola"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old", "source.txt"]


# Languages and the model that comes with the project


@pytest.mark.parametrize("home", ["transformer/released", "checkpoints"])
def test_without_a_model_the_one_that_comes_with_the_project_is_taken(
    run: Run, random_checkpoint: Path, translations: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, home: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(locate, "PACKAGE", tmp_path / "transformer")
    message = f"expected a model for en-es in {tmp_path / 'checkpoints' / 'en-es'}, there is none"
    assert message in failure(run("--to", "es", "hola", model=None))
    shutil.copytree(random_checkpoint, tmp_path / home / "es-en")
    assert run(*FLAGS, TEXTS[0], model=None) == (0, f"{translations[0]}\n", "")


def test_what_is_wrong_with_a_translation_is_told_with_its_line(run: Run) -> None:
    """A model that has learnt nothing repeats itself, and loses numbers."""
    code, out, err = run("--guard", "123", "El gato ve 17 casas {a}.")
    assert code == 0
    assert out.splitlines()[0] == "123"
    assert out.count("{a}") == 1
    assert re.fullmatch(r"translate: 2: .+\n", err)
    record = json.loads(run("--guard", "--json", "El gato ve 17.")[1])
    assert record["warnings"]
    assert record["langs"] == ["es", "en"]


def test_a_glossary_decides_how_terms_are_written(run: Run, tmp_path: Path) -> None:
    terms, texts = tmp_path / "terms.tsv", tmp_path / "texts.html"
    terms.write_text("es\ten\ngato\tfeline\n", encoding="utf-8")
    texts.write_text("<p>El gato.</p>", encoding="utf-8")
    code, out, _ = run("--guard", "--glossary", terms, "Gato", "El gato ve la casa.")
    assert (code, [line.lower().count("feline") for line in out.splitlines()]) == (0, [1, 1])
    assert "Feline" in run("--guard", "--glossary", terms, "-i", texts)[1]
    assert "expected --guard with --glossary" in failure(run("--glossary", terms, "Gato"))
    assert "got both" in failure(run("--guard", "--glossary", terms, "--explain", "Gato"))
    terms.write_text("a\tb\tc", encoding="utf-8")
    assert "line 1: expected a term" in failure(run("--guard", "--glossary", terms, "Gato"))
    terms.write_text("gato,feline\nperro,hound\n", encoding="utf-8")
    assert "in any row, as 'gato,feline': is it a CSV" in failure(
        run("--guard", "--glossary", terms, "Gato")
    )


# How it ends


def streams(process: "subprocess.Popen[bytes]") -> list[IO[bytes]]:
    return [one for one in (process.stdin, process.stdout, process.stderr) if one]


def test_each_line_is_answered_before_the_next_and_ctrl_c_ends_it(
    process: "subprocess.Popen[bytes]", translations: list[str]
) -> None:
    stdin, stdout, stderr = streams(process)
    for text, translation in zip(TEXTS, translations, strict=True):
        stdin.write(f"{text}\n".encode())
        assert stdout.readline().decode() == f"{translation}\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert stderr.read() == b"translate: stopped\n"


def test_a_reader_that_goes_ends_it_quietly(process: "subprocess.Popen[bytes]") -> None:
    stdin, stdout, stderr = streams(process)
    stdin.write(b"El gato.\n")
    assert stdout.readline()
    stdout.close()
    stdin.write(b"Nadie.\n")  # and more may come: standard input stays open
    assert process.wait(60) == 141
    assert stderr.read() == b"translate: stopped: the reader of the output has closed it\n"


# What it needs


def test_help_and_mistakes_are_answered_without_torch(random_checkpoint: Path) -> None:
    calls = {
        "--help": 0, "--speed 9": 2, "--from es --to es hola": 2, "--from en hola": 2,
        "--input a.txt hola": 2, "--input /nothing/a.txt": 2, "--output /nothing/a.txt hola": 2,
        "--n-best 2 hola": 2, "--model /nothing hola": 2,
    }  # fmt: skip
    code = (
        "import sys\nfrom transformer import cli\n"
        "for flags in sys.argv[2:]:\n"
        "    try:\n        code = cli.main(['--model', sys.argv[1], *flags.split()])\n"
        "    except SystemExit as ended:\n        code = ended.code\n"
        "    print('\\ncode', code)\n"
        "print(*sys.modules.keys() & {'torch', 'numpy', 'safetensors', 'sentencepiece'})\n"
    )
    done = python("-c", code, random_checkpoint, *calls)
    codes = [line for line in done.stdout.splitlines() if line.startswith("code")]
    assert codes == [f"code {code}" for code in calls.values()], done.stderr
    assert done.stdout.endswith(f"{codes[-1]}\n\n")


def test_a_translation_imports_what_it_needs_and_leaves_the_garbage_collector_on(
    random_checkpoint: Path,
) -> None:
    done = python(
        "-c",
        "import gc, sys, torch\n"
        "before = {*sys.modules}\n"
        "from transformer import cli\n"
        "assert cli.main(sys.argv[1:]) == 0\n"
        "assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)\n"
        "print(*{*sys.modules} - before)\n",
        *("--model", random_checkpoint, "--device", "cpu", *TEXTS),
    )
    assert done.returncode == 0, done.stderr
    modules = done.stdout.splitlines()[-1].split()
    tops = {module.split(".")[0] for module in modules} - sys.stdlib_module_names
    assert tops - {"numpy"} == {"transformer", "safetensors", "sentencepiece"}
    # Torch's compiler, which some of its functions import unasked, would take another second.
    assert not [module for module in modules if module.startswith("torch.")]
