"""The way of a request to its answer: headers and rate, then its fields, then the work.

Who may not come in is refused before the body is read. What takes more than a moment is done on a
loop of its own.
"""

import asyncio
import json
import re
import threading
import urllib.parse
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from transformer.config import ServeConfig
from transformer.serving.authorization import ApiKeys, RateLimiter, RequestError, rate_key
from transformer.serving.schema import Upload

N_WRONG = 10  # requests with a wrong key or none in a minute, after which an address must wait
N_FIELDS = 100  # of a form
N_LOOPS = 4  # beside that of the connections
_TEXT_FIELD = re.compile(r"q(?:\[\d*\])?")  # of one text or, as PHP sends it, of a list
SMALL = 2048  # bytes of a request that is answered on the loop of the connections
Answer = Callable[[Request, Mapping[str, Any]], Awaitable[Response]]
T = TypeVar("T")


def _key(request: Request) -> str:
    """The key in the headers or in the address; nothing where there is none."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else query(request).get("api_key", "")


def _client(request: Request) -> str:
    return rate_key(request.client.host) if request.client else "unknown"


class Dispatcher:
    """Who may come in, how often, and how long an answer may take."""

    def __init__(self, limits: ServeConfig) -> None:
        self._limits = limits
        self._keys = ApiKeys(Path(limits.api_keys)) if limits.api_keys else None
        self._rates, self._wrong = RateLimiter(), RateLimiter()
        self.loops = EventLoopPool()

    def admit(self, request: Request) -> bool:
        """Whether the headers alone let a request in; refuses one that comes too often."""
        if self._keys is None:
            self._count(_client(request), self._limits.per_minute)
            return True
        key = _key(request)
        if key:
            self.admit_key(request, key)
        else:
            self._throttle_failed_logins(request, counts=False)
        return bool(key)

    def admit_key(self, request: Request, key: Any, counts: bool = True) -> None:
        """Refuses a request without a key that is known, and one too many in a minute."""
        if self._keys is None:
            return
        rate = self._keys.rate(key) if isinstance(key, str) and key else None
        if rate is None:
            self._throttle_failed_logins(request)
            raise RequestError(403, "Invalid API key" if key else "an API key is needed: api_key")
        if counts:
            self._count(f"key {key}", rate)

    def check_key(self, request: Request) -> None:
        """Refuses a request without a key, where keys are needed; it is not counted."""
        self.admit_key(request, _key(request), counts=False)

    def _throttle_failed_logins(self, request: Request, counts: bool = True) -> None:
        wait = self._wrong.wait(_client(request), N_WRONG, counts)
        if wait > 0:
            raise RequestError(429, "Slowdown: too many requests without a key", wait)

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


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


class EventLoopPool:
    """Event loops in threads of their own, for what computes before or after it waits.

    Each coroutine runs on the loop that has the fewest. The loop of the connections never waits
    for one of them: threads change places after a thousandth of a second.
    """

    def __init__(self, n: int = N_LOOPS) -> None:
        self._n = n
        self._loops: dict[asyncio.AbstractEventLoop, int] = {}  # and what runs on it

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine gives; to cancel this cancels it. Called from one loop only."""
        if not self._loops:
            self.start()
        loop = min(self._loops, key=lambda other: self._loops[other])
        self._loops[loop] += 1
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), loop))
        finally:
            self._loops[loop] -= 1

    def start(self) -> None:
        """Starts the threads."""
        for _ in range(self._n):
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # its message may hold text
            loop.set_default_executor(ThreadPoolExecutor(1))  # for the outbox, a moment each
            threading.Thread(target=_run, args=(loop,), name="requests", daemon=True).start()
            self._loops[loop] = 0

    def __iter__(self) -> Iterator[asyncio.AbstractEventLoop]:
        return iter(self._loops)

    def close(self) -> None:
        """Ends the threads."""
        for loop in self._loops:
            loop.call_soon_threadsafe(loop.stop)
        self._loops.clear()


async def fields_of(request: Request) -> Mapping[str, Any]:
    """The fields of a request: a JSON object, or a form and the query."""
    if "json" in request.headers.get("content-type", ""):
        return json_object(await request.body())
    fields = query(request)
    if "multipart" in request.headers.get("content-type", ""):
        form = request.form(max_files=1, max_fields=N_FIELDS, max_part_size=2**20)
        pairs: list[tuple[str, Any]] = []
        async with form as parts:
            for name, value in parts.multi_items():
                if isinstance(value, UploadFile):
                    pairs.append((name, Upload(value.filename or "", await value.read())))
                else:
                    pairs.append((name, value))
    else:
        pairs = _form(await request.body())
    return fields | _fields(pairs)


def query(request: Request) -> dict[str, Any]:
    """The fields that stand in the address."""
    return _fields(_form(request.scope["query_string"]))


def _form(body: bytes) -> list[tuple[str, Any]]:
    """The fields of a form, percent-encoded or in plain UTF-8."""
    try:
        return urllib.parse.parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=N_FIELDS
        )
    except ValueError:
        raise RequestError(
            400, f"Invalid request: expected JSON or a form in UTF-8 of {N_FIELDS} fields at most"
        ) from None


def _fields(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a form by their names; several texts, or a JSON list of them, are a list."""
    fields, texts = dict[str, Any](), list[Any]()
    is_list = False
    for name, value in pairs:
        if _TEXT_FIELD.fullmatch(name):
            texts.append("\n".join(value.splitlines()) if isinstance(value, str) else value)
            is_list |= name != "q" or len(texts) > 1
        else:
            fields[name] = value
    if texts:
        fields["q"] = texts if is_list else _listed(texts[0]) or texts[0]
    return fields


def _listed(text: Any) -> list[str] | None:
    """The texts of a JSON list of strings; None for what is a text itself."""
    try:
        texts = json.loads(text) if isinstance(text, str) and text[:1] == "[" else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return None
    _check_unicode(texts)
    return texts


def json_object(body: bytes) -> dict[str, Any]:
    """The object that a JSON body holds; anything else is refused.

    Python's scanner of Python: that in C lets no other thread work until it is through.
    """
    try:
        fields = json.loads(body, cls=_Decoder)
    except (ValueError, RecursionError):
        raise RequestError(400, "Invalid request: expected JSON") from None
    if not isinstance(fields, dict):
        raise RequestError(400, "Invalid request: expected a JSON object")
    for value in fields.values():
        _check_unicode(value if isinstance(value, list) else [value])
    return fields


class _Decoder(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__()
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _check_unicode(values: Sequence[Any]) -> None:
    try:
        for value in values:
            if isinstance(value, str):
                value.encode()
    except UnicodeEncodeError:
        raise RequestError(400, "Invalid request: expected text in Unicode") from None
