"""A running server under load: N clients at once, each answer checked, beside one at a time.

translate serve &
python -m scripts.benchmark.serving --url http://127.0.0.1:5000 --clients 200 --seconds 60

Each client keeps a connection and asks for one sentence after the other. The right answers are
those that the server gives to one request at a time, before. Knows HTTP, and no model.
"""

import argparse
import asyncio
import itertools
import json
import re
import statistics
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.benchmark.tables import markdown
from transformer.command import Parser, run_command
from transformer.config import UserError

TEXTS = Path(__file__).resolve().parents[2] / "data" / "test.tsv"
N_TEXTS = 400
TIMEOUT = 150.0  # seconds for an answer
HEADS = ("clients", "requests/s", "p50 ms", "p95 ms", "answers", "wrong", "refused", "failed")
MEMORY = re.compile(r"^process_resident_memory_bytes (\S+)$", re.MULTILINE)


class Connection:
    """A connection to the server that is kept alive."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, path: str, fields: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """POST JSON fields, or GET; return status and body, or raise OSError without an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        body = json.dumps(fields).encode() if fields is not None else b""
        head = (
            f"{'GET' if fields is None else 'POST'} {path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(answer.partition("content-length:")[2].split()[0])
            return int(answer.split()[1]), await reader.readexactly(length)
        except (asyncio.IncompleteReadError, IndexError, ValueError) as error:
            raise ConnectionError(f"expected an answer, got {type(error).__name__}") from error

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def translate(connection: Connection, text: str, key: str = "") -> tuple[int, str]:
    """Return the status and the translation of a Spanish sentence."""
    fields = {"q": text, "source": "es", "target": "en", "api_key": key}
    status, body = await asyncio.wait_for(connection.request("/translate", fields), TIMEOUT)
    answer = json.loads(body)
    return status, str(answer.get("translatedText", answer.get("error")))


async def expected_answers(url: str, texts: Iterable[str], key: str = "") -> dict[str, str]:
    """Translate the texts one at a time; UserError where the server does not."""
    connection, answers = Connection(url), dict[str, str]()
    for text in texts:
        status, answers[text] = await translate(connection, text, key)
        if status != 200:
            raise UserError(f"expected translations from {url}, got {status}: {answers[text]}")
    connection.close()
    return answers


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The outcome of a phase of load."""

    n_clients: int
    throughput: float  # right answers a second
    times: Sequence[float]  # of the right answers, in seconds
    counts: Counter[str]  # right, wrong, refused, timeout, closed

    @property
    def n_failed(self) -> int:
        """Requests without an answer: too late, or the connection was closed."""
        return self.counts["timeout"] + self.counts["closed"]

    def row(self) -> list[str]:
        times = [1000 * taken for taken in self.times] or [0.0]
        parts = statistics.quantiles(times if times[1:] else times * 2, n=100, method="inclusive")
        counts = [str(self.counts[name]) for name in ("right", "wrong", "refused")]
        speed = f"{self.throughput:.1f}", f"{parts[49]:.0f}", f"{parts[94]:.0f}"
        return [str(self.n_clients), *speed, *counts, str(self.n_failed)]


async def load(
    url: str, expected: dict[str, str], n_clients: int, seconds: float, *,
    key: str = "", refusals: Sequence[int] = (429, 503),
) -> LoadResult:  # fmt: skip
    """Let so many clients translate for so long; the last requests are waited for."""
    texts, times, counts = list(expected), list[float](), Counter[str]()
    started = time.perf_counter()

    async def client(number: int) -> None:
        connection = Connection(url)
        for i in itertools.count(number * 7):
            sent, text = time.perf_counter(), texts[i % len(texts)]
            if sent >= started + seconds:
                break
            try:
                answer = await translate(connection, text, key)
            except OSError as error:
                counts["timeout" if isinstance(error, TimeoutError) else "closed"] += 1
                connection.close()
                continue
            if answer == (200, expected[text]):
                counts["right"] += 1
                times.append(time.perf_counter() - sent)
            else:
                counts["refused" if answer[0] in refusals else "wrong"] += 1
        connection.close()

    await asyncio.gather(*map(client, range(n_clients)))
    return LoadResult(n_clients, len(times) / (time.perf_counter() - started), times, counts)


async def sample_memory(url: str, samples: list[str], every: float = 2.0) -> None:
    """Append the server's resident memory in MiB to `samples`, until cancelled."""
    connection = Connection(url)
    while True:
        _, body = await connection.request("/metrics")
        resident = MEMORY.search(body.decode())
        samples.append(f"{float(resident[1]) / 2**20 if resident else 0:.0f}")
        await asyncio.sleep(every)


async def measure(args: argparse.Namespace) -> None:
    """Load the server by one client, then by all, and print what came out."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines()[1:]
    texts = list(dict.fromkeys(line.split("\t")[0] for line in lines))[:N_TEXTS]
    expected = await expected_answers(args.url, texts)
    alone = await load(args.url, expected, 1, args.seconds / 2)
    samples = list[str]()
    sampling = asyncio.create_task(sample_memory(args.url, samples))
    together = await load(args.url, expected, args.clients, args.seconds)
    sampling.cancel()
    print(markdown(HEADS, [alone.row(), together.row()]))
    print(f"\n{together.throughput / alone.throughput:.1f} times the throughput of one at a time")
    print(f"memory of the server, MiB, over time: {' '.join(samples)}")
    if n_bad := alone.counts["wrong"] + together.counts["wrong"] + together.n_failed:
        raise UserError(f"expected right answers only, got {n_bad} that are wrong or failed")


def main() -> None:
    """Load a server that runs already; raise UserError where there is none."""
    flags = Parser(description=__doc__)
    flags.add_argument("--url", default="http://127.0.0.1:5000", help="where the server is")
    flags.add_argument("--clients", type=int, default=200, help="at once (default: 200)")
    flags.add_argument("--seconds", type=float, default=60.0, help="of load (default: 60)")
    args = flags.parse_args()
    try:
        asyncio.run(measure(args))
    except OSError as error:
        raise UserError(f"expected a server at {args.url}: {error}; translate serve") from error


if __name__ == "__main__":
    raise SystemExit(run_command(main, "serving"))
