"""Files of strangers, parsed and written in processes with limits of memory and computing time.

A process that meets a limit is ended, and its file is refused in one line. What comes back from a
process is plain JSON or the bytes of a file. It keeps nothing between two requests: a file is
parsed once for its passages and once more to be written.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple
from multiprocessing.connection import Connection
from pathlib import Path

from transformer.config import UserError
from transformer.documents import formats
from transformer.documents.passages import Metadata, Options, Passage, PickledList
from transformer.text.markup import MarkedText

N_PROCESSES = 2
SECONDS, MEMORY = 10.0, 2**30  # of computing for one request; of all that a process holds
MAX_REQUESTS, MAX_PEAK = 200, 2**28  # requests, and bytes ever held, after which a process exits
IDLE_TIMEOUT = 60.0  # seconds without work, after which it exits
REPLY_TIMEOUT = 60.0  # seconds by the clock, on a busy machine, with the start of a process


class WorkerPool:
    """Processes that parse and write files; they are started when first needed.

    Each of `n` has limits: `seconds` of computing a request, `memory` in bytes, `idle` in seconds.
    """

    def __init__(
        self,
        n: int = N_PROCESSES,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        idle: float = IDLE_TIMEOUT,
    ) -> None:
        self._seconds, self._memory = seconds, memory
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="documents")
        self._idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for _ in range(n):
            self._idle.put(WorkerProcess(__name__, str(memory), str(idle)))

    async def read(
        self, content: bytes | str, suffix: str, options: Options
    ) -> PickledList[Passage]:
        """Return the passages of a file, or of a text, read as the format of `suffix` (".html").

        UserError for one that is unsound or meets a limit.
        """
        reply = await self._submit(content, suffix, options, None)
        source, target, notes = json.loads((lines := io.BytesIO(reply)).readline())
        passages = (
            Passage(text, tuple((a, b) for a, b in marks), tuple(placeholders))
            for text, marks, placeholders in map(json.loads, lines)
        )
        return PickledList(passages, Metadata(source, target, tuple(notes)))

    async def write(
        self,
        content: bytes | str,
        suffix: str,
        options: Options,
        translations: Iterable[MarkedText],
    ) -> bytes:
        """Return the file that `read` got, its passages translated; UserError beyond a limit."""
        return await self._submit(content, suffix, options, translations)

    async def _submit(
        self,
        content: bytes | str,
        suffix: str,
        options: Options,
        translations: Iterable[MarkedText] | None,
    ) -> bytes:
        """Return metadata and passages, one JSON line each; with `translations`, the file."""
        formats.get_format(suffix)
        request = pickle.dumps((content, suffix, asdict(options), translations, self._seconds))
        return await asyncio.wrap_future(self._threads.submit(self._request, request))

    def _request(self, request: bytes) -> bytes:
        process = self._idle.get()
        try:
            reply = process.request(request, REPLY_TIMEOUT)
        finally:
            self._idle.put(process)
        if reply is None:
            raise UserError(
                f"expected a file that is read within {self._seconds:g} seconds of computing and "
                f"{self._memory >> 20} MiB, got one that needs more"
            )
        if reply[:1] == b"e":
            raise UserError(reply[1:].decode(errors="replace"))
        return reply[1:]

    def reap(self) -> None:
        """Wait for the processes that have exited."""
        idle = list[WorkerProcess]()
        with contextlib.suppress(queue.Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for process in idle:
            process.reap()
            self._idle.put(process)

    def close(self) -> None:
        """Kill the processes, once they have answered."""
        self._threads.shutdown()
        while not self._idle.empty():
            self._idle.get().kill()


class WorkerProcess:
    """A module run as a process, which answers at the socket whose number is its first argument.

    It is started when there is work for it; it may exit, with code 0, when there is none.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._module, self._arguments = module, arguments
        self._process: subprocess.Popen[bytes] | None = None

    def request(self, request: bytes, timeout: float) -> bytes | None:
        """Return the reply; None, the process killed, if it died or `timeout` seconds passed."""
        is_new = self._process is None or self._process.poll() is not None
        if is_new:
            self._start()
        try:
            self._connection.send_bytes(request)
            if self._connection.poll(timeout):
                return self._connection.recv_bytes()
        except (EOFError, OSError):
            if self._process and self._process.wait() == 0 and not is_new:  # it had no work
                return self.request(request, timeout)
        self.kill()
        return None

    def _start(self) -> None:
        self.kill()
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

    def reap(self) -> None:
        """Wait for the process, if it has exited."""
        if self._process is not None and self._process.poll() is not None:
            self.kill()

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
            self._process = None

    def __del__(self) -> None:
        self.kill()


def receive_requests(connection: Connection, idle: float) -> Iterator[bytes]:
    """Yield requests until the other side closes or is silent for `idle` seconds."""
    with contextlib.suppress(EOFError):
        while connection.poll(idle):
            yield connection.recv_bytes()


def _reply(request: bytes) -> bytes:
    """Answer a request of `submit`: "p" and JSON lines, "f" and a file, or "e" and any error."""
    content, suffix, options, translations, _ = pickle.loads(request)
    try:
        document = formats.read(content, suffix, Options(**options))
        if translations is not None:
            return b"f" + document.write([*translations])
        # A line each: what is read in C at once keeps every other thread from its work.
        lines = ((p.text, p.marks, p.placeholders) for p in document.passages)
        return b"p" + "\n".join(map(json.dumps, (astuple(document.metadata), *lines))).encode()
    except UserError as error:
        return b"e" + str(error).encode(errors="replace")
    except MemoryError:
        return b"eexpected a file that needs less memory to be read"
    except Exception as error:  # the last net of the process: whatever a broken file brings
        return f"eexpected a sound file, got {type(error).__name__}".encode()


def _peak_memory() -> int:
    """Return this process's peak memory in bytes, 0 without Linux; getrusage counts its parent."""
    status = Path("/proc/self/status").read_text() if sys.platform == "linux" else ""
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) * 1024 if peak else 0


def main(connection: Connection, memory: int, idle: float) -> None:
    """Answer requests until `idle` seconds pass without one; take at most `memory` bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, request in enumerate(receive_requests(connection, idle), 1):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds = pickle.loads(request)[-1]
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
        connection.send_bytes(_reply(request))
        if number == MAX_REQUESTS or _peak_memory() > MAX_PEAK:
            return


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]))
    os._exit(0)  # without the end of an interpreter that may lack memory for it
