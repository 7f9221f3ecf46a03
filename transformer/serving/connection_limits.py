"""How many connections may be open, and how long each may be silent."""

import asyncio
import logging
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from transformer.serving.authorization import rate_key
from transformer.serving.errors import is_out_of_files

HEADER_SECONDS = 15.0  # for the headers of a request, from the end of the one before
STALLED_SECONDS = 60.0  # that a client may take nothing of an answer
READ_BYTES = 2**14  # read before others have their turn: they may be chunks of one byte
SPARE_FILES = 32  # for files and processes besides the connections
UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\n"
    b'content-type: application/json\r\ncontent-length: 33\r\n\r\n{"error":"too many connections."}'
)
log = logging.getLogger(__name__)


class ConnectionLimits:
    """The open connections, oldest first, in all and of each address."""

    def __init__(
        self, max_total: int, max_per_address: int, is_proxy: Callable[[str], bool]
    ) -> None:
        """Set the limits; a proxy's connections are limited in total only."""
        self._max_total, self._max_per_address = max_total, max_per_address
        self._is_proxy = is_proxy
        self._addresses: dict[Protocol, str] = {}
        self._by_address: dict[str, dict[Protocol, None]] = {}

    def add(self, connection: "Protocol", host: str) -> bool:
        """Add a connection and return True, or return False if there are too many.

        At a limit the oldest connection without an open request is closed for the new one.
        """
        address = rate_key(host)
        own = self._by_address.get(address, {})
        crowd: list[Protocol] = []
        if len(own) >= self._max_per_address and not self._is_proxy(host):
            crowd = [*own]
        elif len(self._addresses) >= self._max_total:
            crowd = [*self._addresses]
        if crowd:
            idle = next((other for other in crowd if other.is_idle), None)
            if idle is None:
                return False
            self.remove(idle)
            idle.transport.abort()
        self._addresses[connection] = address
        self._by_address.setdefault(address, {})[connection] = None
        return True

    def remove(self, connection: "Protocol") -> None:
        """Remove a connection, if it was added."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            own = self._by_address[address]
            del own[connection]
            if not own:
                del self._by_address[address]


class Protocol(H11Protocol):
    """A connection with deadlines for requests and answers; `protocol_for` gives it its limits."""

    limits: ConnectionLimits
    header_seconds, stalled_seconds = HEADER_SECONDS, STALLED_SECONDS
    _request_timer: asyncio.TimerHandle | None = None
    _answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open the connection; if there are too many, answer 503 and close it."""
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]
        super().connection_made(transport)
        self._is_refused = not self.limits.add(self, (self.client or ("", 0))[0])
        self._watch()
        if self._is_refused:
            transport.write(UNAVAILABLE)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        self.limits.remove(self)
        for timer in (self._request_timer, self._answer_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for the end of its answer."""
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        """Start the deadline of the next request, or stop the deadline of one that has come."""
        if self.is_idle and self._request_timer is None:
            self._request_timer = self.loop.call_later(self.header_seconds, self.transport.abort)
        elif not self.is_idle and self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def data_received(self, data: bytes) -> None:
        """Read data of an accepted connection."""
        if not self._is_refused:
            super().data_received(data)
            self._watch()

    def on_response_complete(self) -> None:
        """Start the deadline of the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Start the deadline of a client that does not read: past it, the connection is closed."""
        super().pause_writing()
        self._answer_timer = self.loop.call_later(self.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the deadline: the client has taken the answer."""
        super().resume_writing()
        if self._answer_timer is not None:
            self._answer_timer.cancel()


def protocol_for(limits: ConnectionLimits) -> type[Protocol]:
    """Return a subclass of `Protocol` with these limits, for uvicorn to use."""
    return type("Protocol", (Protocol,), {"limits": limits})


def max_connections(requested: int) -> int:
    """Return how many connections may be open, and raise the system's limit of files if needed.

    They are fewer than requested, with a warning, if the system does not allow enough files.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return requested
    others = len([*Path("/dev/fd").iterdir()]) + SPARE_FILES
    if soft < requested + others:
        limit = requested + others
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = max(1, min(requested, soft - others))
    if allowed < requested:
        log.warning(
            "%d connections at most, not %d: only %d files may be open (ulimit -n)",
            allowed, requested, soft,
        )  # fmt: skip
    return allowed


class LoopExceptionHandler:
    """Logs the type of an error in an event loop outside any request, never its message."""

    def __init__(self) -> None:
        self._silent_until = 0.0

    def __call__(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error; the lack of file descriptors is logged at most once a minute."""
        error = context.get("exception")
        if not is_out_of_files(error):
            log.error("defect: %s", type(error).__name__)
        elif time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + 60
            log.warning("no more files can be opened (ulimit -n): new connections wait")
