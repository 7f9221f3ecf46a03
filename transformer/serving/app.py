"""HTTP: the LibreTranslate API, the page, and what the page needs to look inside.

Thin: reads requests, asks the service, writes answers. No text that passes is logged or kept.
"""

import asyncio
import contextlib
import dataclasses
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from transformer.config import DecodeConfig, ServeConfig, UserError
from transformer.serving import schema
from transformer.serving.access import Keys, Rates, RequestError
from transformer.serving.api import Api
from transformer.serving.middleware import MEDIA_TYPE, Metrics, RequestMiddleware, refusal
from transformer.serving.scheduler import QueueFull, SchedulerStopped
from transformer.serving.service import Service
from transformer.translation.directions import Directions

WEB = Path(__file__).resolve().parent / "web"
PAGE = {"/": WEB / "index.html", **{f"/{file.name}": file for file in sorted(WEB.iterdir())}}
POSTS = ("/translate", "/detect", "/inspect", "/alternatives", "/continue_after")
GETS = ("/languages", "/frontend/settings", "/health", "/metrics")
FILE_PATIENCE = 10  # times the timeout of a text
N_FIELDS = 100  # of a form
GRACE = 30  # seconds that a stopping server gives to the requests under way
Answer = Callable[[Request, Mapping[str, Any]], Awaitable[Response]]


def _route(path: str) -> str:
    """What a path is counted as: nothing that a client has made up."""
    if path in (*POSTS, *GETS, *PAGE, "/translate_file"):
        return path
    return "/download_file" if path.startswith("/download_file/") else "other"


async def fields_of(request: Request) -> Mapping[str, Any]:
    """The fields of a request: a JSON object, or a form and the query."""
    if "json" in request.headers.get("content-type", ""):
        return schema.json_object(await request.body())
    fields: dict[str, Any] = dict(request.query_params)
    if "multipart" in request.headers.get("content-type", ""):
        form = request.form(max_files=1, max_fields=N_FIELDS, max_part_size=2**20)
        async with form as parts:
            for name, value in parts.items():
                if isinstance(value, UploadFile):
                    fields[name] = Upload(value.filename or "", await value.read())
                else:
                    fields[name] = value
    else:
        fields |= schema.form(await request.body(), N_FIELDS)
    if isinstance(fields.get("q"), str):
        fields["q"] = "\n".join(str(fields["q"]).splitlines())
    return fields


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """A file that came in a form."""

    name: str
    content: bytes


class Admission:
    """Who may come in, how often, and how long an answer may take."""

    def __init__(self, limits: ServeConfig) -> None:
        self._limits = limits
        self._keys = Keys(Path(limits.api_keys)) if limits.api_keys else None
        self._rates = Rates()

    def admit(self, request: Request, fields: Mapping[str, Any]) -> None:
        """Refuses a request without a key where one is needed, and one too many in a minute."""
        limit = self._limits.per_minute
        client = request.client.host if request.client else "unknown"
        if self._keys is not None:
            key = fields.get("api_key")
            rate = self._keys.rate(key) if isinstance(key, str) and key else None
            if rate is None:
                raise RequestError(
                    403, "Invalid API key" if key else "an API key is needed: api_key"
                )
            limit, client = rate, f"key {key}"
        wait = self._rates.wait(client, limit)
        if wait > 0:
            raise RequestError(429, f"Slowdown: more than {limit} requests a minute", wait)

    async def through(self, request: Request, answer: Answer, patience: float = 1) -> Response:
        """The answer, unless the client goes or the time is over: then the work is given up."""
        try:
            async with asyncio.timeout(self._limits.timeout):
                fields = await fields_of(request)
        except TimeoutError:
            raise RequestError(408, "the request did not arrive in time") from None
        self.admit(request, fields)
        work = asyncio.ensure_future(answer(request, fields))
        gone = asyncio.ensure_future(_gone(request))
        seconds = self._limits.timeout * patience
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait({work, gone}, timeout=seconds, return_when=first)
            if work.done():
                return work.result()
            if gone.done():
                raise RequestError(499, "the client has gone")
            raise RequestError(503, f"no answer within {seconds:g} seconds", 1.0)
        finally:
            gone.cancel()
            work.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def create_app(service: Service, limits: ServeConfig, metrics: Metrics) -> FastAPI:
    """The application; its start opens the models, its end answers what was asked."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(service.start)
        yield
        await asyncio.to_thread(service.stop)
        api.close()

    app = FastAPI(lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    api, admission = Api(service, limits, metrics), Admission(limits)
    for path in POSTS:
        app.add_route(path, _post(admission, getattr(api, path[1:])), methods=["POST"])
    for path, get in (("/languages", api.languages), ("/frontend/settings", api.settings)):
        app.add_route(path, _get(get), methods=["GET"])
    app.add_route("/health", _get(lambda: {"status": "ok"}), methods=["GET"])
    for path, file in PAGE.items():
        app.add_route(path, _file(file), methods=["GET"])
    _add_files(app, api, admission)

    @app.get("/metrics")
    async def prometheus() -> Response:
        return Response(metrics.text(), media_type=MEDIA_TYPE)

    for kind in (RequestError, UserError, HTTPException, QueueFull, SchedulerStopped):
        app.add_exception_handler(kind, _refused)
    if limits.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[limits.cors],
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    most = int(limits.file_mib * 2**20)
    app.add_middleware(RequestMiddleware, most=most, count=metrics.request, name=_route)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    status, why, headers = refusal(error)
    return JSONResponse({"error": why}, status, headers)


def _get(answer: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return JSONResponse(answer())

    return endpoint


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return FileResponse(path)

    return endpoint


def _post(
    admission: Admission, answer: Callable[[Mapping[str, Any]], Awaitable[Any]]
) -> Callable[[Request], Awaitable[Response]]:
    async def answered(_: Request, fields: Mapping[str, Any]) -> Response:
        return JSONResponse(await answer(fields))

    async def endpoint(request: Request) -> Response:
        return await admission.through(request, answered)

    return endpoint


def _add_files(app: FastAPI, api: Api, admission: Admission) -> None:
    """Files: one request brings a file and gets an address, another fetches it there."""

    async def translated(request: Request, fields: Mapping[str, Any]) -> Response:
        file = fields.get("file")
        if not isinstance(file, Upload):
            raise RequestError(400, "Invalid request: missing file parameter")
        name = await api.translate_file(file.name, file.content, fields)
        url = str(request.url_for("download_file", name=name))
        return JSONResponse({"translatedFileUrl": url})

    @app.post("/translate_file", response_model=None)
    async def translate_file(request: Request) -> Response:
        return await admission.through(request, translated, FILE_PATIENCE)

    @app.get("/download_file/{name}", response_model=None)
    async def download_file(name: str) -> Response:
        content, media, disposition = api.fetch(name)
        return Response(content, media_type=media, headers={"Content-Disposition": disposition})


class _Server(uvicorn.Server):
    """Ends with exit code 0 after SIGTERM, once the requests under way are answered."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, lambda: setattr(self, "should_exit", True))
        yield


def application(directions: Directions, decode: DecodeConfig, limits: ServeConfig) -> FastAPI:
    """The application for some directions, with a service and counters of its own."""
    metrics = Metrics(lambda: service.scheduler.n_waiting)
    service = Service(directions, decode, limits.queue_limit, metrics.batch)
    return create_app(service, limits, metrics)


def serve(app: FastAPI, limits: ServeConfig, ready: Callable[[str], None]) -> None:
    """Listens until it is told to stop; `ready` gets the address. UserError where it cannot."""
    try:
        family = socket.AF_INET6 if ":" in limits.host else socket.AF_INET
        listening = socket.create_server((limits.host, limits.port), family=family, backlog=2048)
    except OSError as error:
        raise UserError(
            f"cannot listen on {limits.host}:{limits.port}: {error.strerror}"
        ) from error
    with listening:
        host = f"[{limits.host}]" if ":" in limits.host else limits.host
        ready(f"http://{host}:{listening.getsockname()[1]}/")
        config = uvicorn.Config(
            app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE,
            server_header=False,
        )  # fmt: skip
        _Server(config).run(sockets=[listening])
