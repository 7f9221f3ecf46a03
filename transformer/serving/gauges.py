"""What a server counts, in the format of Prometheus. Counts; never holds a text."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Gauges:
    """Counters of one server, in a registry of their own."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        labels = ("route", "status")
        self.requests = Counter("translate_requests", "requests", labels, registry=registry)
        self.seconds = Histogram(
            "translate_request_seconds", "from request to answer", ("route",), registry=registry
        )
        self.characters = Counter("translate_characters", "characters taken", registry=registry)
        self._batch = Histogram(
            "translate_batch_sentences", "sentences of a batch", registry=registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
        )  # fmt: skip
        self._batch_seconds = Histogram(
            "translate_batch_seconds", "time of a batch", registry=registry
        )
        queue = Gauge("translate_waiting_sentences", "sentences not begun", registry=registry)
        queue.set_function(waiting)

    def batch(self, size: int, seconds: float) -> None:
        """Counts a batch."""
        self._batch.observe(size)
        self._batch_seconds.observe(seconds)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
