"""The page for everybody: contrasts, names, borders, the keyboard; axe finds nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.serving.pages import DONE, FIRST, SLIPS, fail, see


def _offline(page: Any) -> None:
    fail(page, "translate")
    page.fill("#source", f"{FIRST} Hola.")
    page.locator(".error").wait_for()


def _menu(page: Any) -> None:
    page.locator("#target .word").nth(3).click()
    see(page, "#options [role=option] >> nth=0").to_be_focused()


def _inside(page: Any) -> None:
    page.click("#tab-inside")
    page.locator("#map svg").wait_for()


def _slips(page: Any) -> None:
    page.fill("#source", f"{SLIPS} {FIRST}")
    page.locator("#notices button").wait_for()


def _bad_file(page: Any) -> None:
    page.set_input_files("#file", {"name": "a.docx", "mimeType": "a/b", "buffer": b"\x7fELF"})
    page.locator(".error").wait_for()


def _glossary(page: Any) -> None:
    page.click("#glossary summary")
    page.locator("#terms input").first.fill("hermana|hermana mayor|x")
    page.locator("#terms input").nth(1).fill("a|b")
    see(page, "#terms .missed").to_have_count(1)


def _empty(page: Any) -> None:
    page.click("#clear")
    see(page, "#samples button >> nth=0").to_be_visible()


STATES = [lambda page: None, _empty, _offline, _menu, _inside, _slips, _bad_file, _glossary]
NAMES = ["text", "empty", "offline", "menu", "inside", "slips", "file", "glossary"]


@pytest.mark.parametrize(
    ("scheme", "locale", "width"), [("light", "en-GB", 1280), ("dark", "es-ES", 320)]
)
def test_nothing_is_hard_to_read_or_to_reach(
    open_page: Callable[..., Any], scheme: str, locale: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe").Axe()
    wrong = []
    for name, enter in zip(NAMES, STATES, strict=True):
        page = open_page(
            viewport={"width": width, "height": 800}, color_scheme=scheme, locale=locale
        )
        page.fill("#source", FIRST)
        page.locator("#target .word").first.wait_for()
        see(page, "#status").to_have_text(DONE[locale])
        enter(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for violation in axe.run(page).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"]]
            wrong.append((name, violation["id"], nodes))
    assert not wrong


# Borders of what can be used, against the ground they stand on.
EDGES = """() => {
    const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = (colour) => rgb(colour).map((one) => one / 255)
        .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = light(getComputedStyle(document.body).backgroundColor);
    return ["#from", "#to", "#swap", "#pick", "#theme", ".pane", ".drop"].map((name) => {
        const edge = light(getComputedStyle(document.querySelector(name)).borderTopColor);
        return (Math.max(edge, ground) + 0.05) / (Math.min(edge, ground) + 0.05);
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_can_be_used_stands_out(open_page: Callable[..., Any], scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    page.evaluate("document.activeElement.blur()")
    see(page, "#swap").to_be_enabled()
    assert min(page.evaluate(EDGES)) >= 3


def test_the_whole_page_is_reached_by_keyboard(page: Any) -> None:
    page.fill("#source", FIRST)
    page.locator("#target .word").first.wait_for()
    page.locator(".skip").focus()
    reached = [page.evaluate("document.activeElement.className")]
    while reached[-1] != "pick" and len(reached) < 40:
        page.keyboard.press("Tab")
        now = "document.activeElement.id || document.activeElement.className"
        reached.append(page.evaluate(now))
    assert " ".join(reached) == (
        "skip tab-translate interface theme from swap to source clear target word link edit copy "
        "marks glossary-title pick"
    )
