"""Files of strangers: limits hold, nothing waits for them, and a process serves many requests."""

import asyncio
import io
import os
import signal
import threading
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from transformer.config import UserError
from transformer.documents.passages import Options, Passage
from transformer.documents.worker import WorkerPool


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    workers = WorkerPool(1, seconds=1)
    yield workers
    workers.close()


def read(workers: WorkerPool, content: bytes | str, suffix: str) -> tuple[Passage, ...]:
    return (*asyncio.run(workers.read(content, suffix, Options())),)


def bomb(size: int, filling: bytes) -> bytes:
    written = io.BytesIO()
    with (
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as member,
    ):
        for _ in range(size // 2**20):
            member.write(filling * (2**20 // len(filling)))
    return written.getvalue()


def test_a_page_is_read_and_written_elsewhere(workers: WorkerPool) -> None:
    page = "<p>el <b>coche</b> \0 <img> \ud800</p>"
    (passage,) = read(workers, page, ".html")
    assert passage == Passage("el coche \0 <0/> \ud800", ((3, 8),), ("<0/>",))
    filled = [[("the ", None), ("car", 0), (" <0/>", None)]]
    written = asyncio.run(workers.write(page, ".html", Options(), filled))
    assert written == b"<p>the <b>car</b> <img></p>"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bomb(2**29, b"0"), "at most 64 MiB unpacked .* got 512 MiB"),
        (bomb(60 * 2**20, b"<p/>"), "expected a"),
        (b"PK", "got BadZipFile"),
    ],
)
def test_a_bomb_is_refused_in_one_line_and_the_next_file_is_read(
    workers: WorkerPool, content: bytes, why: str
) -> None:
    with pytest.raises(UserError, match=why) as refusal:
        read(workers, content, ".docx")
    assert "\n" not in str(refusal.value)
    assert read(workers, b"hola", ".txt") == (Passage("hola"),)


def test_what_computes_too_long_is_ended_and_holds_nobody() -> None:
    workers = WorkerPool(1, seconds=0.2)

    async def refused() -> float:
        work = asyncio.ensure_future(workers.read("<b>" * 3_000_000, ".html", Options()))
        slowest, before = 0.0, time.monotonic()
        while not work.done():
            await asyncio.sleep(0.01)
            slowest, before = max(slowest, time.monotonic() - before), time.monotonic()
        with pytest.raises(UserError, match=r"within 0.2 seconds of computing and 1024 MiB"):
            await work
        return slowest

    assert asyncio.run(refused()) < 0.5
    assert read(workers, "<b>hola</b>", ".html") == (Passage("hola"),)
    workers.close()


def test_a_process_is_used_again_and_followed_by_another_when_it_has_ended() -> None:
    held = b"x" * 2**29  # the system counts the memory of who starts a process as its own
    workers = WorkerPool(1, idle=0.5)
    processes: list[Any] = []
    for last in (None, None, "killed", "idle", "ending"):
        if last == "killed":
            processes[-1].kill()
            processes[-1].wait()
        elif last == "idle":
            assert processes[-1].wait(60) == 0
        elif last == "ending":
            processes[-1].send_signal(signal.SIGSTOP)
            time.sleep(1)
            threading.Timer(0.2, processes[-1].send_signal, [signal.SIGCONT]).start()
        assert read(workers, b"hola", ".txt") == (Passage("hola"),)
        (only,) = workers._idle.queue
        processes.append(only._process)
    workers.close()
    first, second, third, fourth, _ = processes
    assert first is second
    assert len({second.pid, third.pid, fourth.pid}) == 3
    assert all(process.poll() is not None for process in processes)
    assert len(held) == 2**29


def test_a_process_that_ended_itself_is_forgotten() -> None:
    workers = WorkerPool(2, idle=0.2)
    assert read(workers, b"hola", ".txt") == (Passage("hola"),)
    (process,) = (each._process for each in workers._idle.queue if each._process)
    workers.reap()
    assert process.returncode is None or process.poll() == 0, "it was ended"
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    workers.reap()
    assert process.returncode == 0
    assert [each._process for each in workers._idle.queue] == [None, None]
    assert read(workers, b"hola", ".txt") == (Passage("hola"),)
    workers.close()


def test_what_needs_too_much_memory_is_refused() -> None:
    workers = WorkerPool(1, memory=2**27)
    with pytest.raises(UserError, match="expected a file that"):
        read(workers, "<b>a</b>" * 2_000_000, ".html")
    workers.close()


def test_an_unknown_ending_needs_no_process() -> None:
    workers = WorkerPool(1)
    with pytest.raises(UserError, match="expected a file that ends in"):
        read(workers, b"", ".exe")
    workers.close()
