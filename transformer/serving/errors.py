"""Errors that end a request, and the HTTP answer that each becomes."""

import errno
import logging
import traceback

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from transformer.config import UserError

MAX_MESSAGE = 500  # characters of an error message, which may quote what a client sent
log = logging.getLogger(__name__)


class RequestError(Exception):
    """A request that is refused: its HTTP status, the reason, the seconds until a retry."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


# What the framework raises besides defects; `error_response` answers all of them.
EXPECTED = (RequestError, UserError, HTTPException, ClientDisconnect)


def is_out_of_files(error: object) -> bool:
    """Return whether an error means that the system has no file descriptor left."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def error_response(error: Exception) -> JSONResponse:
    """Return the JSON answer to an exception: one line, and `Retry-After` where a retry may help.

    The status is that of the error, 400 for a UserError, 499 if the client has gone, 503 without
    file descriptors, and 500 for a defect, which is logged with its place and answered without
    details: its message may hold text.
    """
    retry_after = None
    match error:
        case RequestError():
            status, message, retry_after = error.status, error.message, error.retry_after
        case UserError():
            status, message = 400, str(error)
        case ClientDisconnect():
            status, message = 499, "the client has gone"
        case HTTPException():
            status, message = error.status_code, error.detail
        case OSError() if is_out_of_files(error):
            status, message, retry_after = 503, "the server has too many files open", 5.0
        case _:
            frames = traceback.extract_tb(error.__traceback__)[-1:]
            place = "".join(f" at {frame.filename}:{frame.lineno}" for frame in frames)
            log.error("defect: %s%s", type(error).__name__, place)
            status, message = 500, "the server has a defect"
    message = " ".join(message.encode(errors="replace").decode().split())[:MAX_MESSAGE]
    headers = {"Retry-After": str(max(1, round(retry_after)))} if retry_after is not None else None
    return JSONResponse({"error": message}, status, headers)
