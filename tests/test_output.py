"""What `translate` has done is not lost: bytes, Ctrl-C, full disks, closed outputs."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import ROOT, environment, python
from transformer import cli

FLAGS = ["--device", "cpu", "--compute-type", "float32", "--no-guard"]
LINES = ["El gato ve la casa.", "Nadie compra agua hoy.", "¿Quiere un libro?", "Hola."]


def shell(command: str) -> tuple[int, str]:
    """Exit code and standard error of a command of the shell in which $translate is ours."""
    translate = f"{sys.executable} -m transformer --model es-en {' '.join(FLAGS)}"
    done = subprocess.run(
        ["bash", "-c", command], env=environment(translate=translate), cwd=ROOT / "data",
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("$translate hola >/dev/full", "cannot write standard output: No space left on device"),
        ("$translate hola >&-", "cannot write standard output: it is closed"),
        ("$translate --output /dev/full hola", "cannot write /dev/full: No space left on device"),
        ("$translate --help >/dev/full", "cannot write standard output: No space left on device"),
        ("$translate -i README.md >/dev/full", "cannot write standard output: No space left"),
        (
            "$translate -i tables.py --format txt >/dev/full",
            "cannot write standard output: No space left",
        ),
        ("$translate --selftest >/dev/full", "cannot write standard output: No space left"),
    ],
)
def test_an_output_that_is_full_or_closed_is_one_line(command: str, said: str) -> None:
    code, err = shell(command)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"translate: {said}")


def test_standard_input_is_not_replaced_by_its_translation(tmp_path: Path) -> None:
    lines = tmp_path / "a.txt"
    lines.write_text("Hola.\n")
    code, err = shell(f"$translate -o {lines} <{lines}")
    assert (code, err) == (2, f"translate: expected --output elsewhere: {lines} is what is read\n")
    assert lines.read_text() == "Hola.\n"
    assert shell(f"$translate -o {lines} <&-")[0] == 2  # closed: told as ever


def test_what_would_go_to_a_closed_standard_error_is_dropped() -> None:
    assert shell("$translate --from es --to es hola 2>&-") == (2, "")


def translate(model: Path, *flags: object) -> int:
    return cli.main(["--model", str(model), *FLAGS, *map(str, flags)])


def test_a_bad_byte_loses_nothing_and_resuming_gives_what_one_run_gives(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_bytes(
        "\n".join([*LINES[:2], "ma\udcf1ana", *LINES[2:]]).encode(errors="surrogateescape")
    )
    good.write_text("\n".join([*LINES[:2], "ma\ufffdana", *LINES[2:]]), "utf-8")
    part = tmp_path / "out.part"
    assert translate(random_checkpoint, "--input", bad, "--output", tmp_path / "out") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"the finished lines are in {part}, use --resume to continue")
    assert len(part.read_text("utf-8").splitlines()) == 2
    again = ("--resume", "--errors", "replace", "--input", bad, "--output", tmp_path / "out")
    assert translate(random_checkpoint, *again) == 0
    assert translate(random_checkpoint, "--input", good, "--output", tmp_path / "one") == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "one").read_bytes()
    assert not part.exists()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ends_the_command_keeps_what_is_done_and_a_second_time_changes_nothing(
    tmp_path: Path, sent: signal.Signals
) -> None:
    command = [sys.executable, "-m", "transformer", "--model", "es-en", *FLAGS]
    part = tmp_path / "out.part"
    with subprocess.Popen(
        [*command, "--output", str(tmp_path / "out")],
        env=environment(),
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stderr
        process.stdin.write(f"{LINES[0]}\n".encode())
        while not (part.exists() and part.stat().st_size) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(sent)
        process.send_signal(sent)
        assert process.wait(60) in (128 + sent, -sent)  # at its exit a second one just ends it
        told = f"translate: stopped; the finished lines are in {part}, use --resume to continue\n"
        assert process.stderr.read().decode() == told
    assert part.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("moment", ["import", "exit"])
def test_ctrl_c_before_and_after_the_work_leaves_no_traceback(moment: str) -> None:
    done = python(
        "-c",
        "import os, signal, sys, types\n"
        "from transformer import __main__\n"
        "def stop():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "class Stopping(types.ModuleType):\n"
        "    def __getattr__(self, name):\n"
        "        stop()\n"
        "if sys.argv[1] == 'import':\n"
        "    sys.modules['transformer.cli'] = Stopping('transformer.cli')\n"
        "sys.argv[1:] = ['--version']\n"
        "__main__.main()\n"
        "stop()\n",
        moment,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_standard_output_by_its_name_is_written_behind_what_is_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\n")
    assert shell(f"$translate --output /dev/stdout 123 >> {log}") == (0, "")
    assert log.read_text() == "old\n123\n"


def test_more_lines_than_the_input_has_are_not_its_translation(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, part = tmp_path / "source.txt", tmp_path / "out.part"
    source.write_text("123\n", "utf-8")
    part.write_text("1\n2\n", "utf-8")
    assert translate(random_checkpoint, "--resume", "-i", source, "-o", tmp_path / "out") == 2
    assert "expected an input with the 2 lines that are done, got 1" in capsys.readouterr().err
    assert (part.read_text("utf-8"), (tmp_path / "out").exists()) == ("1\n2\n", False)


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_lines_of_another_input_are_told_when_it_is_gone_on(
    random_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    source, target, part = tmp_path / "source.txt", tmp_path / "out", tmp_path / "out.part"
    source.write_text("12\n34\n56\n", "utf-8")
    again = ("--no-guard", *flags, "-i", source, "-o", target)
    assert translate(random_checkpoint, *again) == 0
    whole = target.read_text("utf-8")
    for kept, told in (
        (whole.splitlines()[1], ""),
        ("other", "line 2 would now be translated differently"),
    ):
        target.unlink()
        part.write_text(f"{whole.splitlines()[0]}\n{kept}\n", "utf-8")
        assert translate(random_checkpoint, "--resume", *again) == 0
        said = capsys.readouterr().err
        assert told in said
        assert bool(told) == ("would now be" in said)
        assert target.read_text("utf-8").splitlines()[::2] == whole.splitlines()[::2]


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_a_folder_with_one_file_becomes_one_and_a_refused_one_leaves_nothing(
    random_checkpoint: Path, tmp_path: Path, name: str
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / name).write_bytes(b"\xff\n" * (name == "a.txt"))
    refused = ("--json",) if name == "a.html" else ()
    assert translate(random_checkpoint, *refused, "-i", source, "-o", target) == 2
    assert not target.exists()
    (source / name).write_text("123", "utf-8")
    assert translate(random_checkpoint, "-i", source, "-o", target) == 0
    assert (target / name).read_text("utf-8").strip() == "123"


@pytest.mark.parametrize(
    "flags", [["--resume"], ["--resume", "--output", "a", "--n-best", "2", "--beam-size", "2"]]
)
def test_what_cannot_be_resumed_is_told(
    random_checkpoint: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert translate(random_checkpoint, *flags, "hola") == 2
    assert "with --resume" in capsys.readouterr().err
