"""Translated files that wait to be downloaded, in a database on disk that has no file name."""

import sqlite3
import threading
import time

from transformer.serving.errors import RequestError

KEPT_SECONDS, KEPT_BYTES = 1800, 2**26  # beyond these the oldest go first; the newest stays

_CREATE = (
    "CREATE TABLE files (name TEXT PRIMARY KEY, expires REAL, size INT, content BLOB, title TEXT)"
)
_INSERT = "INSERT INTO files VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT content, title FROM files WHERE name = ? AND expires > ?"
_DELETE_EXCESS = """DELETE FROM files WHERE rowid < (SELECT MAX(rowid) FROM files) AND rowid IN (
    SELECT rowid FROM (SELECT rowid, SUM(size) OVER (ORDER BY rowid DESC) AS held FROM files)
    WHERE held > ?)"""


class Downloads:
    """Files by their secret names, in a private SQLite database that ends with the process."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._cursor = self._database.cursor()  # the database would remember one for each query
        self._cursor.execute("PRAGMA cache_size = 64")  # pages of 4 KiB
        self._cursor.execute(_CREATE)
        self._lock = threading.Lock()

    def put(self, name: str, content: bytes, title: str) -> None:
        """Store a file by a secret name, with a title for its client; RequestError 503 if full."""
        row = name, time.monotonic() + KEPT_SECONDS, len(content), content, title
        try:
            with self._lock:
                self._cursor.execute(_INSERT, row)
        except sqlite3.OperationalError as error:
            raise RequestError(503, f"cannot keep the translated file: {error}") from error
        self.delete_old()

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Return content and title of a file; None if there is none, or no longer."""
        with self._lock:
            rows = self._cursor.execute(_SELECT, (name, time.monotonic())).fetchall()
        return rows[0] if rows else None

    def delete_old(self) -> None:
        """Delete files past their time, and the oldest beyond `KEPT_BYTES`."""
        with self._lock:
            self._cursor.execute("DELETE FROM files WHERE expires <= ?", (time.monotonic(),))
            self._cursor.execute(_DELETE_EXCESS, (KEPT_BYTES,))
            self._cursor.execute("PRAGMA shrink_memory")

    def close(self) -> None:
        """Delete all files."""
        self._database.close()
