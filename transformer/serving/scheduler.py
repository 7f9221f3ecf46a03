"""Sentences of many requests, computed together by one thread.

A batch takes one sentence of every waiting request, then a second of each, up to its budget: a
short request never waits for the end of a long one. The scheduler knows nothing of translation;
what computes a batch is a function that it is given.
"""

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any

from transformer.serving.errors import RequestError

Compute = Callable[[Hashable, Sequence[Any]], Sequence[Any]]
Observer = Callable[[int, float], None]  # items of a batch, seconds that it took


@dataclasses.dataclass(eq=False)
class _Job:
    """The items of one request: those that wait, by their index, and the results so far."""

    waiting: collections.deque[tuple[int, Any]]
    results: list[Any]
    n_missing: int
    future: "Future[list[Any]]"

    def set_result(self, index: int, result: Any) -> None:
        with contextlib.suppress(InvalidStateError):  # it was cancelled, or another item failed
            if isinstance(result, Exception):
                self.future.set_exception(result)
                return
            self.results[index] = result
            self.n_missing -= 1
            if not self.n_missing:
                self.future.set_result(self.results)


_Batch = list[tuple[_Job, int, Any]]


class Scheduler:
    """One thread and a queue: `start` it before use; `stop` finishes what was submitted."""

    def __init__(
        self,
        compute: Compute,
        *,
        cost: Callable[[Any], int] = lambda item: 1,
        budget: int = 64,
        max_waiting: int = 10_000,
        observe: Observer = lambda size, seconds: None,
    ) -> None:
        """Set `compute(key, items)`, which returns a result for each item of a batch, all of a key.

        A batch takes items until their costs reach the budget. At most `max_waiting` items wait,
        unless a lone request brings more. `observe` gets the size and seconds of each batch.
        """
        self._compute = compute
        self._cost, self._budget = cost, budget
        self._max_waiting = max_waiting
        self._observe = observe
        self._jobs: dict[Hashable, collections.deque[_Job]] = {}  # by key, the next one first
        self._changed = threading.Condition()
        self._n_waiting = 0
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new items, finish the others, and return when all are done."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def n_waiting(self) -> int:
        """The number of items that no batch has taken yet."""
        return self._n_waiting

    def submit(self, key: Hashable, items: Sequence[Any]) -> "Future[list[Any]]":
        """Return a future of the items' results, in order; RequestError 503 if full or stopping.

        The exception of an item that fails is that of the future. Cancelling the future drops the
        items that wait.
        """
        future: Future[list[Any]] = Future()
        if not items:
            future.set_result([])
            return future
        job = _Job(collections.deque(enumerate(items)), [None] * len(items), len(items), future)
        with self._changed:
            if self._is_stopping:
                raise RequestError(503, "the server is stopping", 5.0)
            if self._n_waiting and self._n_waiting + len(items) > self._max_waiting:
                raise RequestError(503, "the queue is full: try again later", 1.0)
            self._n_waiting += len(items)
            self._jobs.setdefault(key, collections.deque()).append(job)
            self._changed.notify()
        future.add_done_callback(lambda _: self._drop_waiting(job))
        return future

    def _drop_waiting(self, job: _Job) -> None:
        """Remove, taking the lock, the waiting items of a request that is done or cancelled."""
        with self._changed:
            self._n_waiting -= len(job.waiting)
            job.waiting.clear()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._is_stopping)
                if not self._jobs:
                    return
            self._run_batch()  # a frame of its own: no text is held while nothing waits

    def _run_batch(self) -> None:
        with self._changed:
            key, batch = self._next_batch()
        if batch:
            started = time.perf_counter()
            results = self._compute_batch(key, [item for _, _, item in batch])
            self._observe(len(batch), time.perf_counter() - started)
            for (job, index, _), result in zip(batch, results, strict=True):
                job.set_result(index, result)

    def _next_batch(self) -> tuple[Hashable, _Batch]:
        """Take the next key's batch, (job, index, item) of each job in turn, with the lock held."""
        key = next(iter(self._jobs))
        jobs = self._jobs.pop(key)
        batch: _Batch = []
        cost = 0
        while jobs and cost < self._budget:
            job = jobs.popleft()
            if not job.waiting:
                continue
            batch.append((job, *job.waiting.popleft()))
            cost += self._cost(batch[-1][2])
            self._n_waiting -= 1
            if job.waiting:
                jobs.append(job)
        if jobs:
            self._jobs[key] = jobs  # behind the other keys
        return key, batch

    def _compute_batch(self, key: Hashable, items: Sequence[Any]) -> Sequence[Any]:
        """Return a batch's results; if it fails, those of each item alone, or its error."""
        try:
            return self._compute(key, items)
        except Exception as error:
            if len(items) == 1:
                return [error]
            return [self._compute_batch(key, [item])[0] for item in items]
