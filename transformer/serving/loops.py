"""Event loops in threads of their own, for requests that compute before or after they wait.

The loop that reads and writes the connections then never waits for one of them: threads change
places after a thousandth of a second.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

N_LOOPS = 4
T = TypeVar("T")


class Loops:
    """Runs each coroutine on the loop that has the fewest; they are started when first needed."""

    def __init__(self, n: int = N_LOOPS) -> None:
        self._n = n
        self._loops: dict[asyncio.AbstractEventLoop, int] = {}  # and what runs on it

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine gives; to cancel this cancels it. Called from one loop only."""
        if len(self._loops) < self._n and all(self._loops.values()):
            self._start()
        loop = min(self._loops, key=lambda other: self._loops[other])
        self._loops[loop] += 1
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), loop))
        finally:
            self._loops[loop] -= 1

    def _start(self) -> None:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # its message may hold text
        threading.Thread(target=loop.run_forever, name="requests", daemon=True).start()
        self._loops[loop] = 0

    def close(self) -> None:
        """Ends the threads."""
        for loop in self._loops:
            loop.call_soon_threadsafe(loop.stop)
        self._loops.clear()
