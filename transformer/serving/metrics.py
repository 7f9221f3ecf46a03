"""What the server counts, in the format of Prometheus: numbers alone, never a client's text."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self, n_waiting: Callable[[], int]) -> None:
        """Create metrics at zero; `n_waiting` returns how many sentences wait for a batch."""
        disable_created_metrics()  # else each counter has a second series, its time of creation
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self._requests = Counter(
            "translate_requests", "requests", ("route", "status"), registry=registry
        )
        self._request_seconds = Histogram(
            "translate_request_seconds", "from request to answer", ("route",), registry=registry
        )
        self._characters = Counter("translate_characters", "characters taken", registry=registry)
        self._batch_sentences = Histogram(
            "translate_batch_sentences", "sentences of a batch",
            buckets=[2**n for n in range(8)], registry=registry,
        )  # fmt: skip
        self._batch_seconds = Histogram(
            "translate_batch_seconds", "time of a batch", registry=registry
        )
        waiting = Gauge("translate_waiting_sentences", "sentences not begun", registry=registry)
        waiting.set_function(n_waiting)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is a known path, none that a client made up."""
        self._requests.labels(route, status).inc()
        self._request_seconds.labels(route).observe(seconds)

    def count_batch(self, size: int, seconds: float) -> None:
        """Count a batch of `size` sentences, which took `seconds`."""
        self._batch_sentences.observe(size)
        self._batch_seconds.observe(seconds)

    def count_characters(self, number: int) -> None:
        """Count characters that clients sent to be translated."""
        self._characters.inc(number)

    def to_text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)
