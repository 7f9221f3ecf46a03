"""The page in a real browser: a server of the released models, and Chromium to open it in."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
PATIENCE = 60_000  # milliseconds: the machine may be busy


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium; the tests of the page skip without one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs a Chromium")
    with playwright.sync_playwright() as running:
        playwright.expect.set_options(timeout=PATIENCE)
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def url(browser: Any) -> Iterator[str]:
    """The address of a server of both released models."""
    pytest.importorskip("fastapi", reason="needs the extra `serve`")
    with subprocess.Popen(
        [sys.executable, "-m", "transformer", "--serve", "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stderr is not None
        yield started.stderr.readline().split()[-1]
        started.kill()


@pytest.fixture
def open_page(browser: Any, url: str) -> Iterator[Callable[..., Any]]:
    """Opens the page in a window of its own; `options` are those of a browser context.

    An error in its console, or a request elsewhere, is a failure; a refusal by the server is none.
    """
    wrong: list[str] = []
    contexts = []

    def heard(message: Any) -> None:
        is_refusal = message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not is_refusal:
            wrong.append(message.text)

    def start(path: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"locale": "en-GB", **options})
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE)
        opened = context.new_page()
        opened.on("console", heard)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("request", lambda r: None if r.url.startswith(url) else wrong.append(r.url))
        opened.goto(url + path)
        opened.wait_for_selector("#to option", state="attached")
        return opened

    yield start
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def page(open_page: Callable[..., Any]) -> Any:
    """The page, freshly opened."""
    return open_page()
