"""Connections that ask nothing, never end, or are too many, harm nobody else."""

import asyncio
import errno
import json
import logging
import resource
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import started

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra `serve`")
from fastapi import FastAPI  # noqa: E402

from transformer.config import ServeConfig, UserError  # noqa: E402
from transformer.serving.app import serve  # noqa: E402
from transformer.serving.connection_limits import (  # noqa: E402
    ConnectionLimits,
    LoopExceptionHandler,
    Protocol,
    protocol_for,
)

Connect = Callable[[bytes], socket.socket]
ASK = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def large(scope: Any, receive: Any, send: Any) -> None:
    """Answers with more than a connection buffers where /large is asked for."""
    body = b"x" * (2**24 if scope.get("path") == "/large" else 2)
    head = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens connections to a server that is short of patience, and sends something there."""
    protocol = protocol_for(ConnectionLimits(6, 4, lambda host: host == "127.0.0.9"))
    protocol.header_seconds = protocol.stalled_seconds = 0.5
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(large, http=protocol, log_config=None, lifespan="off", proxy_headers=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    opened: list[socket.socket] = []

    def start(content: bytes = b"", host: str = "127.0.0.1") -> socket.socket:
        opened.append(
            socket.create_connection(listening.getsockname(), 20, source_address=(host, 0))
        )
        opened[-1].sendall(content)
        return opened[-1]

    yield start
    for connection in opened:
        connection.close()
    server.should_exit = True
    thread.join(20)
    listening.close()


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    parts = []
    try:
        while part := connection.recv(2**16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("content", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n", ASK + ASK[:9]])
def test_a_connection_that_does_not_ask_is_closed(connect: Connect, content: bytes) -> None:
    connection = connect(content)
    started = time.monotonic()
    rest(connection)
    assert time.monotonic() - started < 10


def test_headers_that_trickle_are_closed(connect: Connect) -> None:
    connection = connect(b"GET / HTTP/1.1\r\n")

    def trickle() -> None:
        for i in range(200):
            time.sleep(0.05)
            connection.sendall(b"x-%d: y\r\n" % i)

    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        trickle()


def test_a_client_that_takes_nothing_is_closed(connect: Connect) -> None:
    connection = connect(ASK.replace(b"/ ", b"/large "))
    time.sleep(2)
    assert len(rest(connection)) < 2**24


def test_little_is_read_at_once(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a body in chunks of one byte leaves the others their turns."""
    sizes: list[int] = []
    read = Protocol.data_received

    def received(self: Protocol, data: bytes) -> None:
        sizes.append(len(data))
        read(self, data)

    monkeypatch.setattr(Protocol, "data_received", received)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert connect(head + b"1\r\n \r\n" * 50_000 + b"0\r\n\r\n").recv(12) == b"HTTP/1.1 200"
    assert max(sizes) <= 2**14


def test_a_client_that_asks_again_is_answered_again(connect: Connect) -> None:
    connection = connect(b"")
    for _ in range(5):
        connection.sendall(ASK)
        while not (got := connection.recv(2**16)).endswith(b"xx"):
            assert got
        time.sleep(0.2)


def test_the_oldest_silent_connection_goes_for_a_new_one(connect: Connect) -> None:
    silent = [connect(b"") for _ in range(4)]
    assert connect(ASK).recv(15) == b"HTTP/1.1 200 OK"[:15]
    assert rest(silent[0]) == b""


class Busy:
    """A connection whose request is being answered."""

    is_idle = False


def test_where_all_are_busy_no_more_are_let_in() -> None:
    connections = ConnectionLimits(6, 4, lambda host: host == "10.0.0.1")
    first: list[Any] = [Busy() for _ in range(4)]
    assert all(connections.add(each, "10.0.0.9") for each in first)
    assert not connections.add(Busy(), "10.0.0.9")  # type: ignore[arg-type]
    others: list[Any] = [Busy() for _ in range(2)]
    assert all(connections.add(each, "10.0.0.1") for each in others)
    assert not connections.add(Busy(), "10.0.0.2")  # type: ignore[arg-type]
    connections.remove(first[0])
    assert connections.add(Busy(), "10.0.0.2")  # type: ignore[arg-type]


def test_what_goes_wrong_outside_a_request_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    handler, loop = LoopExceptionHandler(), asyncio.new_event_loop()
    for error in (OSError(errno.EMFILE, "x"), OSError(errno.EMFILE, "x"), ValueError("secreto")):
        handler(loop, {"message": "secreto", "exception": error})
    loop.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.ERROR]
    assert "no more files can be opened" in caplog.text
    assert "secreto" not in caplog.text


def test_few_descriptors_are_told_of_and_survived(random_checkpoint: Path) -> None:
    flags = ("--model", random_checkpoint, "--device", "cpu")
    few: Any = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
    with started(*flags, **few) as (process, url):
        port = int(url.rstrip("/").rpartition(":")[2])
        silent = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(90)]
        with urllib.request.urlopen(f"{url}health", timeout=20) as answer:
            assert json.loads(answer.read()) == {"status": "ok"}
        for connection in silent:
            connection.close()
        process.terminate()
        assert process.stderr is not None
        (line,) = process.stderr
        assert "only 64 files may be open" in line


@pytest.mark.parametrize("host", ["a..b", "a\udcff", "a\0b"])
def test_a_host_that_is_none_is_told_in_a_line(host: str) -> None:
    with pytest.raises(UserError, match=r"^cannot listen on "):
        serve(FastAPI(), ServeConfig(host=host, port=0), lambda url: None)
