"""The API in this process, of a small model; the page in a browser, of the released models."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import ON, started
from transformer.config import DecodeConfig, ServeConfig
from transformer.translation.directions import load

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
PATIENCE = 60_000  # milliseconds: the machine may be busy


class Client:
    """Calls an application in this process; every call is a loop of its own."""

    def __init__(self, folder: Path | None, guard: bool = False, **limits: Any) -> None:
        pytest.importorskip("fastapi", reason="needs the extra `serve`")
        from transformer.serving.app import create_app
        from transformer.serving.metrics import Metrics
        from transformer.serving.service import Service

        self.limits = ServeConfig(**limits)
        self.metrics = Metrics(lambda: self.service.scheduler.n_waiting)
        self.service = Service(
            load(folder, guard=guard, **ON), DecodeConfig(), self.limits.queue_limit,
            self.metrics.count_batch,
        )  # fmt: skip
        self.app = create_app(self.service, self.limits, self.metrics)

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        httpx = pytest.importorskip("httpx", reason="needs httpx")

        async def call() -> Any:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **options)

        return asyncio.run(call())

    def post(self, path: str = "/translate", **fields: Any) -> Any:
        """Sends JSON."""
        return self("POST", path, json=fields)


@pytest.fixture(scope="module")
def make(random_checkpoint: Path) -> Iterator[Callable[..., Client]]:
    """Starts an application with the limits given, ended with the tests of a file."""
    made: list[Client] = []

    def start(begin: bool = True, **limits: Any) -> Client:
        client = Client(random_checkpoint, **limits)
        if begin:
            client.service.start()
            made.append(client)
        return client

    yield start
    for client in made:
        client.service.stop()


@pytest.fixture(scope="module")
def client(make: Callable[..., Client]) -> Client:
    """An application with narrow limits."""
    return make(char_limit=2000, batch_limit=10, file_mib=1, file_char_limit=3000, glossary_limit=9)


@pytest.fixture(scope="module")
def released() -> Iterator[Client]:
    """An application of the released models."""
    client = Client(None, guard=True)
    client.service.start()
    yield client
    client.service.stop()


@pytest.fixture(scope="module")
def translate(random_checkpoint: Path) -> Callable[[str], str]:
    """What the library makes of a text."""
    translator = load(random_checkpoint, guard=False, **ON)
    return lambda text: translator.translate([text])[0].text


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium; the tests of the page skip without one.

    Its event loop runs as long as it lives, and `asyncio.run` cannot meanwhile.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs a Chromium")
    with playwright.sync_playwright() as running:
        playwright.expect.set_options(timeout=PATIENCE)
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def url(browser: Any) -> Iterator[str]:
    """The address of a server of both released models."""
    pytest.importorskip("fastapi", reason="needs the extra `serve`")
    with started() as (_, address):
        yield address


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a window of its own; `options` are those of a browser context.

    A word in its console, or a request that leads out of `base`, is a failure; a refusal by the
    server is none where it `may_refuse`.
    """
    wrong: list[str] = []
    contexts = []

    def start(address: str, base: str, may_refuse: bool = False, **options: Any) -> Any:
        def heard(message: Any) -> None:
            if not (may_refuse and message.text.startswith("Failed to load resource")):
                wrong.append(message.text)

        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(PATIENCE)
        opened = contexts[-1].new_page()
        opened.on("console", heard)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("request", lambda r: None if r.url.startswith(base) else wrong.append(r.url))
        opened.goto(address)
        return opened

    yield start
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def open_page(visit: Callable[..., Any], url: str) -> Callable[..., Any]:
    """Opens the page, in English if no other language is asked for."""

    def start(path: str = "", **options: Any) -> Any:
        opened = visit(url + path, url, may_refuse=True, **{"locale": "en-GB", **options})
        opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
        opened.wait_for_selector("#to option", state="attached")
        return opened

    return start


@pytest.fixture
def page(open_page: Callable[..., Any]) -> Any:
    """The page, freshly opened."""
    return open_page()
