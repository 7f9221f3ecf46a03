"""A running server under load: N clients at once, each answer checked, beside one at a time.

translate serve &
python -m scripts.benchmark.serving --url http://127.0.0.1:5000 --clients 200 --seconds 60

Each client keeps a connection and asks for one sentence after the other. The right answers are
those that the server gives to one request at a time, before. Knows HTTP, and no model.
"""

import argparse
import asyncio
import dataclasses
import itertools
import json
import re
import statistics
import time
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark.tables import markdown
from transformer.command import Parser, run_command
from transformer.config import UserError

TEXTS = Path(__file__).resolve().parents[2] / "data" / "test.tsv"
N_TEXTS = 400
PATIENCE = 150.0  # seconds for an answer
HEADS = ("clients", "requests/s", "p50 ms", "p95 ms", "answers", "wrong", "refused", "failed")
MEMORY = re.compile(r"^process_resident_memory_bytes (\S+)$", re.MULTILINE)


class Connection:
    """One kept connection to the server."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, fields: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """Status and body of an answer; raises OSError where there is none."""
        if self._pipe is None:
            self._pipe = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._pipe
        body = json.dumps(fields).encode() if fields is not None else b""
        writer.write(
            f"{'GET' if fields is None else 'POST'} {path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length:")[2].split()[0])
            return int(head.split()[1]), await reader.readexactly(length)
        except (asyncio.IncompleteReadError, IndexError, ValueError) as error:
            raise ConnectionError(f"expected an answer, got {type(error).__name__}") from error

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe[1].close()
            self._pipe = None


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """What a phase of load came to."""

    n_clients: int
    seconds: float
    times: Sequence[float]  # of the right answers, in seconds
    counts: Counter[str]  # right, wrong, refused, silent, dropped

    @property
    def throughput(self) -> float:
        return len(self.times) / self.seconds

    @property
    def n_failed(self) -> int:
        """Requests without an answer: too late, or the connection was closed."""
        return self.counts["silent"] + self.counts["dropped"]

    def row(self) -> list[str]:
        times = [1000 * taken for taken in self.times] or [0.0]
        parts = statistics.quantiles(times if times[1:] else times * 2, n=100, method="inclusive")
        counts = [str(self.counts[name]) for name in ("right", "wrong", "refused")]
        return [
            str(self.n_clients), f"{self.throughput:.1f}", f"{parts[49]:.0f}", f"{parts[94]:.0f}",
            *counts, str(self.n_failed),
        ]  # fmt: skip


async def translated(connection: Connection, text: str, key: str = "") -> tuple[int, str]:
    """Status and translation of a sentence."""
    fields = {"q": text, "source": "es", "target": "en", "api_key": key}
    status, body = await asyncio.wait_for(connection.ask("/translate", fields), PATIENCE)
    answer = json.loads(body)
    return status, str(answer.get("translatedText", answer.get("error")))


async def load(
    url: str, right: dict[str, str], n_clients: int, seconds: float, *,
    key: str = "", refusals: Sequence[int] = (429, 503),
) -> Loaded:  # fmt: skip
    """So many clients for so long; the last requests are waited for."""
    texts = list(right)
    times: list[float] = []
    counts: Counter[str] = Counter()
    started = time.perf_counter()

    async def client(number: int) -> None:
        connection = Connection(url)
        for i in itertools.count(number * 7):
            asked, text = time.perf_counter(), texts[i % len(texts)]
            if asked >= started + seconds:
                break
            try:
                answer = await translated(connection, text, key)
            except OSError as error:
                counts["silent" if isinstance(error, TimeoutError) else "dropped"] += 1
                connection.close()
                continue
            if answer == (200, right[text]):
                counts["right"] += 1
                times.append(time.perf_counter() - asked)
            else:
                counts["refused" if answer[0] in refusals else "wrong"] += 1
        connection.close()

    await asyncio.gather(*map(client, range(n_clients)))
    return Loaded(n_clients, time.perf_counter() - started, times, counts)


async def memory(url: str, seen: list[float], every: float = 2.0) -> None:
    """Notes the server's resident memory in MiB, again and again."""
    connection = Connection(url)
    while True:
        _, body = await connection.ask("/metrics")
        resident = MEMORY.search(body.decode())
        seen.append(float(resident[1]) / 2**20 if resident else 0.0)
        await asyncio.sleep(every)


async def measured(args: argparse.Namespace) -> None:
    """Both phases, one after the other, and what came out."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines()[1:]
    texts = list(dict.fromkeys(line.split("\t")[0] for line in lines))[:N_TEXTS]
    connection = Connection(args.url)
    right: dict[str, str] = {}
    for text in texts:
        status, answer = await translated(connection, text)
        if status != 200:
            raise UserError(f"expected translations from {args.url}, got {status}: {answer}")
        right[text] = answer
    connection.close()
    alone = await load(args.url, right, 1, args.seconds / 2)
    seen: list[float] = []
    watching = asyncio.create_task(memory(args.url, seen))
    together = await load(args.url, right, args.clients, args.seconds)
    watching.cancel()
    print(markdown(HEADS, [alone.row(), together.row()]))
    print(f"\n{together.throughput / alone.throughput:.1f} times the throughput of one at a time")
    print(f"memory of the server, MiB, over time: {' '.join(f'{mib:.0f}' for mib in seen)}")
    bad = alone.counts["wrong"] + together.counts["wrong"] + together.n_failed
    if bad:
        raise UserError(f"expected right answers only, got {bad} that are wrong or failed")


def main() -> None:
    """Asks a server that runs already; raises UserError where there is none."""
    flags = Parser(description=__doc__)
    flags.add_argument("--url", default="http://127.0.0.1:5000", help="where the server is")
    flags.add_argument("--clients", type=int, default=200, help="at once (default: 200)")
    flags.add_argument("--seconds", type=float, default=60.0, help="of load (default: 60)")
    args = flags.parse_args()
    try:
        asyncio.run(measured(args))
    except OSError as error:
        raise UserError(f"expected a server at {args.url}: {error}. translate --serve") from error


if __name__ == "__main__":
    raise SystemExit(run_command(main, "serving"))
