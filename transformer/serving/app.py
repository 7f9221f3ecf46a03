"""HTTP: the LibreTranslate API, the page, and what the page needs to look inside.

Thin: reads requests, asks the service, writes answers. No text that passes is logged or kept.
"""

import asyncio
import contextlib
import ctypes
import gc
import io
import json
import logging
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware, _TrustedHosts

import transformer
from transformer.config import DecodeConfig, ServeConfig, UserError
from transformer.serving.api import Api
from transformer.serving.authorization import RequestError
from transformer.serving.connection_limits import (
    ConnectionLimits,
    LoopExceptionHandler,
    max_connections,
    protocol_for,
)
from transformer.serving.dispatch import Answer, Dispatcher, EventLoopPool
from transformer.serving.middleware import MEDIA_TYPE, Metrics, RequestMiddleware, error_response
from transformer.serving.operations import (
    ABOUT,
    FETCH,
    FILE,
    GETS,
    POSTS,
    TITLE,
    Operation,
    name_of,
)
from transformer.serving.scheduler import QueueFull, SchedulerStopped
from transformer.serving.service import Service
from transformer.text.language import LANGUAGES
from transformer.translation.directions import Directions

WEB = Path(__file__).resolve().parent / "web"
PAGES = {"/": WEB / "index.html", "/docs": WEB / "docs.html"}
PAGES |= {f"/{file.name}": file for file in sorted(WEB.iterdir())}
TOUR = WEB.parent / "tour"  # written by scripts/tour, but for what its pages load
PAGES |= {"/tour": TOUR, **{f"/tour/{file.name}": file for file in sorted(TOUR.iterdir())}}
SCHEMA = "/openapi.json"
FILE_PATIENCE = 10  # times the timeout of a text
UPLOAD = "/translate_file", b"multipart/form-data"  # what may have megabytes
CHARACTER, BESIDE = 12, 2**16  # bytes: "\\ud83d\\ude00" in JSON; of all that is not the text
ROW = 100  # bytes of a row of a glossary
HEAD = 2**16  # bytes of the headers of a request, with its address
QUICK = ("/translate", "/detect")  # where they are small and no HTML
SWITCH = 0.001  # seconds after which another thread has its turn
TAKEN, QUEUED = 4, 2048  # connections that are taken before one is looked at; that wait for it
M_ARENA_MAX = -8  # of malloc.h
TIDYING = 30.0  # seconds from one tidying of memory to the next
GRACE = 30  # seconds that a stopping server gives to the requests under way


PATHS = (*POSTS, *GETS, *PAGES, "/translate_file", SCHEMA)


def _route(path: str) -> str:
    """What a path is counted as: nothing that a client has made up."""
    if path in PATHS:
        return path
    return "/download_file" if path.startswith("/download_file/") else "other"


def create_app(service: Service, limits: ServeConfig, metrics: Metrics) -> FastAPI:
    """The application; its start opens the models, its end answers what was asked."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(LoopExceptionHandler())
        await asyncio.to_thread(service.start)
        dispatcher.loops.start()
        tidying = asyncio.create_task(_tidied(api, dispatcher.loops))
        yield
        tidying.cancel()
        await asyncio.to_thread(service.stop)
        dispatcher.loops.close()
        api.close()

    app = FastAPI(
        lifespan=life, title=TITLE, description=ABOUT, version=transformer.__version__,
        openapi_url=SCHEMA, docs_url=None, redoc_url=None,
        generate_unique_id_function=lambda route: name_of(route.path),
    )  # fmt: skip
    api, dispatcher = Api(service, limits, metrics), Dispatcher(limits)
    _add_api(app, api, dispatcher, metrics)
    for path, file in PAGES.items():
        app.add_route(path, _tour if file == TOUR else _file(file), methods=["GET"])
    app.openapi()  # made now, not when it is first asked for
    metrics.expect((*PATHS, "/download_file", "other"))

    refused = (RequestError, UserError, HTTPException, QueueFull, SchedulerStopped)
    for kind in (*refused, ClientDisconnect):
        app.add_exception_handler(kind, _refused)
    if limits.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[limits.cors],
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    terms = ROW * limits.glossary_limit
    text = CHARACTER * (limits.char_limit + limits.batch_limit) + BESIDE + terms
    upload = int(limits.file_mib * 2**20) + BESIDE + terms
    app.add_middleware(
        RequestMiddleware,
        most=lambda route, kind: upload if (route, kind) == UPLOAD else text,
        count=metrics.request,
        name=_route,
    )
    app.add_middleware(_BehindProxy, trusted_hosts=list(limits.behind_proxy))
    return app


async def _tidied(api: Api, loops: EventLoopPool) -> None:
    """Gives back, now and then, what no request needs any more: the allocator would keep it."""
    while True:
        await asyncio.sleep(TIDYING)
        api.tidy()
        for loop in (asyncio.get_running_loop(), *loops):
            loop.call_soon_threadsafe(_forget_timers, loop)
        await asyncio.sleep(0.1)
        gc.collect()
        if (glibc := _glibc()) is not None:
            await asyncio.to_thread(glibc.malloc_trim, 0)


def _forget_timers(loop: asyncio.AbstractEventLoop) -> None:
    """A loop keeps timers that were cancelled until their time, if they are not many: now they are.

    Those of files have ten minutes.
    """
    for _ in range(200):
        loop.call_later(3600, int).cancel()


def _glibc() -> ctypes.CDLL | None:
    """The allocator that can be told what to keep; None where the system has another."""
    loaded = ctypes.CDLL(None)
    return loaded if hasattr(loaded, "malloc_trim") else None


class _BehindProxy(ProxyHeadersMiddleware):
    """Believes the headers of the proxies that were named, and no other's."""

    def __init__(self, app: Any, trusted_hosts: list[str]) -> None:
        super().__init__(app, trusted_hosts)
        self._is_behind = bool(trusted_hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Passes a request on, with the address under which the client knows this server."""
        if scope["type"] == "http":
            host = ""
            if self._is_behind and scope["client"] and scope["client"][0] in self.trusted_hosts:
                headers = {name: value.decode("latin1") for name, value in scope["headers"]}
                host = headers.get(b"x-forwarded-host") or headers.get(b"host", "")
            if not re.fullmatch(r"[\w.-]{1,255}(:\d{1,5})?|\[[\da-fA-F:.]+\](:\d{1,5})?", host):
                name, port = scope["server"] or ("localhost", None)
                name = f"[{name}]" if ":" in name else name
                host = f"{name}:{port}" if port else name
            scope["own_host"] = host
        # Without a proxy nothing remembers who has called.
        await (super().__call__ if self._is_behind else self.app)(scope, receive, send)


class Json(JSONResponse):
    """JSON written by Python's encoder of Python: that in C lets no other thread work meanwhile."""

    def render(self, content: Any) -> bytes:
        """UTF-8 without white space."""
        encoder = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_numbers
        )
        text = io.StringIO()  # a million numbers are a million strings: none is kept
        text.writelines(encoder.iterencode(content))
        return text.getvalue().encode()


def _numbers(array: Any) -> list[Any]:
    """What an array holds, row by row: as lists all of it would be a million numbers at once."""
    return [*array] if array.ndim > 1 else [round(number, 3) for number in array.tolist()]


async def _refused(_: Request, error: Exception) -> Response:
    return error_response(error)


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return FileResponse(path)

    return endpoint


async def _tour(request: Request) -> Response:
    """To the page of a language: the one asked for, else the one that the browser prefers."""
    lang = request.query_params.get("lang")
    if lang not in LANGUAGES:
        lang = preferred(request.headers.get("accept-language", ""))
    return RedirectResponse(f"tour/{lang}.html", 302, {"Vary": "Accept-Language"})


def preferred(accepted: str) -> str:
    """The language that an Accept-Language header prefers (RFC 9110); English for any other."""
    pattern = r"(?:^|,)\s*(en|es)\b[^,;]*(?:;\s*q=([01](?:\.\d{0,3})?))?"
    wanted = [
        (float(quality or 1), lang) for lang, quality in re.findall(pattern, accepted.lower())
    ]
    return max([(0.0, "en"), *wanted], key=lambda pair: pair[0])[1]


def _at_once(make: Callable[[], Any]) -> Callable[[], Awaitable[Response]]:
    async def endpoint() -> Response:
        return JSONResponse(make())

    return endpoint


def _add_api(app: FastAPI, api: Api, dispatcher: Dispatcher, metrics: Metrics) -> None:
    """Every address of the API, with its description."""

    def post(path: str, operation: Operation, answer: Answer, patience: float = 1) -> None:
        async def endpoint(request: Request) -> Response:
            return await dispatcher.through(request, answer, patience, is_slow=path not in QUICK)

        app.post(path, **operation.described)(endpoint)

    def json_answer(method: Callable[[Mapping[str, Any]], Awaitable[Any]]) -> Answer:
        async def answer(_: Request, fields: Mapping[str, Any]) -> Response:
            return Json(await method(fields))

        return answer

    async def translated(request: Request, fields: Mapping[str, Any]) -> Response:
        name, warnings = await api.translate_file(fields)
        path = request.app.url_path_for("download_file", name=name)
        url = f"{request.scope['scheme']}://{request.scope['own_host']}{path}"
        return JSONResponse(
            {"translatedFileUrl": url, **({"warnings": warnings} if warnings else {})}
        )

    for path, operation in POSTS.items():
        post(path, operation, json_answer(getattr(api, path[1:])))
    post("/translate_file", FILE, translated, FILE_PATIENCE)

    @app.get("/download_file/{name}", **FETCH.described)
    async def download_file(name: str) -> Response:
        content, media, disposition = await api.fetch(name)
        return Response(content, media_type=media, headers={"Content-Disposition": disposition})

    for path, get in {
        "/languages": api.languages,
        "/frontend/settings": api.settings,
        "/health": lambda: {"status": "ok"},
    }.items():
        app.get(path, **GETS[path].described)(_at_once(get))
    # As clients of early versions of LibreTranslate ask.
    app.post("/languages", include_in_schema=False)(_at_once(api.languages))

    @app.get("/metrics", **GETS["/metrics"].described)
    async def prometheus(request: Request) -> Response:
        dispatcher.check_key(request)
        return Response(metrics.text(), media_type=MEDIA_TYPE)


class _Server(uvicorn.Server):
    """Ends with exit code 0 after SIGTERM, once the requests under way are answered."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens; more may wait in the system than are taken at once."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # the models: to look through them again would hold up every request
        for listening in sockets or ():
            listening.listen(QUEUED)

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
        socket.getaddrinfo(limits.host, limits.port)  # what is no host fails without a socket
        family = socket.AF_INET6 if ":" in limits.host else socket.AF_INET
        listening = socket.create_server((limits.host, limits.port), family=family)
    except (OSError, ValueError) as error:  # the second: no name at all
        why = getattr(error, "strerror", None) or error
        raise UserError(f"cannot listen on {limits.host}:{limits.port}: {why}") from error
    with listening:
        host = f"[{limits.host}]" if ":" in limits.host else limits.host
        ready(f"http://{host}:{listening.getsockname()[1]}/")
        most = max_connections(limits.connections)
        proxies = _TrustedHosts(list(limits.behind_proxy))
        opened = ConnectionLimits(most, limits.address_connections, lambda host: host in proxies)
        for name in ("asyncio", "uvicorn.error", "python_multipart"):  # not a line a broken request
            logging.getLogger(name).setLevel(logging.ERROR)
        sys.setswitchinterval(SWITCH)
        if (glibc := _glibc()) is not None:  # one arena: others are never given back whole
            glibc.mallopt(M_ARENA_MAX, 1)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE,
            server_header=False, proxy_headers=False, http=protocol_for(opened), ws="none",
            loop="asyncio", h11_max_incomplete_event_size=HEAD, backlog=TAKEN,
        )  # fmt: skip
        _Server(config).run(sockets=[listening])
