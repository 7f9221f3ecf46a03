"""Signs of life from work whose end cannot be foreseen."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def timed(work: str, log: Callable[[str], object], every: float = 10.0) -> Iterator[None]:
    """Log what begins, each `every` seconds that it goes on, and in the end how long it took."""
    start, ended = time.monotonic(), threading.Event()

    def go_on() -> None:
        while not ended.wait(every):
            log(f"{work}: {time.monotonic() - start:.0f} s so far")

    log(work)
    watch = threading.Thread(target=go_on, daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
    log(f"{work}: done in {time.monotonic() - start:.1f} s")
