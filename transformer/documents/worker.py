"""Files from strangers, read and written in processes of their own that may not eat the machine.

A process has limits of memory and of computing time; one that meets them is ended, and what it
read is refused in one line. What comes back from it is plain JSON or the bytes of a file. It keeps
nothing between two requests: a file is read once for its passages and once more to be written.
"""

import asyncio
import contextlib
import io
import json
import os
import pickle
import queue
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from transformer.config import UserError
from transformer.documents import formats
from transformer.documents.passages import Metadata, Options, Passage, PickledList
from transformer.text.markup import MarkedText

N_PROCESSES = 2
SECONDS, MEMORY = 10.0, 2**30  # of computing for one request; of all that a process holds
REUSED, LARGE = 200, 2**28  # requests, and bytes ever held, after which a process is ended
IDLE = 60.0  # seconds without work, after which it is ended
PATIENCE = 60.0  # seconds by the clock, on a busy machine, with the start of a process


class Workers:
    """Processes that read and write files; they are started when first needed."""

    def __init__(
        self,
        n: int = N_PROCESSES,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        idle: float = IDLE,
    ) -> None:
        """`n` at once, each with its limits, ended after `idle` seconds without work."""
        self._seconds, self._memory = seconds, memory
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="documents")
        self._idle: queue.LifoQueue[Process] = queue.LifoQueue()
        for _ in range(n):
            self._idle.put(Process(__name__, str(memory), str(idle)))

    async def read(
        self, content: bytes | str, suffix: str, options: Options
    ) -> PickledList[Passage]:
        """The passages of a file; UserError for one that cannot be read within the limits."""
        reply = await asyncio.wrap_future(self.submit(content, suffix, options, None))
        source, target, notes = json.loads((lines := io.BytesIO(reply)).readline())
        return PickledList(
            (
                Passage(text, tuple((a, b) for a, b in marks), tuple(kept))
                for text, marks, kept in map(json.loads, lines)
            ),
            Metadata(source, target, tuple(notes)),
        )

    async def write(
        self, content: bytes | str, suffix: str, options: Options, filled: Iterable[MarkedText]
    ) -> bytes:
        """The same file with its passages translated, read with the same options."""
        return await asyncio.wrap_future(self.submit(content, suffix, options, filled))

    def submit(
        self,
        content: bytes | str,
        suffix: str,
        options: Options,
        filled: Iterable[MarkedText] | None,
    ) -> "Future[bytes]":
        """Passages, a line of JSON each, or the file; waits for its turn in a thread of its own."""
        formats.get_format(suffix)
        job = (content, suffix, asdict(options), filled, self._seconds)
        return self._threads.submit(self._done, pickle.dumps(job))

    def _done(self, job: bytes) -> bytes:
        process = self._idle.get()
        try:
            reply = process.ask(job, PATIENCE)
        finally:
            self._idle.put(process)
        if reply is None:
            raise UserError(
                f"expected a file that is read within {self._seconds:g} seconds of computing and "
                f"{self._memory >> 20} MiB, got one that needs more"
            )
        kind, more = reply[:1], reply[1:]
        if kind == b"e":
            raise UserError(more.decode(errors="replace"))
        return more

    def tidy(self) -> None:
        """Forgets the processes that have ended themselves."""
        free = list[Process]()
        with contextlib.suppress(queue.Empty):
            while True:
                free.append(self._idle.get_nowait())
        for process in free:
            process.tidy()
            self._idle.put(process)

    def close(self) -> None:
        """Ends the processes, after what they do."""
        self._threads.shutdown()
        while not self._idle.empty():
            self._idle.get().end()


class Process:
    """A module run as a process, which answers at the socket whose number is its first argument.

    It is started when there is work for it; it may end itself, with code 0, when there is none.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._module, self._arguments = module, arguments
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, job: bytes, seconds: float) -> bytes | None:
        """The reply, or None if there is none within the time or before the process ends."""
        is_new = self._process is None or self._process.poll() is not None
        if is_new:
            self._start()
        try:
            self._connection.send_bytes(job)
            if self._connection.poll(seconds):
                return self._connection.recv_bytes()
        except (EOFError, OSError):
            if self._process and self._process.wait() == 0 and not is_new:  # it had no work
                return self.ask(job, seconds)
        self.end()
        return None

    def _start(self) -> None:
        self.end()
        ours, theirs = socket.socketpair()
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self._module, str(theirs.fileno()), *self._arguments],
                pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
        self._connection = Connection(ours.detach())

    def tidy(self) -> None:
        """Forgets a process that has ended itself, and the system, too."""
        if self._process is not None and self._process.poll() is not None:
            self.end()

    def end(self) -> None:
        """Kills the process, if there is one."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
            self._process = None
            del self._connection

    def __del__(self) -> None:
        self.end()


def jobs(connection: Connection, idle: float) -> Iterator[bytes]:
    """What a process is asked for, until the other side closes or is silent for `idle` seconds."""
    with contextlib.suppress(EOFError):
        while connection.poll(idle):
            yield connection.recv_bytes()


def _reply(job: bytes) -> bytes:
    """p and passages, f and a file, or e and why not."""
    content, suffix, options, filled, _ = pickle.loads(job)
    try:
        document = formats.read(content, suffix, Options(**options))
        if filled is not None:
            return b"f" + document.write([*filled])
        # A line each: what is read in C at once keeps every other thread from its work.
        lines = (
            json.dumps((each.text, each.marks, each.placeholders)) for each in document.passages
        )
        about = json.dumps(
            (document.metadata.source, document.metadata.target, document.metadata.notes)
        )
        return b"p" + "\n".join([about, *lines]).encode()
    except UserError as error:
        return b"e" + str(error).encode(errors="replace")
    except MemoryError:
        return b"eexpected a file that needs less memory to be read"
    except Exception as error:  # the last net of the process: whatever a broken file brings
        return f"eexpected a sound file, got {type(error).__name__}".encode()


def _most_held() -> int:
    """Bytes that this process ever held; what getrusage says counts who started it, too."""
    status = Path("/proc/self/status").read_text() if sys.platform == "linux" else ""
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) * 1024 if peak else 0


def main(connection: Connection, memory: int, idle: float) -> None:
    """Answers until the other side closes or is silent; the system ends it where a limit is met."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, job in enumerate(jobs(connection, idle), 1):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds = pickle.loads(job)[-1]
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
        connection.send_bytes(_reply(job))
        if number == REUSED or _most_held() > LARGE:
            return


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]))
    os._exit(0)  # without the end of an interpreter that may lack memory for it
