"""ASGI middleware: limits on the size of requests, headers of answers, metrics, log lines, errors.

Text that a client can choose (a path, a text) is neither counted nor logged.
"""

import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from transformer.serving.errors import RequestError, error_response

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
CHUNK = 2**16  # bytes of an answer that are sent at once: a connection keeps a copy of them
MAX_HELD = 2**28  # bytes of all requests that are being read and answered, together
log = logging.getLogger(__name__)
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class RequestMiddleware:
    """ASGI middleware that limits, counts and logs the requests of an application."""

    def __init__(
        self,
        app: Callable[[Message, Receive, Send], Awaitable[None]],
        *,
        max_bytes: Callable[[str, bytes], int],
        count: Callable[[str, int, float], None],
        route_name: Callable[[str], str],
    ) -> None:
        """Wrap `app`.

        `route_name` maps a path to the route that is counted and logged, `max_bytes` a route and
        a media type to the largest body; `count` gets route, status and seconds of each answer.
        """
        self._app, self._max_bytes, self._count = app, max_bytes, count
        self._route_name = route_name
        self._held = 0  # bytes, of all requests

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on and its answer back, with HEADERS and in chunks; count and log it.

        A body above `max_bytes` is answered with 413, with 503 while all bodies together exceed
        MAX_HELD, an exception as `error_response` does.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, size = time.perf_counter(), 0, 0
        route = self._route_name(scope["path"])
        headers = dict(scope["headers"])
        media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        max_bytes = self._max_bytes(route, media_type)

        async def receive_limited() -> Message:
            nonlocal size
            message = await receive()
            n_bytes = len(message.get("body", b""))
            size += n_bytes
            self._held += n_bytes
            _check_size(size, max_bytes)
            if self._held > max(MAX_HELD, 4 * max_bytes):
                raise RequestError(503, "too many large requests: try again later", 1.0)
            return message

        async def send_in_chunks(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                new = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *new]
            body = message.get("body", b"")
            last = max(0, (len(body) - 1) // CHUNK * CHUNK)
            for start in range(0, last, CHUNK):  # each when the client has taken the one before
                chunk = body[start : start + CHUNK]
                await send({**message, "body": chunk, "more_body": True})
            await send({**message, "body": body[last:]} if last else message)

        try:
            length = headers.get(b"content-length", b"")
            _check_size(int(length) if length.isdigit() else 0, max_bytes)
            await self._app(scope, receive_limited, send_in_chunks)
        except Exception as error:
            response = error_response(error)
            if not status:  # else the answer has begun, and stays incomplete
                await response(scope, receive_limited, send_in_chunks)
        finally:
            self._held -= size
            seconds = time.perf_counter() - started
            self._count(route, status, seconds)
            log.info("%s %s %d %.0f ms", scope["method"], route, status, 1000 * seconds)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise RequestError(413, f"the request exceeds {max_bytes} bytes")


class ProxyMiddleware(ProxyHeadersMiddleware):
    """Applies forwarding headers of proxies in `trusted_hosts`, addresses or networks, only.

    Sets `own_host` in the scope, by which the client knows this server: "host" or "host:port".
    """

    def __init__(self, app: Any, trusted_hosts: list[str]) -> None:
        super().__init__(app, trusted_hosts)
        self._has_proxies = bool(trusted_hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Set `own_host` in a request's scope, apply a trusted proxy's headers, and pass it on."""
        if scope["type"] == "http":
            host = ""
            if self._has_proxies and scope["client"] and scope["client"][0] in self.trusted_hosts:
                headers = {name: value.decode("latin1") for name, value in scope["headers"]}
                host = headers.get(b"x-forwarded-host") or headers.get(b"host", "")
            if not re.fullmatch(r"[\w.-]{1,255}(:\d{1,5})?|\[[\da-fA-F:.]+\](:\d{1,5})?", host):
                name, port = scope["server"] or ("localhost", None)
                name = f"[{name}]" if ":" in name else name
                host = f"{name}:{port}" if port else name
            scope["own_host"] = host
        # Without proxies the server keeps no client's address for longer than its connection.
        await (super().__call__ if self._has_proxies else self.app)(scope, receive, send)
