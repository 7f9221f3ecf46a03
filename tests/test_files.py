"""Files and folders that appear whole or not at all."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import environment
from transformer.config import UserError
from transformer.files import (
    append_text,
    existing,
    locked,
    read_bytes,
    replaced,
    replaced_folder,
    write_text,
)

HOLD = """
import sys
from pathlib import Path
from transformer.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_failing_block_replaces_neither_folder_nor_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/text").write_text("old")

    def fail(folder: Path) -> None:
        with replaced_folder(folder) as new:
            (new / "text").write_text("new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail(tmp_path / "a")
    assert (tmp_path / "a/text").read_text() == "old"
    write_text(tmp_path / "b", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "b", "new \ud800")
    assert (tmp_path / "b").read_text() == "old"
    with (
        replaced(tmp_path / "b"),
        pytest.raises(UserError, match="/b is being written by another process"),
    ):
        write_text(tmp_path / "b", "other")
    write_text(tmp_path / "b", "new ñ\n")
    assert (tmp_path / "b").read_text(encoding="utf-8") == "new ñ\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_does_not_fit_on_the_disk_is_one_line_and_nothing_is_left(
    small_disk: Path, fill: Callable[[Path], Path]
) -> None:
    text, folder, records = small_disk / "text", small_disk / "folder", small_disk / "records"
    write_text(text, "old")
    append_text(records, "ñ 1\n")
    with replaced_folder(folder) as new:
        (new / "part").write_text("old")
    before = sorted(small_disk.rglob("*"))
    filler = fill(small_disk)
    with pytest.raises(
        UserError, match=r"^cannot write .*/text: No space left on device; .*intact$"
    ):
        write_text(text, "new" * 10_000)
    with pytest.raises(UserError, match=r"^cannot write .*/records: No space left on device;"):
        append_text(records, "2" * 10_000)
    with (
        pytest.raises(UserError, match=r"^cannot write .*/folder: No space left on device;"),
        replaced_folder(folder) as new,
    ):
        (new / "part").write_bytes(bytes(10_000))
    filler.unlink()
    assert sorted(small_disk.rglob("*")) == before
    assert (text.read_text(), (folder / "part").read_text()) == ("old", "old")
    append_text(records, "2\n")
    assert records.read_text(encoding="utf-8") == "ñ 1\n2\n"


def test_what_is_no_file_or_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"12345")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match="got a folder, a pipe or a device"):
            read_bytes(path)
    assert read_bytes(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match=r"expected at most 4 bytes in .*/file, got more"):
        read_bytes(tmp_path / "file", 4)


def test_a_folder_in_use_names_the_process_and_is_free_when_that_is_killed(tmp_path: Path) -> None:
    folder, command = tmp_path / "run", [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(UserError, match=rf"/run to be free, but .*process {holder.pid} of .*"),
            locked(folder),
        ):
            pytest.fail("two hold it")
        holder.kill()
        holder.wait()
        with locked(folder):
            assert f"process {os.getpid()}" in (folder / ".lock").read_text()
    assert not folder.exists(), "it was empty"


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_has_the_name_of_a_folder_and_is_none_is_left_alone(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "last")
    make(tmp_path / ".last.tmp")
    kind = (tmp_path / "last").lstat().st_mode
    with (
        pytest.raises(UserError, match=r"^cannot write .*/last: Not a directory"),
        replaced_folder(tmp_path / "last"),
    ):
        pytest.fail("it was replaced")
    assert (tmp_path / "last").lstat().st_mode == kind
    assert existing(tmp_path / "last") == tmp_path / "last"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"cannot write .*/file/run: "),
        locked(tmp_path / "file/run"),
    ):
        pytest.fail("it cannot be held")
