"""The page when something is the matter: errors, doubts, long texts, addresses."""

import re
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest

from tests.serving.pages import ENGLISH, FIRST, SLIPS, fail, see

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
LONG = "Mi hermana compró tres libros y un kilo de naranjas en el mercado. " * 3

# Errors

FAILURES = [
    (0, "does not answer", "no responde"),
    (403, "API key", "clave de API"),
    (408, "in time", "a tiempo"),
    (429, "Wait 12 seconds", "Espera 12 segundos"),
    (500, "defect", "defecto"),
    (501, "without PyTorch", "sin PyTorch"),
    (503, "busy", "ocupado"),
]


@pytest.mark.parametrize(("status", "english", "spanish"), FAILURES)
def test_an_error_reads_like_one_and_keeps_what_was_there(
    page: Any, status: int, english: str, spanish: str
) -> None:
    page.fill("#source", FIRST)
    see(page, "#status").to_have_text("Translated")
    fail(page, "translate", status, "protocol words")
    page.fill("#source", f"{FIRST} No quiero agua.")
    see(page, "#failure strong").to_have_text("Not translated – below is what stood here before")
    see(page, "#failure .error > p").to_contain_text(english)
    see(page, "#failure details").to_have_count(1 if status else 0)
    see(page, "#target").to_have_text(ENGLISH)
    see(page, "#status").to_be_empty()
    see(page, "#copy").to_be_disabled()
    page.select_option("#interface", "es")
    see(page, "#failure .error > p").to_contain_text(spanish)
    assert "protocol" not in page.locator("#failure .error > p").inner_text()
    page.unroute("**/translate")
    page.click("#failure button")
    see(page, "#failure").to_be_empty()
    see(page, "#status").to_have_text("Traducido")
    see(page, "#copy").to_be_enabled()


def test_nothing_is_below_an_error_where_nothing_was(page: Any) -> None:
    fail(page, "translate", 503)
    page.fill("#source", f"{FIRST}\n\n{FIRST}")
    see(page, "#failure strong").to_have_text("Not translated")
    see(page, "#target").to_be_hidden()
    page.unroute("**/translate")
    page.click("#failure button")
    see(page, "#target").to_contain_text(ENGLISH)


def test_a_text_that_is_too_long_is_not_sent(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.fill("#source", "a" * 20_001)
    see(page, "#failure").to_contain_text("at most 20,000 characters")
    see(page, "#count").to_have_class("over")
    assert not asked


def test_a_page_without_a_server_starts_over(page: Any) -> None:
    fail(page, "languages")
    page.reload()
    see(page, "#failure .error").to_contain_text("does not answer")
    page.fill("#source", FIRST)
    page.unroute("**/languages")
    page.click("#failure button")
    see(page, "#target").to_have_text(ENGLISH)


def test_a_direction_that_is_not_served_is_not_offered(page: Any) -> None:
    served = [{"code": "es", "name": "Spanish", "targets": ["en", "es"]}]
    page.route("**/languages", lambda route: route.fulfill(json=served))
    page.reload()
    see(page, "#to option").to_have_text(["English"])
    page.fill("#source", "The weather is nice and we are going to the beach.")
    see(page, "#status").to_have_text("The text is already in this language.")
    see(page, "#swap").to_be_disabled()
    page.fill("#source", FIRST)
    see(page, "#target").to_have_text(ENGLISH)
    see(page, "#swap").to_be_disabled()


def test_a_file_that_is_none_is_told_of_and_sent_again(page: Any) -> None:
    file = {"name": "a.docx", "mimeType": "application/zip", "buffer": b"\x7fELF"}
    page.set_input_files("#file", file)
    see(page, "#carried .error strong").to_have_text("a.docx was not translated")
    see(page, "#carried .error > p").to_contain_text("txt")
    page.click("#carried summary")
    see(page, "#carried details p").to_contain_text("expected a Word document")
    with page.expect_response("**/translate_file"):
        page.click("#carried .error button >> nth=0")
    see(page, "#carried .error strong").to_have_text("a.docx was not translated")
    page.click("#carried .error button >> nth=1")
    see(page, "#carried").to_be_empty()


def test_a_look_inside_that_fails_leaves_the_translation(page: Any) -> None:
    fail(page, "inspect", 503)
    page.fill("#source", FIRST)
    see(page, "#status").to_have_text("Translated. Its words cannot be looked into just now.")
    see(page, "#target").to_have_text(ENGLISH)
    page.click("#tab-inside")
    page.fill("#sentence", FIRST)
    page.click("#look button")
    see(page, "#trouble .error").to_contain_text("busy")
    page.unroute("**/inspect")
    page.click("#trouble button")
    page.locator("#map svg").wait_for()
    see(page, "#trouble").to_be_empty()


def test_other_words_that_cannot_be_had_are_told_of(page: Any) -> None:
    page.fill("#source", FIRST)
    page.locator("#target .word").first.wait_for()
    fail(page, "alternatives", 429)
    page.locator("#target .word").first.click()
    see(page, "#menu-said").to_contain_text("Too many requests")
    page.keyboard.press("Escape")
    see(page, "#menu").to_be_hidden()


# Doubts


def test_what_is_wrong_with_a_translation_is_said(page: Any) -> None:
    answer = {
        "translatedText": "A dog.",
        "warnings": ["number lost: 15", "too short", "does not read like Spanish"],
    }
    page.route("**/translate", lambda route: route.fulfill(json=answer))
    page.select_option("#from", "es")
    page.fill("#source", "15 perros")
    foreign = "the text does not read like Spanish"
    lines = ["a number is missing: 15", "it is suspiciously short", foreign]
    see(page, "#warnings li").to_have_text(lines)
    page.fill("#source", "")
    see(page, "#doubts").to_be_hidden()


def test_slips_are_told_of_quietly_and_can_be_kept(page: Any) -> None:
    page.fill("#source", SLIPS)
    see(page, "#notices").to_contain_text("“qiero” read as “quiero”, “mnzana” read as “manzana”")
    see(page, "#doubts").to_be_hidden()
    read = page.locator("#target").inner_text()
    assert "apple" in read
    page.click("#notices button")
    see(page, "#notices").to_contain_text("Kept as typed: “qiero”, “mnzana”.")
    kept = page.locator("#target").inner_text()
    assert "apple" not in kept
    page.select_option("#interface", "es")
    see(page, "#notices").to_contain_text("Sin corregir: «qiero», «mnzana».")
    page.click("#notices button")
    see(page, "#notices").to_contain_text("«qiero» leído como «quiero»")
    see(page, "#target").to_have_text(read)


def test_unsure_words_are_marked_and_the_marks_can_be_put_away(page: Any) -> None:
    page.fill("#source", "El zahorí desbrozó la gándara con su podadera.")
    see(page, "#target .unsure >> nth=0").to_be_visible()
    marked = page.evaluate(
        """() => [...document.querySelectorAll("#target .word")].map((one) =>
            [one.classList.contains("unsure"), one.place.part.targetWords[one.place.i][3]])"""
    )
    assert all(is_unsure == (share < 0.25) for is_unsure, share in marked)
    drawn = "getComputedStyle(document.querySelector('#target .unsure')).backgroundImage"
    assert page.evaluate(drawn) != "none"
    page.get_by_role("switch").uncheck()
    assert page.evaluate(drawn) == "none"
    page.reload()
    see(page, "#target .unsure >> nth=0").to_be_visible()
    assert page.evaluate(drawn) == "none"


# Long texts and addresses

TOPS = """side => [...document.querySelectorAll(`${side} > div`)].filter((one) => one.offsetParent)
    .filter((one) => one.textContent).map((one) => one.offsetTop)"""


def test_only_what_is_seen_is_looked_into(open_page: Callable[..., Any]) -> None:
    page = open_page(viewport={"width": 1280, "height": 800})
    page.fill("#source", "\n".join(f"Tengo {n} gatos." for n in range(60)))
    see(page, "#target > div:last-child .word >> nth=0").to_be_attached()  # where the cursor is
    page.wait_for_timeout(1000)
    first = page.locator("#target > div:first-child .word")
    assert first.count() == 0
    page.evaluate("document.querySelector('#source').scrollTop = 0")
    playwright.expect(first.first).to_be_attached()


def test_long_text_stays_in_its_panes_side_by_side(open_page: Callable[..., Any]) -> None:
    page = open_page(viewport={"width": 1280, "height": 800})
    page.fill("#source", "\n\n".join([LONG, FIRST, LONG + FIRST] * 4))
    see(page, "#status").to_have_text("Translated")
    page.wait_for_timeout(200)
    left, right = page.evaluate(TOPS, "#shadow"), page.evaluate(TOPS, "#target")
    line = float(page.evaluate("parseFloat(getComputedStyle(document.body).lineHeight)")) * 1.5
    assert len(left) == len(right) == 12
    assert max(abs(a - b) for a, b in zip(left, right, strict=True)) <= line
    bottom = "one => one.scrollHeight - one.clientHeight - one.scrollTop"
    for key in ("Control+Home", "Control+End"):
        page.press("#source", key)
    page.wait_for_timeout(200)
    for pane in ("#source", "#target"):  # the cursor is at the end, and so is its translation
        assert page.locator(pane).evaluate(bottom) <= 1
    page.evaluate("document.querySelector('#source').scrollTop = 400")
    page.wait_for_timeout(200)
    assert abs(page.evaluate("document.querySelector('#target').scrollTop") - 400) <= line
    page.evaluate("document.querySelector('#target').scrollTop = 0")
    page.wait_for_timeout(200)
    assert page.evaluate("document.querySelector('#source').scrollTop") == 0
    assert page.locator("#copy").bounding_box()["y"] < 700
    page.set_viewport_size({"width": 390, "height": 700})
    box = page.locator("#copy").bounding_box()  # sticks to the foot of the window
    assert 600 < box["y"] <= 700 - box["height"]
    page.set_viewport_size({"width": 390, "height": 400})  # too low to give some of it away
    assert page.locator("#copy").bounding_box()["y"] > 400
    page.emulate_media(media="print")
    see(page, "#source").to_be_hidden()
    for pane in ("#shadow", "#target"):
        assert page.locator(pane).evaluate(bottom) <= 1
    assert (
        page.locator("#shadow").evaluate("one => getComputedStyle(one).color") == "rgb(26, 29, 36)"
    )


def test_a_blank_line_stays_where_the_translation_is_longer(page: Any) -> None:
    answer = {"translatedText": "Three books. " * 30}
    page.route("**/translate", lambda route: route.fulfill(json=answer))
    page.fill("#source", f"{FIRST}\n\n{FIRST}\n\n{FIRST}")
    see(page, "#status").to_have_text("Translated")
    page.wait_for_timeout(200)
    rows = page.locator("#target > div").evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert min(rows[1], rows[3]) >= 10
    selected = """() => {
        getSelection().selectAllChildren(document.querySelector("#target"));
        return String(getSelection()).split(/\\n\\s*\\n/).length;
    }"""
    assert page.evaluate(selected) == 3  # paragraphs, of what is selected and copied by hand


def test_an_address_opens_a_text_and_the_way_back_leads_to_it(page: Any, url: str) -> None:
    page.goto(f"{url}#en-es/I%20am%20tired.%0A%0A100%25")
    see(page, "#source").to_have_value("I am tired.\n\n100%")
    assert (page.input_value("#from"), page.input_value("#to")) == ("en", "es")
    see(page, "#status").to_have_text("Translated")
    page.fill("#source", "I am tired. Good night")
    playwright.expect(page).to_have_url(re.compile("Good%20night$"))
    page.fill("#source", "Where is the station?")
    playwright.expect(page).to_have_url(re.compile("station%3F$"))
    see(page, "#target").to_contain_text("estación")
    see(page, "#recent-list a > span:first-child").to_have_text(["I am tired. Good night"])
    page.go_back()
    see(page, "#source").to_have_value("I am tired. Good night")
    page.click("#recent summary")
    page.click("#recent a >> nth=0")
    see(page, "#source").to_have_value("Where is the station?")
    page.go_back()
    see(page, "#status").to_have_text("Translated")
    page.click("#link")
    see(page, "#status").to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{url}#en-es/I%20am%20tired.%20Good%20night"
    too_long = f"{FIRST} " * 130
    page.fill("#source", too_long)
    see(page, "#status").to_have_text("Translated")
    playwright.expect(page).to_have_url(f"{url}#en-es")
    page.reload()
    see(page, "#source").to_have_value(too_long)
    for broken in ("#xx-yy/Hola", "#es-en/%E0%A4%A", "#source"):
        page.goto(url + broken)
        page.wait_for_timeout(300)
        see(page, "#to option").to_have_count(2)


@pytest.mark.parametrize(
    ("query", "direction", "text"),
    [
        (
            "?source=es&target=en&q=Mi%20hermana%20compr%C3%B3%20tres%20libros.",
            ["es", "en"],
            FIRST,
        ),
        ("?target=en-US&q=Mi+hermana+compr%C3%B3+tres+libros.", ["auto", "en"], FIRST),
        ("?source=fr&target=en&q=Bonjour", ["auto", "en"], ""),
        ("?q=Hola", ["auto", "en"], ""),
    ],
)
def test_the_address_of_libretranslate_is_understood(
    open_page: Any, query: str, direction: list[str], text: str
) -> None:
    page = open_page(query)
    see(page, "#source").to_have_value(text)
    assert [page.input_value(one) for one in ("#from", "#to")] == direction
    if text:
        see(page, "#status").to_have_text("Translated")
        assert page.evaluate("location.search") == ""
        assert page.evaluate("location.hash").startswith(f"#{direction[0]}-en/Mi%20hermana")


def test_the_text_of_an_address_is_no_markup(open_page: Any) -> None:
    markup = "<b id=made>Hola</b> amigo, <img src=x onerror=document.title='taken'>"
    page = open_page(f"?source=es&target=en&q={urllib.parse.quote(markup)}")
    see(page, "#source").to_have_value(markup)
    see(page, "#status").to_have_text("Translated")
    see(page, "#target").to_contain_text("<b id=made>")
    assert page.locator("#made, main img").count() == 0
    see(page, "h1").to_have_text("Spanish–English")
    assert page.title() == "Spanish–English"
