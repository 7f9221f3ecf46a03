"""The way of a request to its answer: authorization, fields, then the work.

Headers are checked before the body is read. Work of more than a moment runs on an event loop in
another thread, so that the loop of the connections never waits for it.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from transformer.config import ServeConfig
from transformer.serving.authorization import Authorizer
from transformer.serving.errors import RequestError
from transformer.serving.request_parsing import parse_fields

N_LOOPS = 4  # besides that of the connections
MAX_QUICK = 2048  # bytes of a request that may be answered on the loop of the connections
Answer = Callable[[Request, Mapping[str, Any]], Coroutine[Any, Any, Response]]
T = TypeVar("T")


class Dispatcher:
    """Authorizes requests, reads their fields, and runs their answers within the timeout."""

    def __init__(self, limits: ServeConfig) -> None:
        self._timeout = limits.timeout
        self.authorizer, self.loops = Authorizer(limits), EventLoopPool()

    async def dispatch(
        self, request: Request, answer: Answer, patience: float = 1, is_slow: bool = False
    ) -> Response:
        """Read a request's fields, and return the response of `await answer(request, fields)`.

        The answer has `patience` times the timeout of ServeConfig; if the client goes, it is
        cancelled. With `is_slow`, HTML or more than MAX_QUICK bytes it runs in another thread, on a
        loop of the pool, and holds up no connection. Raises RequestError with a status: 408 if the
        request did not arrive in the timeout, 499 if the client has gone, 503 if there was no
        answer in time; or the error of the authorizer or of `answer`.
        """
        is_authorized = self.authorizer.check_headers(request)
        try:
            async with asyncio.timeout(self._timeout):
                body = await request.body()  # a loop of the pool would wait for it forever
                size = max(len(body), len(request.scope["query_string"]))
                is_slow = is_slow or size > MAX_QUICK
                fields = await self._run(parse_fields(request), is_slow)
        except TimeoutError:
            raise RequestError(408, "the request did not arrive in time") from None
        if not is_authorized:
            self.authorizer.check_key(request, fields.get("api_key"))
        is_slow = is_slow or fields.get("format") == "html"
        work = asyncio.ensure_future(self._run(answer(request, fields), is_slow))
        disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
        seconds = self._timeout * patience
        try:
            await asyncio.wait(
                {work, disconnect}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if work.done():
                return work.result()
            if disconnect.done():
                raise RequestError(499, "the client has gone")
            raise RequestError(503, f"no answer within {seconds:g} seconds", 1.0)
        finally:
            disconnect.cancel()
            work.cancel()

    async def _run(self, coroutine: Coroutine[Any, Any, T], is_slow: bool) -> T:
        return await (self.loops.run(coroutine) if is_slow else coroutine)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventLoopPool:
    """Event loops in threads of their own, for coroutines that compute before or after they wait.

    A coroutine runs on the loop that has the fewest.
    """

    def __init__(self) -> None:
        self._n_running: dict[asyncio.AbstractEventLoop, int] = {}

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine in the pool, cancelled with the call; always call from one loop."""
        if not self._n_running:
            self._start()
        loop = min(self._n_running, key=lambda other: self._n_running[other])
        self._n_running[loop] += 1
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))
        finally:
            self._n_running[loop] -= 1

    def _start(self) -> None:
        for _ in range(N_LOOPS):
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # its message may hold text
            loop.set_default_executor(ThreadPoolExecutor(1))  # for the downloads, a moment each
            threading.Thread(target=_run_loop, args=(loop,), name="requests", daemon=True).start()
            self._n_running[loop] = 0

    def close(self) -> None:
        """Tell the threads to end, without waiting; coroutines that still run are abandoned."""
        for loop in self._n_running:
            loop.call_soon_threadsafe(loop.stop)
        self._n_running.clear()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
