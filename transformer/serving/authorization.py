"""Whom a server answers: the keys of its clients, how often they come, and how it refuses.

Keys are kept as hashes: 32 random bytes need no slow hash.
"""

import collections
import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from transformer.config import UserError

WINDOW = 60.0  # seconds in which requests are counted


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKeys:
    """The API keys of a file: a JSON object a line, with the hash of a key and its rate."""

    def __init__(self, path: Path) -> None:
        """Reads them; a missing or broken file is a UserError."""
        self._rates: dict[str, int] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            for line in filter(str.strip, lines):
                entry = json.loads(line)
                self._rates[str(entry["sha256"])] = int(entry["per_minute"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"expected API keys in {path}: {type(error).__name__}: {error}. "
                "Make one with --new-api-key"
            ) from error

    def rate(self, key: str) -> int | None:
        """Requests a minute of a key, 0 without limit; None for a key that is not known."""
        wanted = _hash(key)
        rates = [n for known, n in self._rates.items() if hmac.compare_digest(known, wanted)]
        return rates[0] if rates else None


def new_api_key(path: Path, per_minute: int) -> str:
    """Makes a key, adds its hash to a file of the owner alone, and gives the key, known to none."""
    key = secrets.token_urlsafe(32)
    entry = json.dumps({"sha256": _hash(key), "per_minute": per_minute})
    try:
        with open(path, "a", encoding="utf-8", opener=_private) as file:
            os.fchmod(file.fileno(), 0o600)  # one made before
            file.write(entry + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return key


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def rate_key(address: str) -> str:
    """Whom an address stands for: of IPv6 the network of 64 bits, which one client has whole."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or ipaddress.ip_network((found, 64), strict=False))


class RateLimiter:
    """Counts the requests of each client in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: collections.OrderedDict[str, collections.deque[float]]
        self._times = collections.OrderedDict()  # who came last is last

    def wait(self, client: str, limit: int, counts: bool = True) -> float:
        """0 and the request counts, or the seconds until the client may come again."""
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


class RequestError(Exception):
    """A request that is not answered as it was asked: an HTTP status and why, for the client."""

    def __init__(self, status: int, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.retry_after = status, why, retry_after
