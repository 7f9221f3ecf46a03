"""Translated files that wait to be fetched: on the disk, where no name leads to them."""

import sqlite3
import threading
import time

from transformer.serving.authorization import RequestError

KEPT_SECONDS, KEPT_BYTES = 1800, 2**26  # the oldest go first, the newest stays

_TABLE = "CREATE TABLE files (name TEXT PRIMARY KEY, ends REAL, size INT, content BLOB, shown TEXT)"
_TOO_MUCH = """DELETE FROM files WHERE rowid < (SELECT MAX(rowid) FROM files) AND rowid IN (
    SELECT rowid FROM (SELECT rowid, SUM(size) OVER (ORDER BY rowid DESC) AS held FROM files)
    WHERE held > ?)"""


class Downloads:
    """A private database of SQLite: its file has no name, and is gone with the process."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._cursor = self._database.cursor()  # of a hundred others the database would note each
        self._cursor.execute("PRAGMA cache_size = 64")  # pages of 4 KiB
        self._cursor.execute(_TABLE)
        self._using = threading.Lock()

    def put(self, name: str, content: bytes, shown: str) -> None:
        """Keeps a file under its secret name; a RequestError where the disk is full."""
        row = name, time.monotonic() + KEPT_SECONDS, len(content), content, shown
        try:
            with self._using:
                self._cursor.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?)", row)
        except sqlite3.OperationalError as error:
            raise RequestError(503, f"cannot keep the translated file: {error}") from error
        self.tidy()

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Content and shown name; None if there is none any more."""
        asked = "SELECT content, shown FROM files WHERE name = ? AND ends > ?"
        with self._using:
            found = self._cursor.execute(asked, (name, time.monotonic())).fetchall()
        return found[0] if found else None

    def tidy(self) -> None:
        """Drops what is too old or too much."""
        with self._using:
            self._cursor.execute("DELETE FROM files WHERE ends <= ?", (time.monotonic(),))
            self._cursor.execute(_TOO_MUCH, (KEPT_BYTES,))
            self._cursor.execute("PRAGMA shrink_memory")

    def close(self) -> None:
        self._database.close()
