"""Requests share batches by turns, and none is lost, mixed up or kept waiting by another."""

import threading
import time
import weakref
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import Any

import pytest

from transformer.serving.errors import RequestError
from transformer.serving.scheduler import Scheduler


class UppercaseWorker:
    """Writes words in capitals, remembers its batches, and works only while it may."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_work = threading.Event()
        self.may_work.set()
        self.began = threading.Event()

    def __call__(self, key: Hashable, items: Sequence[Any]) -> Sequence[Any]:
        self.began.set()
        assert self.may_work.wait(30)
        self.batches.append(list(items))
        if "bad" in items:
            raise ValueError("bad")
        return [f"{key}:{item.upper()}" for item in items]


@pytest.fixture
def work() -> UppercaseWorker:
    return UppercaseWorker()


@pytest.fixture
def scheduler(work: UppercaseWorker) -> Iterator[Scheduler]:
    made = Scheduler(work, budget=4, max_waiting=20)
    made.start()
    yield made
    work.may_work.set()
    made.stop()


def block_worker(scheduler: Scheduler, work: UppercaseWorker) -> "Future[list[Any]]":
    """Keep the worker busy with one item until `work.may_work` is set; other items wait."""
    work.may_work.clear()
    first = scheduler.submit("k", ["first"])
    assert work.began.wait(30)
    return first


def test_results_come_in_order(scheduler: Scheduler) -> None:
    items = [str(i) for i in range(10)]
    assert scheduler.submit("k", items).result(30) == [f"k:{i}" for i in items]
    assert scheduler.submit("k", []).result(0) == []
    assert scheduler.n_waiting == 0


def test_a_short_request_does_not_wait_for_a_long_one(
    scheduler: Scheduler, work: UppercaseWorker
) -> None:
    block_worker(scheduler, work)
    long = scheduler.submit("k", [f"long{i}" for i in range(8)])
    short = scheduler.submit("k", ["short"])
    other = scheduler.submit("k", ["a", "b"])
    work.may_work.set()
    wait([long, short, other], 30)
    assert work.batches[1:] == [
        ["long0", "short", "a", "long1"],
        ["b", "long2", "long3", "long4"],
        ["long5", "long6", "long7"],
    ]
    assert other.result() == ["k:A", "k:B"]
    assert long.result()[7] == "k:LONG7"


def test_kinds_of_work_take_turns_and_never_share_a_batch(
    scheduler: Scheduler, work: UppercaseWorker
) -> None:
    block_worker(scheduler, work)
    one = scheduler.submit("one", list("abcdefgh"))
    two = scheduler.submit("two", ["x"])
    work.may_work.set()
    assert one.result(30)[-1] == "one:H"
    assert two.result(30) == ["two:X"]
    assert work.batches[1:] == [list("abcd"), ["x"], list("efgh")]


def test_a_batch_ends_when_its_budget_is_spent(work: UppercaseWorker) -> None:
    scheduler = Scheduler(work, cost=len, budget=6)
    done = scheduler.submit("k", ["aaaa", "bb", "c", "d" * 20, "e"])
    scheduler.start()
    done.result(30)
    scheduler.stop()
    assert work.batches == [["aaaa", "bb"], ["c", "d" * 20], ["e"]]


def test_an_item_that_fails_fails_its_own_request_only(
    scheduler: Scheduler, work: UppercaseWorker
) -> None:
    block_worker(scheduler, work)
    bad = scheduler.submit("k", ["bad", "x", "y", "z", "never"])
    good = scheduler.submit("k", ["good"])
    work.may_work.set()
    assert good.result(30) == ["k:GOOD"]
    with pytest.raises(ValueError, match="bad"):
        bad.result(30)
    assert scheduler.submit("k", ["after"]).result(30) == ["k:AFTER"]
    assert scheduler.n_waiting == 0


def test_a_full_queue_takes_no_more_and_then_again(
    scheduler: Scheduler, work: UppercaseWorker
) -> None:
    block_worker(scheduler, work)
    kept = scheduler.submit("k", ["x"] * 30)  # a lone request may be larger than the queue
    with pytest.raises(RequestError, match="the queue is full"):
        scheduler.submit("k", ["y"])
    work.may_work.set()
    kept.result(30)
    assert scheduler.submit("k", ["y"]).result(30) == ["k:Y"]


def test_what_is_cancelled_is_not_begun(scheduler: Scheduler, work: UppercaseWorker) -> None:
    block_worker(scheduler, work)
    gone = scheduler.submit("k", ["gone"] * 9)
    assert gone.cancel()
    kept = scheduler.submit("k", ["kept"])
    work.may_work.set()
    assert kept.result(30) == ["k:KEPT"]
    assert work.batches == [["first"], ["kept"]]
    assert scheduler.n_waiting == 0


def test_a_stop_answers_what_was_taken_and_takes_no_more(
    scheduler: Scheduler, work: UppercaseWorker
) -> None:
    block_worker(scheduler, work)
    taken = scheduler.submit("k", list("abcdefghij"))
    stopping = threading.Thread(target=scheduler.stop)
    stopping.start()
    while not scheduler._is_stopping:
        time.sleep(0.001)
    with pytest.raises(RequestError, match="the server is stopping"):
        scheduler.submit("k", ["late"])
    work.may_work.set()
    stopping.join(30)
    assert taken.result(0)[-1] == "k:J"


def test_a_scheduler_that_never_started_can_be_stopped(work: UppercaseWorker) -> None:
    Scheduler(work).stop()


def test_batches_are_observed(work: UppercaseWorker) -> None:
    seen: list[tuple[int, float]] = []
    scheduler = Scheduler(work, observe=lambda size, seconds: seen.append((size, seconds)))
    scheduler.start()
    scheduler.submit("k", ["a", "b"]).result(30)
    scheduler.stop()
    assert [size for size, _ in seen] == [2]


def test_what_was_done_is_not_held() -> None:
    class Text(str):
        __slots__ = ("__weakref__",)

    scheduler = Scheduler(lambda key, items: [len(item) for item in items], budget=4)
    scheduler.start()
    text = Text("of a user")
    held = weakref.ref(text)
    assert scheduler.submit("k", [text]).result(30) == [9]
    del text
    end = time.monotonic() + 30
    while held() and time.monotonic() < end:
        time.sleep(0.001)
    assert held() is None
    scheduler.stop()


def test_many_threads_each_get_their_own(scheduler: Scheduler) -> None:
    scheduler._max_waiting = 10_000
    wrong: list[str] = []

    def client(name: int) -> None:
        for i in range(20):
            items = [f"{name}-{i}-{j}" for j in range(i % 5 + 1)]
            found = scheduler.submit(f"k{name % 2}", items).result(60)
            wrong.extend(a for a, b in zip(found, items, strict=True) if not a.endswith(b))

    threads = [threading.Thread(target=client, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
