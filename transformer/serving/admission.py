"""The way of a request to its answer: headers and rate, then its body, then the work.

Who may not come in is refused before the body is read. What takes more than a moment is done on a
loop of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from transformer.config import ServeConfig
from transformer.serving.access import Keys, Rates, RequestError, counted_as
from transformer.serving.body import fields_of, query
from transformer.serving.loops import Loops

N_WRONG = 10  # requests with a wrong key or none in a minute, after which an address must wait
SMALL = 2048  # bytes of a request that is answered on the loop of the connections
Answer = Callable[[Request, Mapping[str, Any]], Awaitable[Response]]


def _key(request: Request) -> str:
    """The key in the headers or in the address; nothing where there is none."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else query(request).get("api_key", "")


class Admission:
    """Who may come in, how often, and how long an answer may take."""

    def __init__(self, limits: ServeConfig) -> None:
        self._limits = limits
        self._keys = Keys(Path(limits.api_keys)) if limits.api_keys else None
        self._rates, self._wrong = Rates(), Rates()
        self.loops = Loops()

    def admit(self, request: Request) -> bool:
        """Whether the headers alone let a request in; refuses one that comes too often."""
        client = counted_as(request.client.host) if request.client else "unknown"
        if self._keys is None:
            self._count(client, self._limits.per_minute)
            return True
        key = _key(request)
        if key:
            self.admit_key(request, key)
        elif (wait := self._wrong.wait(client, N_WRONG, counts=False)) > 0:
            raise RequestError(429, "Slowdown: too many requests without a key", wait)
        return bool(key)

    def admit_key(self, request: Request, key: Any, counts: bool = True) -> None:
        """Refuses a request without a key that is known, and one too many in a minute."""
        if self._keys is None:
            return
        rate = self._keys.rate(key) if isinstance(key, str) and key else None
        if rate is None:
            client = counted_as(request.client.host) if request.client else "unknown"
            wait = self._wrong.wait(client, N_WRONG)
            if wait > 0:
                raise RequestError(429, "Slowdown: too many requests without a key", wait)
            raise RequestError(403, "Invalid API key" if key else "an API key is needed: api_key")
        if counts:
            self._count(f"key {key}", rate)

    def check_key(self, request: Request) -> None:
        """Refuses a request without a key, where keys are needed; it is not counted."""
        self.admit_key(request, _key(request), counts=False)

    def _count(self, client: str, limit: int) -> None:
        wait = self._rates.wait(client, limit)
        if wait > 0:
            raise RequestError(429, f"Slowdown: more than {limit} requests a minute", wait)

    async def through(
        self, request: Request, answer: Answer, patience: float = 1, is_slow: bool = False
    ) -> Response:
        """The answer, unless the client goes or the time is over: then the work is given up."""
        is_admitted = self.admit(request)
        try:
            async with asyncio.timeout(self._limits.timeout):
                body = await request.body()  # here: what waits for it on another loop never wakes
                size = max(len(body), len(request.scope["query_string"]))
                is_slow = is_slow or size > SMALL
                fields = await self._run(lambda: fields_of(request), is_slow)
        except TimeoutError:
            raise RequestError(408, "the request did not arrive in time") from None
        if not is_admitted:
            self.admit_key(request, fields.get("api_key"))
        is_slow = is_slow or fields.get("format") == "html"
        work = asyncio.ensure_future(self._run(lambda: answer(request, fields), is_slow))
        gone = asyncio.ensure_future(_gone(request))
        seconds = self._limits.timeout * patience
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait({work, gone}, timeout=seconds, return_when=first)
            if work.done():
                return work.result()
            if gone.done():
                raise RequestError(499, "the client has gone")
            raise RequestError(503, f"no answer within {seconds:g} seconds", 1.0)
        finally:
            gone.cancel()
            work.cancel()

    async def _run(self, make: Callable[[], Awaitable[Any]], is_slow: bool) -> Any:
        async def made() -> Any:
            return await make()

        return await (self.loops.run(made) if is_slow else make())


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
