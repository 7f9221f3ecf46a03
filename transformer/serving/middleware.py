"""Around every request: its size, the headers of its answer, counting, and one clear refusal.

Plain ASGI. What a client has made up (a path, a text) is neither counted nor logged.
"""

import logging
import math
import threading
import time
import traceback
from array import array
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from transformer.config import UserError
from transformer.serving.authorization import RequestError
from transformer.serving.connection_limits import is_out_of_files
from transformer.serving.scheduler import QueueFull, SchedulerStopped

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
N_STATUSES = 600
PIECE = 2**16  # bytes of an answer that are sent at once: a connection keeps a copy of them
LONGEST = 500  # characters of a refusal, which may name what a stranger sent
HELD = 2**28  # bytes of all requests that are being read and answered, together
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # of the metrics
log = logging.getLogger(__name__)
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Distribution:
    """How many values are at most as large as each bound, and their sum; in memory that stays."""

    def __init__(self, bounds: Sequence[float] = Histogram.DEFAULT_BUCKETS) -> None:
        self._bounds = (*bounds, math.inf) if bounds[-1] < math.inf else tuple(bounds)
        self._counts, self._sum = array("q", [0] * len(self._bounds)), array("d", [0])

    def add(self, value: float) -> None:
        """Counts a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum[0] += value

    def put(self, family: HistogramMetricFamily, *labels: str) -> HistogramMetricFamily:
        """The family, with this distribution in it."""
        counts = zip(map(floatToGoString, self._bounds), accumulate(self._counts), strict=True)
        family.add_metric(labels, [*counts], self._sum[0])
        return family


class Metrics:
    """What a server counts, in the format of Prometheus; never a text.

    Counted in arrays: a new number for each request, as Prometheus's own counters have it, keeps
    the MiB of memory in which it happens to stand.
    """

    def __init__(self, waiting: Callable[[], int]) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self._waiting, self._lock = waiting, threading.Lock()
        self._statuses, self._seconds = dict[str, "array[int]"](), dict[str, Distribution]()
        self._characters = array("q", [0])
        self._batch, self._batch_seconds = Distribution([2**n for n in range(8)]), Distribution()
        registry.register(self)

    def expect(self, routes: Iterable[str]) -> None:
        """Makes room for these routes."""
        for route in routes:
            self._statuses[route] = array("q", [0] * N_STATUSES)
            self._seconds[route] = Distribution()

    def batch(self, size: int, seconds: float) -> None:
        """Counts a batch."""
        with self._lock:
            self._batch.add(size)
            self._batch_seconds.add(seconds)

    def characters(self, number: int) -> None:
        """Counts characters that were taken."""
        with self._lock:
            self._characters[0] += number

    def request(self, route: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        with self._lock:
            self._statuses[route][status] += 1
            self._seconds[route].add(seconds)

    def collect(self) -> Iterator[Metric]:
        """All of it, as Prometheus's library asks for it."""
        requests = CounterMetricFamily("translate_requests", "requests", labels=("route", "status"))
        seconds = HistogramMetricFamily(
            "translate_request_seconds", "from request to answer", labels=("route",)
        )
        for route, counts in self._statuses.items():
            for status, count in enumerate(counts):
                if count:
                    requests.add_metric((route, str(status)), count)
            if any(counts):
                self._seconds[route].put(seconds, route)
        yield from (requests, seconds)
        taken = self._characters[0]
        yield CounterMetricFamily("translate_characters", "characters taken", taken)
        of_batch = HistogramMetricFamily("translate_batch_sentences", "sentences of a batch")
        yield self._batch.put(of_batch)
        of_batch = HistogramMetricFamily("translate_batch_seconds", "time of a batch")
        yield self._batch_seconds.put(of_batch)
        name = "translate_waiting_sentences"
        yield GaugeMetricFamily(name, "sentences not begun", self._waiting())

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class RequestMiddleware:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: Callable[[Message, Receive, Send], Awaitable[None]],
        *,
        most: Callable[[str, bytes], int],
        count: Callable[[str, int, float], None],
        name: Callable[[str], str],
    ) -> None:
        """`name` is what a path is counted as, `most` how many bytes of a type may come there."""
        self._app, self._most, self._count, self._name = app, most, count, name
        self._held = 0  # bytes, of all requests

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on and its answer back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, size = time.perf_counter(), 0, 0
        route = self._name(scope["path"])
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        most = self._most(route, kind)

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            more = len(message.get("body", b""))
            size += more
            self._held += more
            _check(size, most)
            if self._held > max(HELD, 4 * most):
                raise RequestError(503, "too many large requests: try again later", 1.0)
            return message

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                new = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *new]
            body = message.get("body", b"")
            last = max(0, (len(body) - 1) // PIECE * PIECE)
            for start in range(0, last, PIECE):  # each when the client has taken what came before
                part = body[start : start + PIECE]
                await send({**message, "body": part, "more_body": True})
            await send({**message, "body": body[last:]} if last else message)

        try:
            length = headers.get(b"content-length", b"")
            _check(int(length) if length.isdigit() else 0, most)
            await self._app(scope, limited, marked)
        except Exception as error:
            if status:  # the answer has begun, and will not be whole
                error_response(error)
            else:
                await error_response(error)(scope, limited, marked)
        finally:
            self._held -= size
            taken = time.perf_counter() - started
            self._count(route, status, taken)
            log.info("%s %s %d %.0f ms", scope["method"], route, status, 1000 * taken)


def _check(size: int, most: int) -> None:
    if size > most:
        raise RequestError(413, f"the request exceeds {most} bytes")


def error_response(error: Exception) -> JSONResponse:
    """The answer that an exception becomes: a line, and when to come again; no defect is told."""
    match error:
        case RequestError():
            status, why, after = error.status, error.why, error.retry_after
        case UserError():
            status, why, after = 400, str(error), None
        case QueueFull():
            status, why, after = 503, "the queue is full: try again later", 1.0
        case SchedulerStopped():
            status, why, after = 503, "the server is stopping", 5.0
        case ClientDisconnect():
            status, why, after = 499, "the client has gone", None
        case OSError() if is_out_of_files(error):
            status, why, after = 503, "the server has too many files open", 5.0
        case _ if hasattr(error, "status_code"):  # of the framework
            status, why, after = error.status_code, str(getattr(error, "detail", "")), None
        case _:
            where = traceback.extract_tb(error.__traceback__)[-1:]  # its message may hold text
            at = "".join(f" at {frame.filename}:{frame.lineno}" for frame in where)
            log.error("defect: %s%s", type(error).__name__, at)
            status, why, after = 500, "the server has a defect", None
    why = " ".join(why.encode(errors="replace").decode().split())[:LONGEST]
    headers = {"Retry-After": str(max(1, round(after)))} if after is not None else None
    return JSONResponse({"error": why}, status, headers)
