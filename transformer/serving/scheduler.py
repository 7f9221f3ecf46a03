"""Sentences of many requests, translated together by one thread that takes from all by turns.

Each batch holds one sentence of every waiting request, then a second of each, until it costs what
a batch may: a short request never waits for the end of a long one. What
is done with a batch is given to it.
"""

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any

Work = Callable[[Hashable, Sequence[Any]], Sequence[Any]]
Observer = Callable[[int, float], None]  # items of a batch, seconds that it took


class QueueFull(Exception):
    """The queue holds as much as it may: try again later."""


class SchedulerStopped(Exception):
    """No new work is taken: the server is stopping."""


@dataclasses.dataclass(eq=False)
class _Job:
    """What one request has asked for, and how far it is."""

    key: Hashable
    waiting: collections.deque[tuple[int, Any]]
    results: list[Any]
    missing: int
    done: "Future[list[Any]]"

    def finish(self, place: int, result: Any) -> None:
        with contextlib.suppress(InvalidStateError):  # it was cancelled, or another item failed
            if isinstance(result, Exception):
                self.done.set_exception(result)
                return
            self.results[place] = result
            self.missing -= 1
            if not self.missing:
                self.done.set_result(self.results)


class Scheduler:
    """One thread and a queue; `start` before use, `stop` lets what was taken come to its end."""

    def __init__(
        self,
        work: Work,
        *,
        cost: Callable[[Any], int] = lambda item: 1,
        budget: int = 64,
        max_waiting: int = 10_000,
        observe: Observer = lambda size, seconds: None,
    ) -> None:
        """`work(key, items)` gives a result for each item; only items of one key go together.

        A batch takes items until they cost the budget; the items that wait are `max_waiting` at
        most, unless a lone request brings more.
        """
        self._work = work
        self._cost, self._budget = cost, budget
        self._max_waiting = max_waiting
        self._observe = observe
        self._jobs: dict[Hashable, collections.deque[_Job]] = {}  # by key, next turn first
        self._changed = threading.Condition()
        self._n_waiting = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Begins to work."""
        self._thread.start()

    def stop(self) -> None:
        """Takes nothing new, finishes what there is, and returns when all is done."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def n_waiting(self) -> int:
        """Items that no batch has taken yet."""
        return self._n_waiting

    def submit(self, key: Hashable, items: Sequence[Any]) -> "Future[list[Any]]":
        """The results of some items, in order; raises QueueFull or SchedulerStopped.

        An item that fails is the failure of the request. To cancel the future gives up what
        has not begun.
        """
        done: Future[list[Any]] = Future()
        if not items:
            done.set_result([])
            return done
        job = _Job(key, collections.deque(enumerate(items)), [None] * len(items), len(items), done)
        with self._changed:
            if self._stopping:
                raise SchedulerStopped
            if self._n_waiting and self._n_waiting + len(items) > self._max_waiting:
                raise QueueFull
            self._n_waiting += len(items)
            self._jobs.setdefault(key, collections.deque()).append(job)
            self._changed.notify()
        done.add_done_callback(lambda _: self._give_up(job))
        return done

    def _give_up(self, job: _Job) -> None:
        """Frees the places in the queue of a request that is over: failed, cancelled, or done."""
        with self._changed:
            self._n_waiting -= len(job.waiting)
            job.waiting.clear()

    def _run(self) -> None:
        while self._has_work():
            with self._changed:
                turn = self._next_batch()
            if turn[1]:
                self._do(*turn)
            del turn  # no text is held while there is nothing to do

    def _has_work(self) -> bool:
        """Waits for something to do; False where the end has come, and all is done."""
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._jobs or self._stopping) and self._jobs)

    def _next_batch(self) -> tuple[Hashable, list[tuple[_Job, int, Any]]]:
        """One item of each job of a key, then a second one, until the budget is spent."""
        key = next(iter(self._jobs))
        jobs = self._jobs.pop(key)
        batch: list[tuple[_Job, int, Any]] = []
        spent = 0
        while jobs and spent < self._budget:
            job = jobs.popleft()
            if not job.waiting:
                continue
            batch.append((job, *job.waiting.popleft()))
            spent += self._cost(batch[-1][2])
            self._n_waiting -= 1
            if job.waiting:
                jobs.append(job)
        if jobs:
            self._jobs[key] = jobs  # behind the other keys
        return key, batch

    def _do(self, key: Hashable, batch: Sequence[tuple[_Job, int, Any]]) -> None:
        started = time.perf_counter()
        results = self._attempt(key, [item for _, _, item in batch])
        self._observe(len(batch), time.perf_counter() - started)
        for (job, place, _), result in zip(batch, results, strict=True):
            job.finish(place, result)

    def _attempt(self, key: Hashable, items: Sequence[Any]) -> Sequence[Any]:
        """The results; where the batch fails, each item by itself, so that one harms no other."""
        try:
            return self._work(key, items)
        except Exception as error:
            if len(items) == 1:
                return [error]
            return [self._attempt(key, [item])[0] for item in items]
