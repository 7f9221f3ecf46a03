"""A server under attack: clients translate while others send all that they should not."""

import asyncio
import http.client
import multiprocessing
import random
import re
import statistics
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from scripts.benchmark.serving import TEXTS, TIMEOUT, expected_answers, load
from scripts.fuzz.attacks import MARKER
from scripts.fuzz.checks import Check, Options, Process, resident_mib, start_python
from scripts.fuzz.requests import Requests
from transformer.serving.authorization import new_api_key

N_TEXTS, N_ATTACKERS, N_IDLE = 100, 24, 150
INTERVAL = 0.1  # seconds between two requests of /health
REST_SECONDS = 150.0  # in which memory may come back: processes end when idle
N_SLOW = 350  # bytes that an attacker sends in small pieces
HEALTH_MS = 300


class Campaign:
    """The clients and the attackers of one server, and what they got, counted."""

    def __init__(self, port: int, key: str, options: Options) -> None:
        self._port, self._key, self._random = port, key, random.Random(options.seed)
        self._requests = Requests(options.seed, key)
        self._end = 0.0
        self.attacks: Counter[str] = Counter()
        self.bad: list[str] = []

    async def _send(self, content: bytes, *, pause: float = 0, limit: int = 2**20) -> bytes:
        """Send whole or in pieces with pauses; return the answer, at most `limit` bytes of it."""
        address = f"127.{self._random.randint(1, 200)}.{self._random.randint(0, 200)}.1", 0
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=address)
        try:
            for start in range(0, N_SLOW, 7) if pause else ():
                if writer.is_closing():
                    break
                writer.write(content[start : start + 7])
                await asyncio.sleep(pause)
            writer.write(content[N_SLOW if pause else 0 :])
            await writer.drain()
            return await asyncio.wait_for(reader.read(limit), TIMEOUT) if limit else b""
        finally:
            writer.close()

    async def _attack(self) -> None:
        """Attack again and again; sometimes slowly, sometimes without waiting for the answer."""
        while time.monotonic() < self._end:
            name, content = self._requests.draw()
            manner, answer = self._random.random(), b""
            pause, limit = (0.3 if manner < 0.1 else 0), (0 if 0.1 < manner < 0.2 else 2**20)
            try:
                answer = await self._send(content, pause=pause, limit=limit)
            except (OSError, TimeoutError) as error:
                name = "unanswered" if isinstance(error, TimeoutError) else "cut off"
            self.attacks[name] += 1
            status, head = answer[9:12].decode("latin1"), answer.partition(b"\r\n\r\n")[0].lower()
            if (status[:1] == "5" and status != "503") or b"root:" in answer or b"\nx-inj" in head:
                self.bad.append(f"{name}: {status} for {content[:60]!r}")

    async def _idle(self) -> None:
        """Open a connection and wait, again and again."""
        while time.monotonic() < self._end:
            try:
                await self._send(self._random.choice((b"", b"POST /translate HTTP/1.1\r\nHost:")))
            except (OSError, TimeoutError):
                await asyncio.sleep(1)

    async def run(self, expected: dict[str, str], n_clients: int, seconds: float) -> Counter[str]:
        """Run clients and attackers until the time is over; count the answers of the clients."""
        self._end = time.monotonic() + seconds
        attackers = [self._attack] * N_ATTACKERS + [self._idle] * N_IDLE
        tasks = [asyncio.create_task(attacker()) for attacker in attackers]
        url = f"http://127.0.0.1:{self._port}"
        result = await load(url, expected, n_clients, seconds, key=self._key, refusals=(503,))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return result.counts


def time_health(port: int, seconds: float) -> list[float]:
    """Return the milliseconds of each request of /health; for a process that does nothing else."""
    times, end = list[float](), time.monotonic() + seconds
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    while (started := time.monotonic()) < end:
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
            times.append(1000 * (time.monotonic() - started))
        except (OSError, http.client.HTTPException):
            connection.close()
        time.sleep(INTERVAL)
    return times


def run(options: Options) -> Iterator[Check]:
    """Attack two servers, without keys and with them, each for half of the time."""
    for title in ("keys off", "keys on"):
        path, log = options.folder / "keys", options.folder / f"{title}.log"
        key = new_api_key(path, 0) if title == "keys on" else ""
        flags = ("--api-keys", path) if key else ()
        with log.open("w") as file:
            process = start_python("transformer", "serve", "--port", "0", *flags, stderr=file)
        checks = list[Check]()
        try:
            checks += _attack_server(options, process, _port(log, process), key)
        finally:
            process.terminate()
        code, lines = process.wait(TIMEOUT), log.read_text().splitlines()[1:]
        checks.append(Check("SIGTERM ends it with 0", 1, int(code != 0), f"exit code {code}"))
        checks.append(Check("no text and no defect logged", 1, len(lines), "; ".join(lines)[:200]))
        yield from (check.with_title(title) for check in checks)


def _port(log: Path, process: Process) -> int:
    while not (found := re.search(r"http://127.0.0.1:(\d+)/", log.read_text())):
        if process.poll() is not None:
            raise RuntimeError(f"expected a server, got: {log.read_text()}")
        time.sleep(0.1)
    return int(found[1])


def _attack_server(options: Options, process: Process, port: int, key: str) -> Iterator[Check]:
    campaign, url = Campaign(port, key, options), f"http://127.0.0.1:{port}"
    seconds = options.minutes * 30
    urllib.request.urlopen(f"{url}/health", timeout=TIMEOUT).close()
    before = resident_mib(process)
    lines = TEXTS.read_text(encoding="utf-8").splitlines()[1 : N_TEXTS + 1]
    texts = [f"{line.partition(chr(9))[0]} {MARKER} está aquí." for line in lines]
    expected = asyncio.run(expected_answers(url, texts, key))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        health = pool.submit(time_health, port, seconds)
        counts = asyncio.run(campaign.run(expected, options.clients, seconds))
        times = health.result()
    seen = f"{counts['refused']:,} times 503, {counts['closed']:,} connections closed"
    n_answers, n_bad = counts["right"] + counts["wrong"], counts["wrong"] + counts["timeout"]
    yield Check(f"answers to {options.clients} clients are right", n_answers, n_bad, seen)
    kinds = ", ".join(f"{n} {name}" for name, n in sorted(campaign.attacks.items()))
    bad = campaign.bad
    seen = "; ".join(bad[:3]) or kinds
    yield Check("attacks: no 5xx but 503, no leak", campaign.attacks.total(), len(bad), seen)
    p99 = statistics.quantiles(times, n=100)[98]
    seen = f"{p99:.0f} ms; median {statistics.median(times):.0f}, longest {max(times):.0f}"
    yield Check(f"/health within {HEALTH_MS} ms (p99)", len(times), int(p99 > HEALTH_MS), seen)
    end = time.monotonic() + REST_SECONDS
    while (after := resident_mib(process)) > 1.2 * before and time.monotonic() < end:
        time.sleep(1)
    seen = f"{before:.0f} MiB before, {after:.0f} after"
    yield Check("memory back to within 20 %", 1, int(after > 1.2 * before), seen)
    answer = urllib.request.urlopen(f"{url}/metrics?api_key={key}", timeout=TIMEOUT)
    metrics = answer.read().decode()
    n_bad = metrics.count(MARKER) + ("translate_requests" not in metrics)
    yield Check("no text in /metrics", metrics.count("\n"), n_bad)
