"""The tour as the server shows it and as a plain file: language, walk, maps, keyboard, contrast."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving.conftest import PATIENCE, Client
from tests.serving.pages import see

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
FOLDER = Path(__file__).resolve().parents[2] / "transformer" / "serving" / "tour"
LANGUAGES = ("es", "en")


@pytest.mark.parametrize(
    ("query", "accepted", "lang"),
    [
        ("?lang=es", "en", "es"),
        ("?lang=en", "es", "en"),
        ("?lang=fr", "es", "es"),
        ("", "es-ES,es;q=0.9,en;q=0.8", "es"),
        ("", "en-GB,en;q=0.9,es;q=0.8", "en"),
        ("", "fr,es;q=0.5,en;q=0.3", "es"),
        ("", "en;q=0, es;q=0.1", "es"),
        ("", "est, *;q=0.1", "en"),
        ("", "", "en"),
    ],
)
def test_the_tour_is_in_the_language_asked_for(
    client: Client, query: str, accepted: str, lang: str
) -> None:
    answer = client("GET", f"/tour{query}", headers={"Accept-Language": accepted})
    assert (answer.status_code, answer.headers["location"]) == (302, f"tour/{lang}.html")
    assert answer.headers["vary"] == "Accept-Language"
    page = client("GET", f"/tour/{lang}.html")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert f'<html lang="{lang}">' in page.text


def test_what_the_pages_load_is_served(client: Client) -> None:
    kinds = {"tour.css": "text/css", "tour.js": "javascript"}
    for name, kind in kinds.items():
        answer = client("GET", f"/tour/{name}")
        assert kind in answer.headers["content-type"]
        assert answer.text == (FOLDER / name).read_text(encoding="utf-8")
    assert client("GET", "/tour/results.json").status_code == 404


@pytest.fixture
def open_tour(visit: Callable[..., Any], request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Opens a page, from the server or as a file."""

    def start(lang: str, as_file: bool = False, **options: Any) -> Any:
        base = f"{FOLDER.as_uri()}/" if as_file else request.getfixturevalue("url") + "tour/"
        page = visit(f"{base}{lang}.html", base, **options)
        see(page, "button.next").to_be_visible()
        return page

    return start


def wait_until(page: Any, condition: str) -> None:
    """Asks again and again; wait_for_function does so by eval, which the page's policy forbids."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def step(page: Any) -> list[str]:
    """The steps of the walk that are shown."""
    shown: list[str] = page.evaluate(
        "[...document.querySelectorAll('.step')].filter((one) => !one.hidden).map((one) => one.id)"
    )
    return shown


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_whole_walk_by_keyboard(
    open_tour: Callable[..., Any], lang: str, as_file: bool
) -> None:
    page = open_tour(lang, as_file)
    see(page, "#home").to_be_visible(visible=not as_file)
    assert step(page) == ["walk-1"]
    page.locator("button.next").focus()
    for number in range(2, 16):
        page.keyboard.press("Enter" if number % 2 else "ArrowRight")
        assert step(page) == [f"walk-{number}"]
        see(page, ".places [aria-current=step]").to_have_text(str(number))
        see(page, ".status").to_have_text(re.compile(rf"\b{number}\b.*\b15\b"))
    page.keyboard.press("Enter")
    assert step(page) == ["walk-15"]
    see(page, "button.next").to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Home")
    assert step(page) == ["walk-1"]
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert step(page) == ["walk-14"]
    page.click(".back")
    page.click(".places a >> nth=8")
    assert step(page) == ["walk-9"]


def test_a_map_answers_the_pointer_and_the_arrow_keys(open_tour: Callable[..., Any]) -> None:
    page = open_tour("en")
    figure = page.locator("#stop-6 .grid").first
    row = figure.locator("tbody tr >> nth=2")
    query, below = (figure.locator(f"tbody tr >> nth={n}").locator("th") for n in (2, 3))
    cell = row.locator("td >> nth=1")
    cell.hover()
    playwright.expect(figure.locator("tr.lit th")).to_have_text(query.inner_text())
    looked = f"{query.inner_text()} → {figure.locator('thead .lit').inner_text()}"
    value = cell.get_attribute("data-v")
    playwright.expect(figure.locator(".reading")).to_have_text(f"{looked}: {value}")
    cell.click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    playwright.expect(figure.locator(".reading")).to_have_text(
        re.compile(f"^{re.escape(below.inner_text())} → .+: 0")
    )
    page.keyboard.press("ArrowLeft")
    playwright.expect(figure.locator("td:focus")).to_have_count(1)
    assert figure.locator("td[tabindex='0']").count() == 1
    mask = page.locator("#walk-12")
    page.evaluate("location.hash = '#walk-12'")
    mask.locator("td[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")  # within the map, not to the next step
    assert step(page) == ["walk-12"]


def test_every_head_can_be_seen_large(open_tour: Callable[..., Any]) -> None:
    page = open_tour("en")
    figure = page.locator(".explorer").first
    was = figure.locator(".grid td[data-v]").all_inner_texts()
    other = figure.locator(".head[aria-pressed=false]").first
    name = other.locator("span").first.inner_text()
    weights = [float(w) for w in re.split("[ ;]", other.get_attribute("data-w"))]
    other.click()
    playwright.expect(figure.locator(".head[aria-pressed=true]")).to_have_count(1)
    playwright.expect(figure.locator(".grid figcaption")).to_have_text(name)
    cells = figure.locator(".grid td[data-v]")
    assert cells.all_inner_texts() != was
    shown = cells.evaluate_all("cells => cells.map((cell) => 1000 * cell.dataset.v)")
    assert [round(w) for w in shown] == weights


def test_words_can_be_asked_where_they_look(open_tour: Callable[..., Any]) -> None:
    page = open_tour("es")
    page.evaluate("location.hash = '#walk-13'")
    words = page.locator("#walk-13 .from")
    strength = "word => Number(getComputedStyle(word.querySelector('.share')).opacity)"
    chosen = page.locator("#walk-13 .from.chosen")
    page.wait_for_timeout(300)
    assert chosen.evaluate(strength) == 1
    words.nth(0).focus()
    page.wait_for_timeout(400)
    assert (words.nth(0).evaluate(strength), words.nth(1).evaluate(strength)) == (1, 0)
    assert words.nth(0).get_attribute("aria-label").startswith("The: ")


def test_the_other_language_opens_at_the_same_place(open_tour: Callable[..., Any]) -> None:
    page = open_tour("en")
    page.evaluate("location.hash = '#stop-9'")
    wait_until(page, "place === '#stop-9'")
    page.dispatch_event("header [hreflang=es]", "click")  # a click may scroll
    playwright.expect(page).to_have_url(re.compile(r"es\.html#stop-9$"))
    wait_until(page, "document.readyState === 'complete' && scrollY > 1000")
    page.evaluate("location.hash = '#walk-7'")
    wait_until(page, "place === '#walk'")
    page.dispatch_event("header [hreflang=en]", "click")
    playwright.expect(page).to_have_url(re.compile(r"en\.html#walk-7$"))
    wait_until(page, "document.readyState === 'complete'")
    assert step(page) == ["walk-7"]


def test_answers_unfold(open_tour: Callable[..., Any]) -> None:
    page = open_tour("es")
    exercises = page.locator("details.exercise")
    assert exercises.count() == 16
    answer = exercises.first.locator("div")
    playwright.expect(answer).to_be_hidden()
    exercises.first.locator("summary").focus()
    page.keyboard.press("Enter")
    playwright.expect(answer).to_be_visible()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_on_a_phone_letters_can_be_read_and_boxes_say_that_they_scroll(
    open_tour: Callable[..., Any], lang: str
) -> None:
    page = open_tour(lang, as_file=True, viewport={"width": 320, "height": 700})
    page.evaluate("document.querySelectorAll('[hidden], details').forEach((one) => {"
                  " one.hidden = false; one.open = true; })")  # fmt: skip
    page.evaluate("mark()")
    sizes = page.locator("svg text").evaluate_all(
        "all => all.map((text) => parseFloat(getComputedStyle(text).fontSize)"
        " * text.getScreenCTM().a)"
    )
    assert min(size for size in sizes if size > 0) >= 10.99
    box = page.locator("#stop-11 .scroll:has(.tree)")
    sign = "box => getComputedStyle(box, '::before').content.includes('↔')"
    assert box.evaluate(sign)
    assert box.evaluate("box => box.classList.contains('more')")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    wait_until(page, "!document.querySelector('.scroll:has(.tree)').classList.contains('more')")
    assert not page.locator("#stop-3 .scroll:has(.matrix)").first.evaluate(sign)


def test_the_contents_say_where_one_is(open_tour: Callable[..., Any]) -> None:
    page = open_tour("en", viewport={"width": 1400, "height": 800})
    page.evaluate("location.hash = '#stop-9'")
    see(page, "#progress").to_have_text(re.compile(r"\b9/16\b"))
    see(page, "#contents [aria-current]").to_have_attribute("href", "#stop-9")
    assert page.locator("#contents").bounding_box()["y"] == 0  # beside the text, wherever it is


def test_without_a_script_all_is_there(browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{FOLDER.as_uri()}/es.html")
    assert page.locator(".step:visible").count() == 15
    assert not page.locator("button.next").is_visible()
    context.close()


@pytest.mark.parametrize(("lang", "scheme"), [("es", "dark"), ("en", "light")])
def test_nothing_is_hard_to_read_or_to_reach(
    open_tour: Callable[..., Any], lang: str, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe").Axe()
    page = open_tour(lang, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 800})
        for number in range(15):
            page.evaluate(f"show({number})")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('.step').forEach((one) => { one.hidden = false; })")
    page.evaluate("mark()")
    assert not axe.run(page).response["violations"]
