"""Requests that no client should send: lies, floods, paths that lead elsewhere, hostile files."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripts.fuzz.attacks import MARKER, ODD, UNITS, draw_bodies, draw_document, draw_texts

POSTS = ("/translate", "/detect", "/inspect", "/alternatives", "/continue_after")
BOUNDARY = "----fuzz"
N_PREPARED = 400  # of each kind that takes long to make
SIZES = (500, 500, 20_000, 20_000, 300_000, 4_000_000)  # bytes of files
FRAMINGS = (
    "Content-Length: 9", "Content-Length: 99999999", "Content-Length: -1", "Content-Length: 0x9",
    "Content-Length: 5\r\nContent-Length: 9", "Content-Length: " + "9" * 4000,
    "Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
    "Transfer-Encoding: gzip", "Expect: 100-continue\r\nContent-Length: 9",
)  # fmt: skip
HEADERS = (
    "X-Forwarded-For: 10.9.8.7", "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: evil",
    "Authorization: Bearer wrong", "Authorization: Bearer", f"Cookie: {MARKER}={'a' * 9000}",
    "Host: evil.example/%0d%0aX-Injected: 1", "Range: bytes=0-,0-,0-", "X\0: y", "X : y", "é: ñ",
    "Accept-Encoding: gzip;q=9e9", "Upgrade: websocket\r\nConnection: Upgrade",
    "X: y\r\n " + "z" * 60_000, "\r\n".join(f"X-{i}: y" for i in range(400)),
)  # fmt: skip
PATHS = (
    "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/download_file/..%2f..%2fetc%2fpasswd",
    "/download_file/%0d%0aX-Injected:%201.txt", "/" + "a" * 60_000, "/%00", "//evil.example/", "*",
    f"/{MARKER}", "/metrics?api_key=wrong", "/translate?q=%ff%fe", "http://evil.example/",
    "/translate?" + "q=hola&" * 2000, "/health?" + "%" * 9000, "/docs", "/openapi.json",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "CONNECT", "TRACE", "X" * 900)
BODIES = (b"{}", b"5\r\n{\r\n", b"zz\r\n", b"ffffffffffff\r\na", b"")
CONTENT_TYPES = (
    "application/x-www-form-urlencoded",
    f"multipart/form-data; boundary={BOUNDARY}",
    "a/b",
)
PREFIXES: Sequence[list[int]] = ([], [5], [10**9], [7] * 5000, [3] * 400)
NAMES = (MARKER, "../../x", "a%0d%0ab", "ñ" * 500, "", '"; name="target')


def post(path: str, body: bytes, content_type: str = "application/json", *more: str) -> bytes:
    """Return a request as it should be, with further headers."""
    head = (f"POST {path} HTTP/1.1", "Host: a", f"Content-Type: {content_type}",
            f"Content-Length: {len(body)}", *more)  # fmt: skip
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Requests:
    """Bytes to send; what takes long to make is made before the server is under load."""

    def __init__(self, seed: int, key: str) -> None:
        self._random, self._key = random.Random(seed), key
        self._bodies, self._lines = draw_bodies(N_PREPARED, seed), draw_texts(N_PREPARED, seed)
        pick = self._random.choice
        self._files = [draw_document(self._random, pick(SIZES)) for _ in range(N_PREPARED)]
        self._kinds: Mapping[str, Callable[[], bytes]] = {
            "lie": lambda: (
                f"POST {pick(POSTS)} HTTP/1.1\r\nHost: a\r\n{pick(FRAMINGS)}\r\n\r\n".encode()
                + pick(BODIES)
            ),
            "header": lambda: post("/translate", b"{}", "application/json", pick(HEADERS)),
            "path": lambda: f"{pick(METHODS)} {pick(PATHS)} HTTP/1.1\r\nHost: a\r\n\r\n".encode(),
            "body": lambda: post(pick(POSTS), pick(self._bodies)),
            "form": lambda: post("/translate", self._form().encode(), pick(CONTENT_TYPES)),
            "page": self._page,
            "text": self._text,
            "look": self._inspect,
            "file": lambda: self._upload(*pick(self._files)),
        }

    def draw(self) -> tuple[str, bytes]:
        """Return the kind and the bytes of a request of any kind."""
        name = self._random.choice(list(self._kinds))
        return name, self._kinds[name]()

    def _json(self, path: str, **fields: Any) -> bytes:
        usual = {"q": f"{MARKER} duerme.", "source": "es", "target": "en"}
        if self._random.random() < 0.7:  # the others have no key
            usual["api_key"] = self._key
        return post(path, json.dumps(usual | fields).encode())

    def _form(self) -> str:
        usual = f"q={MARKER}&source=es&target=en&api_key={self._key}"
        many = "&".join(f"a{i}=1" for i in range(5000))
        return self._random.choice((usual, "q=%ff", "&" * 100_000, "%" * 9000, many))

    def _page(self) -> bytes:
        unit, n = self._random.choice(UNITS[".html"]), self._random.randint(0, 5)
        page = f"<p>{MARKER}</p>" + unit * (19_000 // len(unit))
        return self._json("/translate", q=page, format="html", alternatives=n)

    def _text(self) -> bytes:
        line = self._random.choice((*self._lines, *ODD, "1. a. " * 3000, "a" * 20_000, "si " * 900))
        q, n = self._random.choice((line[:19_000], [line[:200]] * 99)), (0, 5, 99)
        return self._json("/translate", q=q, source="auto", alternatives=self._random.choice(n))

    def _inspect(self) -> bytes:
        q = f"{MARKER} duerme. " * self._random.choice((1, 3, 300))
        fields = {"attention": self._random.random() < 0.5, "prefix": self._random.choice(PREFIXES)}
        return self._json(self._random.choice(POSTS[2:]), q=q[:19_000], **fields)

    def _upload(self, suffix: str, content: bytes) -> bytes:
        part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="'
        fields = {"source": "es", "target": "en", "api_key": self._key}
        parts = [f'{part}{field}"\r\n\r\n{value}\r\n' for field, value in fields.items()]
        head = f'{part}file"; filename="{self._random.choice(NAMES)}{suffix}"\r\n\r\n'
        body = "".join([*parts, head]).encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
        return post("/translate_file", body, f"multipart/form-data; boundary={BOUNDARY}")
