"""How many connections may be open, and how long each may keep silent."""

import asyncio
import errno
import logging
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from transformer.serving.authorization import rate_key

HEADER_SECONDS = 15.0  # for the headers of a request, from the end of the one before
STALLED_SECONDS = 60.0  # that a client may take nothing of an answer
AT_ONCE = 2**14  # bytes that are read before others have their turn: they may be chunks of one
SPARE_FILES = 32  # for files and processes beside the connections
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\n"
    b'content-type: application/json\r\ncontent-length: 33\r\n\r\n{"error":"too many connections."}'
)
log = logging.getLogger(__name__)


class ConnectionLimits:
    """The open connections, oldest first, and those of each address."""

    def __init__(self, most: int, most_of_address: int, is_proxy: Callable[[str], bool]) -> None:
        """A proxy may open as many as there are."""
        self._most, self._most_of_address, self._is_proxy = most, most_of_address, is_proxy
        self._all: dict[Protocol, str] = {}
        self._of_address: dict[str, dict[Protocol, None]] = {}

    def enter(self, connection: "Protocol", host: str) -> bool:
        """Counts it; where there are too many, the one that has waited longest goes for it."""
        address = rate_key(host)
        own = self._of_address.get(address, {})
        if len(own) >= self._most_of_address and not self._is_proxy(host):
            crowd = [*own]
        else:
            crowd = [*self._all] if len(self._all) >= self._most else []
        if crowd:
            silent = next((other for other in crowd if other.is_waiting), None)
            if silent is None:
                return False
            self.leave(silent)
            silent.transport.abort()
        self._all[connection] = address
        self._of_address.setdefault(address, {})[connection] = None
        return True

    def leave(self, connection: "Protocol") -> None:
        """Counts it no more."""
        address = self._all.pop(connection, None)
        if address is not None:
            own = self._of_address[address]
            del own[connection]
            if not own:
                del self._of_address[address]


class Protocol(H11Protocol):
    """A connection that must ask within a time, and take its answer; `protocol_for` binds it."""

    open_connections: ConnectionLimits
    header_seconds, stalled_seconds = HEADER_SECONDS, STALLED_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Opens it, or answers 503 where there are too many."""
        transport.max_size = AT_ONCE  # type: ignore[attr-defined]
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._is_refused = not self.open_connections.enter(self, (self.client or ("", 0))[0])
        self._watch()
        if self._is_refused:
            transport.write(FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Closes it."""
        self.open_connections.leave(self)
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether no request has come that is still to be answered."""
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if not self.is_waiting:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Reads on."""
        if not self._is_refused:
            super().data_received(data)
            self._watch()

    def on_response_complete(self) -> None:
        """Waits for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client takes less than it gets."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken it."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()


def protocol_for(open_connections: ConnectionLimits) -> type[Protocol]:
    """The protocol of a server that counts its connections there."""
    return type("Protocol", (Protocol,), {"open_connections": open_connections})


def max_connections(wanted: int) -> int:
    """As many as wanted, if the system lets so many files be open; else fewer, and says so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_open = len([*Path("/dev/fd").iterdir()])
    needed = wanted + n_open + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - n_open - SPARE_FILES)
    if most < wanted:
        log.warning(
            "%d connections at most, not %d: only %d files may be open (ulimit -n)",
            max(most, 1), wanted, soft,
        )  # fmt: skip
    return max(most, 1)


def is_out_of_files(error: object) -> bool:
    """Whether the system has no file descriptor left."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


class LoopExceptionHandler:
    """Tells what goes wrong in a loop outside any request, in a line that holds no text."""

    def __init__(self) -> None:
        self._silent_until = 0.0

    def __call__(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception handler of a loop."""
        error = context.get("exception")
        if not is_out_of_files(error):
            log.error("defect: %s", type(error).__name__)
        elif time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + 60
            log.warning("no more files can be opened (ulimit -n): new connections wait")
