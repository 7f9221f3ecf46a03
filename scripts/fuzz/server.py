"""A server under attack: clients translate while strangers do all that they should not."""

import asyncio
import http.client
import multiprocessing as mp
import random
import re
import statistics
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from scripts.benchmark.serving import PATIENCE, TEXTS, Connection, load, translated
from scripts.fuzz import requests
from scripts.fuzz.attacks import MARKER
from scripts.fuzz.checks import Check, Options, Started, resident, start
from transformer.serving.authorization import new_api_key

N_TEXTS, N_STRANGERS, N_SILENT = 100, 24, 150
EVERY = 0.1  # seconds between two looks at /health
SETTLING = 150.0  # seconds in which memory may come back: processes end when idle
DROPS = 350  # bytes that come drop by drop
HEALTH = 300  # ms


class Campaign:
    """What the clients and the strangers at one server see, counted."""

    def __init__(self, port: int, key: str, options: Options) -> None:
        self._port, self._key, self._url = port, key, f"http://127.0.0.1:{port}"
        self._end = 0.0
        self._chance = random.Random(options.seed)
        self._requests = requests.Requests(options.seed, key)
        self._right: dict[str, str] = {}
        self.attacks: Counter[str] = Counter()
        self.bad: list[str] = []

    async def learn(self) -> None:
        """The right answers, asked for one at a time."""
        lines = TEXTS.read_text(encoding="utf-8").splitlines()[1 : N_TEXTS + 1]
        connection = Connection(self._url)
        for line in lines:
            text = f"{line.partition(chr(9))[0]} {MARKER} está aquí."
            status, self._right[text] = await translated(connection, text, self._key)
            if status != 200:
                raise ConnectionError(f"expected a translation, got {status}")
        connection.close()

    async def _send(self, content: bytes, *, drip: float = 0, take: int = 2**20) -> bytes:
        """What is answered; sent whole or drop by drop; the stranger leaves after so many bytes."""
        place = f"127.{self._chance.randint(1, 200)}.{self._chance.randint(0, 200)}.1", 0
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=place)
        try:
            for at in range(0, DROPS, 7) if drip else ():
                if writer.is_closing():
                    break
                writer.write(content[at : at + 7])
                await asyncio.sleep(drip)
            writer.write(content[DROPS if drip else 0 :])
            await writer.drain()
            return await asyncio.wait_for(reader.read(take), PATIENCE) if take else b""
        finally:
            writer.close()

    async def _stranger(self) -> None:
        """One who attacks, again and again; some slowly, some leave before the answer."""
        while time.monotonic() < self._end:
            name, content = self._requests.any()
            manner = self._chance.random()
            drip, take = (0.3 if manner < 0.1 else 0), (0 if 0.1 < manner < 0.2 else 2**20)
            try:
                answer = await self._send(content, drip=drip, take=take)
            except (OSError, TimeoutError) as error:
                name = "unanswered" if isinstance(error, TimeoutError) else "cut off"
                answer = b""
            self.attacks[name] += 1
            status, head = answer[9:12].decode("latin1"), answer.partition(b"\r\n\r\n")[0].lower()
            if (status[:1] == "5" and status != "503") or b"root:" in answer or b"\nx-inj" in head:
                self.bad.append(f"{name}: {status} for {content[:60]!r}")

    async def _silent(self) -> None:
        """One who opens a connection and waits."""
        while time.monotonic() < self._end:
            try:
                await self._send(self._chance.choice((b"", b"POST /translate HTTP/1.1\r\nHost:")))
            except (OSError, TimeoutError):
                await asyncio.sleep(1)

    async def run(self, n_clients: int, seconds: float) -> Counter[str]:
        """All of them, until the time is over; the clients get their last answers, counted."""
        self._end = time.monotonic() + seconds
        crowd = [asyncio.create_task(self._stranger()) for _ in range(N_STRANGERS)]
        crowd += [asyncio.create_task(self._silent()) for _ in range(N_SILENT)]
        loaded = await load(
            self._url, self._right, n_clients, seconds, key=self._key, refusals=(503,)
        )
        for task in crowd:
            task.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
        return loaded.counts


def watch_health(port: int, seconds: float) -> list[float]:
    """Milliseconds that each look at /health took; in a process that does nothing else."""
    times, end = list[float](), time.monotonic() + seconds
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    while (started := time.monotonic()) < end:
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
            times.append(1000 * (time.monotonic() - started))
        except (OSError, http.client.HTTPException):
            connection.close()
        time.sleep(EVERY)
    return times


def _settled(process: Started, wanted: float) -> float:
    """MiB that a server holds once it has come to rest."""
    end = time.monotonic() + SETTLING
    while (held := resident(process)) > wanted and time.monotonic() < end:
        time.sleep(1)
    return held


def run(options: Options) -> Iterator[Check]:
    """Two servers, without keys and with them, each for half of the time."""
    for title in ("keys off", "keys on"):
        path, log = options.folder / "keys", options.folder / f"{title}.log"
        key = new_api_key(path, 0) if title == "keys on" else ""
        flags = ("--api-keys", path) if key else ()
        with log.open("w") as file:
            process = start(["-m", "transformer", "--serve", "--port", "0", *flags], stderr=file)
        try:
            for check in _attacked(options, process, _port(log, process), key):
                yield check.about(title)
        finally:
            process.terminate()
        code = process.wait(PATIENCE)
        said = log.read_text().splitlines()[1:]
        yield Check("SIGTERM ends it with 0", 1, int(code != 0), f"exit code {code}").about(title)
        yield Check("no text and no defect logged", 1, len(said), "; ".join(said)[:200]).about(
            title
        )


def _port(log: Path, process: Started) -> int:
    while not (found := re.search(r"http://127.0.0.1:(\d+)/", log.read_text())):
        if process.poll() is not None:
            raise RuntimeError(f"expected a server, got: {log.read_text()}")
        time.sleep(0.1)
    return int(found[1])


def _attacked(options: Options, process: Started, port: int, key: str) -> Iterator[Check]:
    campaign, seconds = Campaign(port, key, options), options.minutes * 30
    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=PATIENCE).close()
    before = resident(process)
    asyncio.run(campaign.learn())
    with ProcessPoolExecutor(1, mp.get_context("spawn")) as pool:
        health = pool.submit(watch_health, port, seconds)
        counts = asyncio.run(campaign.run(options.clients, seconds))
        times = health.result()
    after, bad = _settled(process, 1.2 * before), campaign.bad
    told = f"{counts['refused']:,} times 503, {counts['dropped']:,} connections closed"
    n_answers, n_bad = counts["right"] + counts["wrong"], counts["wrong"] + counts["silent"]
    yield Check(f"answers to {options.clients} clients are right", n_answers, n_bad, told)
    kinds = sorted(campaign.attacks.items())
    told = "; ".join(bad[:3]) or ", ".join(f"{n} {name}" for name, n in kinds)
    yield Check("attacks: no 5xx but 503, no leak", campaign.attacks.total(), len(bad), told)
    p99 = statistics.quantiles(times, n=100)[98]
    told = f"{p99:.0f} ms; median {statistics.median(times):.0f}, longest {max(times):.0f}"
    yield Check(f"/health within {HEALTH} ms (p99)", len(times), int(p99 > HEALTH), told)
    told = f"{before:.0f} MiB before, {after:.0f} after"
    yield Check("memory back to within 20 %", 1, int(after > 1.2 * before), told)
    metrics = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    metrics.request("GET", f"/metrics?api_key={key}")
    said = metrics.getresponse().read().decode()
    n_bad = said.count(MARKER) + ("translate_requests" not in said)
    yield Check("no text in /metrics", said.count("\n"), n_bad)
