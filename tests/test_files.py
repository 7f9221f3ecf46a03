"""Files and folders that appear whole or not at all."""

import codecs
import errno
import io
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest

from tests.processes import environment, shipped
from transformer.config import UserError
from transformer.files import (
    Errors,
    append_text,
    atomic_folder,
    atomic_write,
    encoding_name,
    is_windows_1252,
    latest_version,
    lock_folder,
    read_bytes,
    read_lines,
    write_text,
)

HOLD = """
import sys
from pathlib import Path
from transformer.files import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_failing_block_replaces_neither_folder_nor_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/text").write_text("old")

    def fail(folder: Path) -> None:
        with atomic_folder(folder) as new:
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
        atomic_write(tmp_path / "b"),
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
    with atomic_folder(folder) as new:
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
        atomic_folder(folder) as new,
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
            lock_folder(folder),
        ):
            pytest.fail("two hold it")
        holder.kill()
        holder.wait()
        with lock_folder(folder):
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
        atomic_folder(tmp_path / "last"),
    ):
        pytest.fail("it was replaced")
    assert (tmp_path / "last").lstat().st_mode == kind
    assert latest_version(tmp_path / "last") == tmp_path / "last"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"cannot write .*/file/run: "),
        lock_folder(tmp_path / "file/run"),
    ):
        pytest.fail("it cannot be held")


@pytest.mark.parametrize(
    ("errors", "lines"), [("replace", ["a", "ma\ufffdana", "b"]), ("skip", ["a", "maana", "b"])]
)
def test_other_bytes_than_utf8_are_replaced_or_left_out(errors: Errors, lines: list[str]) -> None:
    assert list(read_lines(io.BytesIO(b"a\r\nma\xf1ana\nb"), "name", errors)) == lines


def test_an_input_that_breaks_off_is_told_as_such() -> None:
    broken = MagicMock(__iter__=Mock(side_effect=OSError(errno.EIO, "broken")))
    with pytest.raises(UserError, match=r"^cannot read name: broken$"):
        next(read_lines(broken, "name"))


@pytest.mark.parametrize(
    "text", ["Françoise", "«CAFÉ»", "¿Qué?", "ñ", "Müller & Söhne", "£5", "40\xa0€", "½ taza",
             "It’s “fine” – really…", "Compró 3\xa0kg a\xa0las cinco.", "20 °C"]
)  # fmt: skip
def test_windows_1252_is_recognised(text: str) -> None:
    assert is_windows_1252(text.encode("cp1252"))
    assert not is_windows_1252(text.encode())


@pytest.mark.parametrize(
    "content",
    [b"", b"Hola", b"\xff\n", b"\xff\xfb\0", b"caf\xc3", "España".encode() + b" \xc3 a",
     "it’s".encode()[:-2], "Привет".encode("cp1251"), "東京はきれい".encode("shift-jis"),
     bytes(range(256)), codecs.BOM_UTF16_LE + "año".encode("utf-16le")],
)  # fmt: skip
def test_other_bytes_are_not_taken_for_windows_1252(content: bytes) -> None:
    assert not is_windows_1252(content)


def test_pages_of_own_text_are_told_from_those_of_dos() -> None:
    texts = [es for es, _ in shipped("test")]
    pages = ["\n".join(texts[i : i + 40]) for i in range(0, len(texts), 40)]
    assert all(is_windows_1252(page.encode("cp1252", "ignore")) for page in pages)
    assert not any(is_windows_1252(page.encode("cp850", "ignore")) for page in pages)


def test_what_is_recognised_holds_for_the_lines_below(caplog: pytest.LogCaptureFixture) -> None:
    ends = deque[str]()
    content = "a\r\nmañana\nŠ\nb".encode("cp1252")
    assert list(read_lines(io.BytesIO(content), "name", ends=ends)) == ["a", "mañana", "Š", "b"]
    assert [*ends] == ["\r\n", "\n", "\n", ""]
    assert caplog.messages == ["name, line 2: no UTF-8: read as Windows-1252"]
    for broken in (b"\xc3\xb1\nma\xf1ana", b"ma\xa4ana"):  # damaged UTF-8, DOS
        with pytest.raises(UserError, match=r"name, line \d: expected UTF-8 text"):
            list(read_lines(io.BytesIO(broken), "name"))
    dos = "mañana no está".encode("cp850")
    assert list(read_lines(io.BytesIO(dos), "name", encoding="cp850")) == ["mañana no está"]
    with pytest.raises(UserError, match="line 1: expected UTF-8"):
        list(read_lines(io.BytesIO("él".encode("cp1252")), "name", sample=dos))


def test_an_encoding_is_one_of_lines() -> None:
    assert encoding_name("Latin-1") == "iso8859-1"
    for name in ("x", "utf-16", "rot13", "base64", ""):
        with pytest.raises(UserError, match=f"such as latin-1 or cp850, got '{name}'"):
            encoding_name(name)
