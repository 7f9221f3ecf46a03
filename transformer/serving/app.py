"""HTTP: the LibreTranslate API, the page, the tour, and the process that listens.

No text that passes is logged or kept.
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
from uvicorn.middleware.proxy_headers import _TrustedHosts

import transformer
from transformer.config import DecodeConfig, ServeConfig, UserError
from transformer.serving.api import Api
from transformer.serving.authorization import header_key
from transformer.serving.connection_limits import (
    ConnectionLimits,
    LoopExceptionHandler,
    max_connections,
    protocol_for,
)
from transformer.serving.dispatch import Answer, Dispatcher
from transformer.serving.errors import EXPECTED, error_response
from transformer.serving.metrics import MEDIA_TYPE, Metrics
from transformer.serving.middleware import ProxyMiddleware, RequestMiddleware
from transformer.serving.operations import (
    ABOUT,
    FETCH,
    FILE,
    GETS,
    POSTS,
    TITLE,
    Operation,
    operation_id,
)
from transformer.serving.service import Service
from transformer.text.language import LANGUAGES
from transformer.translation.directions import Directions

WEB = Path(__file__).resolve().parent / "web"
TOUR = WEB.parent / "tour"  # written by scripts/tour, but for what its pages load
PAGES = {"/": WEB / "index.html", "/docs": WEB / "docs.html", "/tour": TOUR}
PAGES |= {f"/{file.name}": file for file in sorted(WEB.iterdir())}
PAGES |= {f"/tour/{file.name}": file for file in sorted(TOUR.iterdir())}
SCHEMA = "/openapi.json"
ROUTES = {*POSTS, *GETS, *PAGES, "/translate_file", SCHEMA}
QUICK = ("/translate", "/detect")  # where a request is small and no HTML
FILE_PATIENCE = 10  # times the timeout of a text
UPLOAD = "/translate_file", b"multipart/form-data"  # what may have megabytes
CHARACTER_BYTES, OTHER_BYTES = 12, 2**16  # "\\ud83d\\ude00" in JSON; all besides the text
TERM_BYTES = 100  # of a row of a glossary
HEADER_BYTES = 2**16  # of a request, with its address
SWITCH_INTERVAL = 0.001  # seconds after which another thread has its turn
ACCEPTED, BACKLOG = 4, 2048  # connections accepted at once; waiting in the system
M_ARENA_MAX = -8  # of malloc.h
RELEASE_INTERVAL = 30.0  # seconds from one release of memory to the next
GRACE = 30  # seconds that a stopping server gives to the requests under way


def create_app(service: Service, limits: ServeConfig, metrics: Metrics) -> FastAPI:
    """Return the application, which starts `service` with its models, and stops it at the end."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(LoopExceptionHandler())
        await asyncio.to_thread(service.start)
        releasing = asyncio.create_task(_release_memory(api))
        yield
        releasing.cancel()
        await asyncio.to_thread(service.stop)
        dispatcher.loops.close()
        api.close()

    app = FastAPI(
        lifespan=lifespan, title=TITLE, description=ABOUT, version=transformer.__version__,
        openapi_url=SCHEMA, docs_url=None, redoc_url=None,
        generate_unique_id_function=lambda route: operation_id(route.path),
    )  # fmt: skip
    api, dispatcher = Api(service, limits, metrics), Dispatcher(limits)
    _add_api(app, api, dispatcher, metrics)
    for path, file in PAGES.items():
        app.add_route(path, _redirect_to_tour if file == TOUR else _file(file), methods=["GET"])
    app.openapi()  # at the start, not at the first request for it
    for kind in EXPECTED:
        app.add_exception_handler(kind, _answer_error)
    if limits.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[limits.cors],
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    other = OTHER_BYTES + TERM_BYTES * limits.glossary_limit
    text = CHARACTER_BYTES * (limits.char_limit + limits.batch_limit) + other
    upload = int(limits.file_mib * 2**20) + other
    app.add_middleware(
        RequestMiddleware,
        max_bytes=lambda route, media_type: upload if (route, media_type) == UPLOAD else text,
        count=metrics.count_request,
        route_name=_route_name,
    )
    app.add_middleware(ProxyMiddleware, trusted_hosts=list(limits.behind_proxy))
    return app


def _route_name(path: str) -> str:
    """Return the route that a path is counted as; "other" for one that a client made up."""
    if path.startswith("/download_file/"):
        return "/download_file"
    return path if path in ROUTES else "other"


async def _release_memory(api: Api) -> None:
    """Free what `api` holds idle, and return memory to the system, forever at intervals."""
    while True:
        await asyncio.sleep(RELEASE_INTERVAL)
        api.release_idle()
        gc.collect()
        if (glibc := _glibc()) is not None:
            await asyncio.to_thread(glibc.malloc_trim, 0)


def _glibc() -> ctypes.CDLL | None:
    """Return the C library if its allocator can be tuned; None for another than glibc."""
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None


class IncrementalJSONResponse(JSONResponse):
    """JSON written by the pure Python encoder, as the one in C would block all other threads."""

    def render(self, content: Any) -> bytes:
        """Return the content as JSON, in UTF-8 without white space."""
        encoder = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_array_rows
        )
        text = io.StringIO()  # a million numbers are a million strings: none is kept
        text.writelines(encoder.iterencode(content))
        return text.getvalue().encode()


def _array_rows(array: Any) -> list[Any]:
    """Encode a numpy array for JSON: return its rows as arrays, or its numbers to 3 decimals."""
    return [*array] if array.ndim > 1 else [round(number, 3) for number in array.tolist()]


async def _answer_error(_: Request, error: Exception) -> Response:
    return error_response(error)


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return FileResponse(path)

    return endpoint


async def _redirect_to_tour(request: Request) -> Response:
    """Redirect to the tour in the language of `?lang=`, else the one that the browser prefers."""
    lang = request.query_params.get("lang")
    if lang not in LANGUAGES:
        lang = preferred_language(request.headers.get("accept-language", ""))
    return RedirectResponse(f"tour/{lang}.html", 302, {"Vary": "Accept-Language"})


def preferred_language(header: str) -> str:
    """Return "es" or "en", as an Accept-Language header prefers (RFC 9110); "en" for neither."""
    pattern = r"(?:^|,)\s*(en|es)\b[^,;]*(?:;\s*q=([01](?:\.\d{0,3})?))?"
    ranges: list[tuple[str, str]] = re.findall(pattern, header.lower())
    return max([("en", "0"), *ranges], key=lambda match: float(match[1] or 1))[0]


def _add_api(app: FastAPI, api: Api, dispatcher: Dispatcher, metrics: Metrics) -> None:
    """Add every path of the API, with its description."""

    def add_post(path: str, operation: Operation, answer: Answer, patience: float = 1) -> None:
        async def endpoint(request: Request) -> Response:
            return await dispatcher.dispatch(request, answer, patience, is_slow=path not in QUICK)

        app.post(path, **operation.route_arguments)(endpoint)

    def json_answer(method: Callable[[Mapping[str, Any]], Awaitable[Any]]) -> Answer:
        async def answer(_: Request, fields: Mapping[str, Any]) -> Response:
            return IncrementalJSONResponse(await method(fields))

        return answer

    async def translate_file(request: Request, fields: Mapping[str, Any]) -> Response:
        name, warnings = await api.translate_file(fields)
        path = request.app.url_path_for("download_file", name=name)
        url = f"{request.scope['scheme']}://{request.scope['own_host']}{path}"
        return JSONResponse(
            {"translatedFileUrl": url, **({"warnings": warnings} if warnings else {})}
        )

    for path, operation in POSTS.items():
        add_post(path, operation, json_answer(getattr(api, path[1:])))
    add_post("/translate_file", FILE, translate_file, FILE_PATIENCE)

    @app.get("/download_file/{name}", **FETCH.route_arguments)
    async def download_file(name: str) -> Response:
        content, media_type, disposition = await api.download_file(name)
        return Response(
            content, media_type=media_type, headers={"Content-Disposition": disposition}
        )

    def json_endpoint(method: Callable[[], Any]) -> Callable[[], Awaitable[Response]]:
        async def endpoint() -> Response:
            return JSONResponse(method())

        return endpoint

    for path, method in {
        "/languages": api.languages,
        "/frontend/settings": api.settings,
        "/health": lambda: {"status": "ok"},
    }.items():
        app.get(path, **GETS[path].route_arguments)(json_endpoint(method))
    # Clients of early versions of LibreTranslate send a POST.
    app.post("/languages", include_in_schema=False)(json_endpoint(api.languages))

    @app.get("/metrics", **GETS["/metrics"].route_arguments)
    async def prometheus(request: Request) -> Response:
        dispatcher.authorizer.check_key(request, header_key(request), counts=False)
        return Response(metrics.to_text(), media_type=MEDIA_TYPE)


class _Server(uvicorn.Server):
    """A server that ends with exit code 0 after SIGTERM, once the open requests are answered."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen: BACKLOG connections may wait, the loop accepts ACCEPTED of them at a time."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # the models: to look through them again would hold up every request
        for listening in sockets or ():
            listening.listen(BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, lambda: setattr(self, "should_exit", True))
        yield


def application(directions: Directions, decode: DecodeConfig, limits: ServeConfig) -> FastAPI:
    """Return the application for some directions, with a service and metrics of its own."""
    metrics = Metrics(lambda: service.scheduler.n_waiting)
    service = Service(directions, decode, limits.queue_limit, metrics.count_batch)
    return create_app(service, limits, metrics)


def serve(app: FastAPI, limits: ServeConfig, ready: Callable[[str], None]) -> None:
    """Listen until SIGTERM or SIGINT; `ready` gets the URL. UserError if it cannot listen there."""
    try:
        socket.getaddrinfo(limits.host, limits.port)  # what is no host fails without a socket
        family = socket.AF_INET6 if ":" in limits.host else socket.AF_INET
        listening = socket.create_server((limits.host, limits.port), family=family)
    except (OSError, ValueError) as error:  # the second: no name at all
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot listen on {limits.host}:{limits.port}: {reason}") from error
    with listening:
        host = f"[{limits.host}]" if ":" in limits.host else limits.host
        ready(f"http://{host}:{listening.getsockname()[1]}/")
        proxies = _TrustedHosts(list(limits.behind_proxy))
        connections = ConnectionLimits(
            max_connections(limits.connections),
            limits.address_connections,
            lambda host: host in proxies,
        )
        for name in ("asyncio", "uvicorn.error", "python_multipart"):  # a line a broken request
            logging.getLogger(name).setLevel(logging.ERROR)
        sys.setswitchinterval(SWITCH_INTERVAL)
        if (glibc := _glibc()) is not None:  # one arena: others are never given back whole
            glibc.mallopt(M_ARENA_MAX, 1)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE,
            server_header=False, proxy_headers=False, http=protocol_for(connections), ws="none",
            loop="asyncio", h11_max_incomplete_event_size=HEADER_BYTES, backlog=ACCEPTED,
        )  # fmt: skip
        _Server(config).run(sockets=[listening])
