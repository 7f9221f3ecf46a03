"""Who may not come in is refused by the headers alone, and no request holds up the others."""

import asyncio
import gc
import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import ES_EN, TEXT, Call
from transformer.serving import api
from transformer.serving.authorization import new_api_key, rate_key


class Body:
    """A body that records whether it was read."""

    was_read = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.was_read = True
        yield b"{}"


def status_unread(client: Any, path: str = "/translate", **headers: str) -> int:
    """The status of a request whose body is not read."""
    body = Body()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = client("POST", path, content=body, headers=headers)
    assert not body.was_read
    return int(answer.status_code)


def test_who_may_not_come_in_sends_no_body(make: Call, tmp_path: Path) -> None:
    key = new_api_key(tmp_path / "keys", 1)
    few = {"char_limit": 1000, "batch_limit": 1, "glossary_limit": 1}
    client = make(begin=False, api_keys=str(tmp_path / "keys"), **few)
    assert status_unread(client, authorization="Bearer guess") == 403
    assert status_unread(client, "/translate?api_key=guess") == 403
    assert status_unread(client, content_length=str(10**5)) == 413
    assert status_unread(client, "/translate_file", content_length=str(10**8)) == 413
    named = {"authorization": f"bearer {key}"}
    assert client("POST", "/translate", json={}, headers=named).status_code == 400
    assert status_unread(client, authorization=f"Bearer {key}") == 429
    rare = make(begin=False, per_minute=1)
    assert rare("POST", "/detect", json={"q": TEXT}).status_code == 200
    assert status_unread(rare) == 429


def test_only_the_route_of_files_takes_megabytes(make: Call) -> None:
    client = make(begin=False)
    content = {"file": ("a.bin", b"\0" * 2**20)}
    assert client("POST", "/translate", data=ES_EN, files=content).status_code == 413
    assert client("POST", "/translate_file", data=ES_EN, files=content).status_code == 400
    for kind in ("application/json", "application/x-www-form-urlencoded"):
        headers = {"content-type": kind, "content-length": str(2**20)}
        assert client("POST", "/translate_file", content=b"q=", headers=headers).status_code == 413
    longest = json.dumps({"q": "😀" * 20_000}).encode()
    assert client("POST", "/detect", content=longest, headers=JSON).status_code == 200


JSON = {"content-type": "application/json"}


def test_wrong_keys_are_slowed_and_right_ones_are_not(make: Call, tmp_path: Path) -> None:
    key = new_api_key(tmp_path / "keys", 0)
    client = make(begin=False, api_keys=str(tmp_path / "keys"))
    found = [client.post("/detect", q=TEXT, api_key=f"{i}").status_code for i in range(12)]
    assert found == [403] * 10 + [429] * 2
    assert status_unread(client) == 429
    named = {"authorization": f"Bearer {key}"}
    answer = client("POST", "/detect", json={"q": TEXT}, headers=named)
    assert answer.status_code == 200


def test_metrics_need_a_key_where_keys_are_needed(make: Call, tmp_path: Path) -> None:
    key = new_api_key(tmp_path / "keys", 1)
    client = make(begin=False, api_keys=str(tmp_path / "keys"))
    assert client("GET", "/metrics").status_code == 403
    named = {"authorization": f"Bearer {key}"}
    answers = [client("GET", "/metrics", headers=named) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert client("GET", "/health").status_code == 200


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/translate", {"q": TEXT, "source": "\ud800", "target": "en"}),
        ("/translate", {"q": TEXT, "source": "es", "target": "\udfff"}),
        ("/translate", {"q": [TEXT, "\ud800"], **ES_EN}),
        ("/translate", {"q": TEXT, "format": "\ud800", "alternatives": "\udc00", **ES_EN}),
        ("/inspect", {"q": TEXT, "source": "\ud800", "target": "en"}),
        ("/alternatives", {"q": "\ud800", **ES_EN}),
        ("/continue_after", {"q": TEXT, "prefix": ["\ud800"], **ES_EN}),
        ("/detect", {"q": "\ud800"}),
    ],
)
def test_half_a_character_is_400_in_any_field(client: Any, path: str, fields: Any) -> None:
    answer = client("POST", path, content=json.dumps(fields).encode(), headers=JSON)
    assert answer.status_code == 400
    assert "expected text in Unicode" in answer.json()["error"]


def test_a_client_that_hangs_up_is_no_defect(make: Call, caplog: pytest.LogCaptureFixture) -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    scope = {
        "type": "http", "method": "POST", "path": "/translate", "raw_path": b"/translate",
        "query_string": b"", "headers": [(b"content-length", b"9")], "server": None,
        "client": ("10.0.0.1", 1), "scheme": "http", "root_path": "", "http_version": "1.1",
    }  # fmt: skip
    caplog.set_level(logging.INFO, "transformer")
    asyncio.run(make(begin=False).app(scope, receive, send))
    assert [r.getMessage().split(" ")[2] for r in caplog.records] == ["499"]


def test_an_answer_is_sent_in_pieces() -> None:
    """What a client does not take waits here once, and not with its connection again."""
    middleware = pytest.importorskip("transformer.serving.middleware")
    answers = [b"", b"ab", b"abc" * 2**16, b"a" * 2**16 + b"b"]

    async def sent_for(answer: bytes) -> list[Any]:
        sent: list[Any] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": answer})

        async def send(message: Any) -> None:
            sent.append(message)

        own: Any = {"max_bytes": lambda *_: 0, "count": lambda *_: None, "route_name": str}
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        await middleware.RequestMiddleware(app, **own)(scope, app, send)
        return sent[1:]

    for answer in answers:
        sent = asyncio.run(sent_for(answer))
        assert b"".join(message["body"] for message in sent) == answer
        assert max(len(message["body"]) for message in sent) <= 2**16
        assert [message.get("more_body", False) for message in sent][-2:] in (
            [False],
            [True, False],
        )


def test_forwarded_headers_count_of_named_proxies_only(make: Call) -> None:
    def statuses(client: Any) -> list[int]:
        ask = {"json": {"q": TEXT}}
        headers = [{"x-forwarded-for": f"10.0.0.{i}"} for i in range(3)]
        return [client("POST", "/detect", headers=each, **ask).status_code for each in headers]

    assert statuses(make(begin=False, per_minute=1)) == [200, 429, 429]
    assert statuses(make(begin=False, per_minute=1, behind_proxy=("10.9.9.9",))) == [200, 429, 429]
    behind = make(begin=False, per_minute=1, behind_proxy=("10.9.9.9", "127.0.0.0/8"))
    assert statuses(behind) == [200] * 3
    assert statuses(behind) == [429] * 3


@pytest.mark.parametrize(
    ("proxies", "headers", "base"),
    [
        ((), {"host": "evil.example"}, "http://test"),
        ((), {"x-forwarded-proto": "https", "x-forwarded-host": "evil.example"}, "http://test"),
        (("127.0.0.1",), {"host": "a.org:81", "x-forwarded-proto": "https"}, "https://a.org:81"),
        (("127.0.0.1",), {"x-forwarded-host": "a.org"}, "http://a.org"),
        (("127.0.0.1",), {"x-forwarded-host": 'a.org/" onclick'}, "http://test"),
    ],
)
def test_addresses_of_files_are_the_servers(
    make: Call, proxies: tuple[str, ...], headers: dict[str, str], base: str
) -> None:
    client = make(begin=False, behind_proxy=proxies)
    files = {"file": ("a.txt", b"Un libro.")}
    data = {"source": "es", "target": "es"}
    answer = client("POST", "/translate_file", data=data, files=files, headers=headers).json()
    assert answer["translatedFileUrl"].startswith(f"{base}/download_file/")


def test_a_network_of_ipv6_is_one_client() -> None:
    assert rate_key("2001:db8::1") == rate_key("2001:db8::2:3") != rate_key("2001:db8:0:1::1")
    assert rate_key("::ffff:10.0.0.1") == "10.0.0.1"
    assert rate_key("unknown") == "unknown"


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads change places, and rubbish is collected, as they do in the server."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    sys.setswitchinterval(before)


NESTED = b'{"q":[' + b"[]," * 95_000 + b"0]}"
LISTED = ("1. a." * 4000)[:20_000]
UPLOAD = {"files": {"file": ("a.txt", b"1. a. " * 60_000)}, "data": ES_EN}


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("/translate", {"content": NESTED, "headers": JSON}),
        ("/translate", {"json": {"q": LISTED, "source": "auto", "target": "en"}}),
        ("/inspect", {"json": {"q": LISTED, **ES_EN}}),
        ("/translate", {"content": b"q=" + b"%ff" * 90_000}),
        ("/translate_file", UPLOAD),
        ("/translate_file", {"files": {"file": ("a.txt", b"\r\n--" * 500_000)}, "data": ES_EN}),
        ("/translate_file", {"files": {"file": ("a.txt", b"$" + b"!a" * 200_000)}, "data": ES_EN}),
    ],
)  # fmt: skip
def test_no_request_holds_up_the_others(
    make: Call, quick_switches: None, path: str, options: dict[str, Any]
) -> None:
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    app = make(begin=False, timeout=0.5, guard=True).app

    async def longest_pauses() -> Iterator[float]:
        """Seconds of the loop's own work, and of what any thread did meanwhile."""
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            request = client.build_request("POST", path, **options)
            await request.aread()
            request_task = asyncio.ensure_future(client.send(request))
            pauses = [(0.0, 0.0)]
            while not request_task.done():
                own, every = time.thread_time(), time.process_time()
                await asyncio.sleep(0)
                pauses.append((time.thread_time() - own, time.process_time() - every))
        return map(max, zip(*pauses, strict=True))

    own, every = asyncio.run(longest_pauses())
    assert own < 0.05
    assert every < 0.1  # among them the turns of other threads


def test_the_answer_of_a_look_inside_is_bounded(
    client: Any, translate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Nadie ve agua. " * 5
    whole = client.post("/inspect", q=text, attention=True, **ES_EN).json()["parts"]
    assert sum("cross" in part for part in whole) == 5
    monkeypatch.setattr(api, "MAX_MAPPED", 2)
    few = client.post("/inspect", q=text, attention=True, **ES_EN).json()["parts"]
    assert ["cross" in part for part in few if part["source"].strip()] == [True] * 2 + [False] * 3
    assert [part["target"] for part in few] == [part["target"] for part in whole]
    monkeypatch.setattr(api, "MAX_NUMBERS", 1)
    none = client.post("/inspect", q=text, **ES_EN).json()["parts"]
    assert all(set(part) == {"source", "target", "warnings"} for part in none)
    assert client.post("/continue_after", q=TEXT, prefix=[], **ES_EN).status_code == 413
