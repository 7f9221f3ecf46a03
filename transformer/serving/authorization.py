"""Which clients the server answers, and how often: API keys and request rates.

The file of keys holds SHA-256 hashes: a key of 32 random bytes needs no slow hash.
"""

import collections
import hashlib
import ipaddress
import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request

from transformer.config import ServeConfig, UserError
from transformer.serving.errors import RequestError
from transformer.serving.request_parsing import parse_query

WINDOW = 60.0  # seconds over which requests are counted
MAX_FAILED_LOGINS = 10  # requests of an address in a window with a wrong key or none


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_api_keys(path: Path) -> dict[str, int]:
    """Return the requests a minute that each key of a file allows, 0 for no limit, by its hash.

    The file has a JSON object a line, as `new_api_key` writes it. UserError if it is missing or
    malformed.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines if line.strip()]
        return {str(entry["sha256"]): int(entry["per_minute"]) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"expected API keys in {path}: {type(error).__name__}: {error}. "
            "Make one with --new-api-key"
        ) from error


def new_api_key(path: Path, per_minute: int) -> str:
    """Create a key, append its hash to a file that only its owner can read, and return the key.

    `per_minute` is the most requests a minute with the key. Raises UserError if the file cannot be
    written.
    """
    key = secrets.token_urlsafe(32)
    entry = json.dumps({"sha256": _hash(key), "per_minute": per_minute})
    try:
        with open(
            path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)
        ) as file:
            os.fchmod(file.fileno(), 0o600)  # a file that existed before
            file.write(entry + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return key


def rate_key(address: str) -> str:
    """Return the key by which requests of an address are counted.

    An IPv6 address counts as its /64 network, which one client has whole; any other, as itself.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))


class RateLimiter:
    """Counts the requests of each client in a sliding window of a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: collections.OrderedDict[str, collections.deque[float]]
        self._times = collections.OrderedDict()  # least recent client first

    def wait(self, client: str, limit: int, counts: bool = True) -> float:
        """Return 0 and count the request, or the seconds until the client may send another.

        A `limit` of 0 is none; without `counts` the request is only checked.
        """
        if not limit:
            return 0.0
        now = self._clock()
        while self._times and next(iter(self._times.values()))[-1] <= now - WINDOW:
            self._times.popitem(last=False)
        times = self._times.get(client) or collections.deque()
        while times and times[0] <= now - WINDOW:
            times.popleft()
        if len(times) >= limit:
            return times[0] + WINDOW - now
        if counts:
            times.append(now)
            self._times[client] = times
            self._times.move_to_end(client)
        return 0.0


class Authorizer:
    """Checks keys and rates; each method raises RequestError 403 or 429 to refuse a request."""

    def __init__(self, limits: ServeConfig) -> None:
        self._per_minute = limits.per_minute
        self._keys = read_api_keys(Path(limits.api_keys)) if limits.api_keys else None
        self._requests, self._failed_logins = RateLimiter(), RateLimiter()

    def check_headers(self, request: Request) -> bool:
        """Return whether a request is authorized before its body is read.

        Returns False if a key is needed but missing in headers and query: the body may have it.
        """
        if self._keys is None:
            self._limit_rate(_client(request), self._per_minute)
            return True
        key = header_key(request)
        if key:
            self.check_key(request, key)
        else:
            self._throttle_failed_logins(request, counts=False)
        return bool(key)

    def check_key(self, request: Request, key: Any, counts: bool = True) -> None:
        """Raise RequestError 403 without a known key, 429 above its rate or after many failures.

        A server without keys takes any. Without `counts` a known key has neither rate nor count.
        """
        if self._keys is None:
            return
        rate = self._keys.get(_hash(key)) if isinstance(key, str) and key else None
        if rate is None:
            self._throttle_failed_logins(request)
            raise RequestError(403, "Invalid API key" if key else "an API key is needed: api_key")
        if counts:
            self._limit_rate(f"key {key}", rate)

    def _throttle_failed_logins(self, request: Request, counts: bool = True) -> None:
        wait = self._failed_logins.wait(_client(request), MAX_FAILED_LOGINS, counts)
        if wait > 0:
            raise RequestError(429, "Slowdown: too many requests without a key", wait)

    def _limit_rate(self, client: str, limit: int) -> None:
        wait = self._requests.wait(client, limit)
        if wait > 0:
            raise RequestError(429, f"Slowdown: more than {limit} requests a minute", wait)


def header_key(request: Request) -> str:
    """Return the API key in headers or query, "" if none; RequestError 400 for a bad query."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else parse_query(request).get("api_key", "")


def _client(request: Request) -> str:
    return rate_key(request.client.host) if request.client else "unknown"
