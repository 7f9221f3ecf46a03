"""What the browser tests of the page share: its elements, its failures, its first texts."""

import json
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
FIRST, ENGLISH = "Mi hermana compró tres libros.", "My sister bought three books."
SLIPS = "qiero comer una mnzana. No quiero agua."
DONE = {"en-GB": "Translated", "es-ES": "Traducido"}


def see(page: Any, selector: str) -> Any:
    """What is expected of an element, soon."""
    return playwright.expect(page.locator(selector))


def fail(page: Any, path: str, status: int = 0, reason: str = "") -> None:
    """Lets requests of a path come to nothing, or be refused by a status."""

    def answer(route: Any) -> None:
        if status:
            headers = {"Retry-After": "12", "Content-Type": "application/json"}
            route.fulfill(status=status, headers=headers, body=json.dumps({"error": reason}))
        else:
            route.abort()

    page.route(f"**/{path}", answer)
