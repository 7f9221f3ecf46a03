"""The page in a real browser: typing, words, other words, files, languages, the inside view."""

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving.pages import see

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
FIRST, SECOND = "Mi hermana compró tres libros.", "No quiero agua."
INTO = {"es": "My sister bought three books."}


def type_in(page: Any, text: str) -> list[str]:
    """Types a text and gives the words of its translation, once they can be looked at."""
    page.fill("#source", text)
    see(page, "#shadow").to_have_text(text.replace("\n", ""))
    see(page, "#shadow span >> nth=0").to_be_attached()
    see(page, "#status").to_have_text("Translated")
    return [str(word) for word in page.locator("#target .word").all_inner_texts()]


def lamp(span: Any) -> float:
    return float(span.evaluate("one => one.style.getPropertyValue('--light') || 0"))


def test_what_is_typed_is_translated(page: Any) -> None:
    assert type_in(page, FIRST) == ["My", "sister", "bought", "three", "books"]
    assert page.locator("#target").inner_text() == INTO["es"]
    type_in(page, f"{FIRST}\n\n{SECOND}")
    see(page, "#target .word >> nth=7").to_be_attached()
    assert page.locator("#target > div").all_inner_texts()[:2] == [INTO["es"], "\n"]
    page.click("#clear")
    see(page, "#target").to_be_empty()


def test_an_old_answer_never_overwrites_a_new_one(page: Any) -> None:
    held: list[Any] = []

    def hold_the_first(route: Any) -> None:
        if "hermana" in route.request.post_data and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/translate", hold_the_first)
    page.fill("#source", FIRST)
    page.wait_for_timeout(1000)
    assert held
    assert type_in(page, SECOND)
    shown = page.locator("#target").inner_text()
    with contextlib.suppress(playwright.Error):  # the page may have given it up
        held[0].continue_()
    page.wait_for_timeout(500)
    assert page.locator("#target").inner_text() == shown


def test_words_that_belong_together_light_up(page: Any) -> None:
    words = type_in(page, FIRST)
    page.locator("#target .word").nth(words.index("sister")).hover()
    shadows = {one.inner_text(): lamp(one) for one in page.locator("#shadow span").all()}
    assert shadows["hermana"] == 1
    assert shadows["tres"] < 0.3
    box = page.locator("#shadow span", has_text="libros").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    targets = {one.inner_text(): lamp(one) for one in page.locator("#target .word").all()}
    assert targets["books"] == 1
    assert targets["sister"] < 0.3


def test_the_lights_lie_under_their_words(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    type_in(page, "\n".join([FIRST, SECOND] * 12))
    page.evaluate("document.querySelector('#source').scrollTop = 60")
    page.wait_for_timeout(100)
    measure = "one => [one.clientWidth, one.scrollTop, one.scrollHeight]"
    source, shadow = (page.locator(one).evaluate(measure) for one in ("#source", "#shadow"))
    assert source == shadow
    assert source[1] == 60


def test_another_word_can_be_chosen_and_the_rest_follows(page: Any) -> None:
    type_in(page, "El gobierno anunció ayer nuevas medidas.")
    word = page.locator("#target .word").nth(3)
    was = word.inner_text()
    word.click()
    assert word.get_attribute("aria-expanded") == "true"
    see(page, "#menu-title").to_have_text(f"Instead of “{was}”")
    other = page.locator("#menu [role=option][aria-selected=false]").first
    other.locator(".change b").wait_for()
    name, change = (other.locator(one).inner_text() for one in (".name", ".change"))
    taken = page.locator("#menu [aria-selected=true]")
    assert taken.locator(".name").all_inner_texts() == [was]
    other.click()
    see(page, "#target .word >> nth=3").to_have_text(name)
    assert change.strip("… ") in page.locator("#target").inner_text()
    assert page.locator("#menu").is_hidden()


OFFERED = [
    ("sister", 0.9), ("daughter", 0.02), (",", 0.3), ("Sister", 0.2), ("wife", 0.009), ("", 0.4),
    ("Blackally", 0.15),
]  # fmt: skip


def test_only_likely_words_are_offered(page: Any) -> None:
    type_in(page, FIRST)
    part = page.evaluate("document.querySelectorAll('#target .word')[1].place.part")
    first, last = part["targetWords"][1][1:3]
    found = [
        {
            "text": text,
            "probability": p,
            "known": text != "Blackally",
            "ids": [9, i] if i else part["ids"][first:last],
        }
        for i, (text, p) in enumerate([*OFFERED, ("Mytery", 0.2)])
    ]
    changed = ["My", "daughter", "three", "books", "."]
    words = [[word, i, i + 1, 1] for i, word in enumerate(changed)]
    news = {**part, "targetWords": words, "target": "My daughter three books."}
    lengthened = {**part, "targetWords": [["Mytery", 0, 2, 1]], "target": "Mytery."}
    page.route("**/alternatives", lambda route: route.fulfill(json={"alternatives": found}))
    page.route("**/continue_after", lambda route: route.fulfill(
        json=lengthened if route.request.post_data_json["prefix"][-1] == len(OFFERED) else news
    ))  # fmt: skip
    page.locator("#target .word").nth(1).click()
    see(page, "#options .name").to_have_text(["sister", "daughter"])
    see(page, "#options .change >> nth=1").to_have_text("My daughter three books.")
    page.click("#menu-close")
    assert page.locator("#menu").is_hidden()
    assert page.locator("#target .word").nth(1).get_attribute("aria-expanded") == "false"


def test_no_other_word_changes_a_number(page: Any) -> None:
    """Such a word is not offered: what a rule has put right, the model would say in its own way."""
    page.select_option("#from", "en")
    page.select_option("#to", "es")
    type_in(page, "The meeting is at 12:30 p.m.")
    word = page.locator("#target .word").first
    part = page.evaluate("document.querySelector('#target .word').place.part")
    assert "12:30" in part["target"]
    offered = [{"text": text, "probability": 0.3, "known": True, "ids": [i]}
               for i, text in enumerate(["Nuestra", "Otra"])]  # fmt: skip
    said = ["Nuestra reunión es a las 12:30.", "Otra reunión es a las 16:30."]

    def answer(route: Any) -> None:
        target = said[route.request.post_data_json["prefix"][-1]]
        words = [[word, i, i + 1, 1] for i, word in enumerate(target.split())]
        route.fulfill(json={**part, "target": target, "targetWords": words})

    page.route("**/alternatives", lambda route: route.fulfill(json={"alternatives": offered}))
    page.route("**/continue_after", answer)
    word.click()
    see(page, "#options .name").to_have_text(["Nuestra"])
    page.locator("#options button").click()
    see(page, "#target").to_have_text(said[0])


def test_words_can_be_reached_with_the_keyboard(page: Any) -> None:
    type_in(page, FIRST)
    page.locator("#target .word").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "sister"
    assert lamp(page.locator("#shadow span", has_text="hermana")) == 1
    page.keyboard.press("Enter")
    page.locator("#menu [role=option]").first.wait_for()
    see(page, "#menu [role=option] >> nth=0").to_be_focused()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.querySelector('#menu').contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert page.locator("#menu").is_hidden()
    assert page.evaluate("document.activeElement.textContent") == "sister"


def test_languages_are_recognised_and_swapped_with_the_text(page: Any) -> None:
    assert page.input_value("#from") == "auto"
    type_in(page, FIRST)
    see(page, "#from option[value=auto]").to_have_text("Spanish · auto")
    page.click("#swap")
    assert page.input_value("#source") == INTO["es"]
    assert (page.input_value("#from"), page.input_value("#to")) == ("en", "es")
    page.select_option("#from", "auto")
    page.fill("#source", f"{FIRST} {SECOND}")
    see(page, "#from option[value=auto]").to_have_text("Spanish · auto")
    assert page.input_value("#to") == "en"


def test_text_of_another_language_is_pointed_out(page: Any) -> None:
    page.select_option("#from", "es")
    page.fill("#source", "The weather is nice and we are going to the beach.")
    see(page, "#notices").to_contain_text("This looks like English.")
    page.click("#notices button")
    see(page, "#target").to_contain_text("playa")
    assert (page.input_value("#from"), page.input_value("#to")) == ("en", "es")
    assert page.locator("#notices").is_hidden()


def test_an_emoji_across_the_border_of_what_is_recognised_is_translated(page: Any) -> None:
    page.fill("#source", f"{FIRST} ".ljust(999, ".") + "😀")
    see(page, "#status").to_have_text("Translated")
    half = """text => {
        document.querySelector("#source").value = `${text} \\ud83d`;
        document.querySelector("#source").dispatchEvent(new Event("input"));
    }"""
    page.evaluate(half, FIRST)
    see(page, "#count").to_have_text(f"{len(FIRST) + 2} of 20,000")
    see(page, "#target").to_have_text(re.compile("^My sister bought three books"))
    see(page, "#status").to_have_text("Translated")


def test_a_translation_is_copied(page: Any) -> None:
    type_in(page, f"{FIRST}\n\n{FIRST}")
    page.click("#copy")
    see(page, "#status").to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{INTO['es']}\n\n{INTO['es']}"


def test_a_dropped_file_comes_back_translated(page: Any) -> None:
    see(page, "#formats").to_contain_text("txt")
    page.evaluate(
        """text => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], "carta.txt", { type: "text/plain" }));
            document.querySelector("#drop").dispatchEvent(
                new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        FIRST,
    )
    page.locator("#carried a").wait_for()
    with page.expect_download() as download:
        page.click("#carried a")
    assert download.value.suggested_filename == "carta_en.txt"
    assert Path(download.value.path()).read_text() == INTO["es"]
    page.fill("#source", SECOND)
    see(page, "#carried").to_be_empty()


def test_a_file_may_come_back_in_another_format(page: Any) -> None:
    lost = "comes out as plain text, without pictures, tables, columns and fonts"
    came = {"translatedFileUrl": "http://elsewhere/download_file/x.txt", "warnings": [lost]}
    page.route("**/translate_file", lambda route: route.fulfill(json=came))
    file = {"name": "a.b.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"}
    page.set_input_files("#file", file)
    see(page, "#carried a").to_have_text("Download a.b_en.txt")
    assert page.get_attribute("#carried a", "href") == "/download_file/x.txt"
    see(page, "#carried li").to_contain_text("of a PDF comes the text alone, without pictures")


def test_a_file_is_on_its_way_and_can_be_stopped(page: Any) -> None:
    page.route("**/translate_file", lambda route: None)
    file = {"name": "letter.txt", "mimeType": "text/plain", "buffer": INTO["es"].encode()}
    page.set_input_files("#file", file)
    see(page, "#carried").to_contain_text("letter.txt")
    see(page, "#carried progress").to_be_visible()
    page.click("#carried button")
    see(page, "#carried").to_be_empty()


def test_the_interface_speaks_spanish_and_wears_dark(page: Any) -> None:
    assert page.locator("#tab-translate").inner_text() == "Translate"
    page.select_option("#interface", "es")
    assert page.locator("#tab-translate").inner_text() == "Traducir"
    assert page.evaluate("document.documentElement.lang") == "es"
    links = page.locator("a:not(.skip)").evaluate_all("all => all.map((one) => one.href)")
    assert [link.rpartition("/")[2] for link in links] == [*["tour?lang=es"] * 2, "docs"]
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")  # light
    page.click("#theme")  # dark
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    page.reload()
    assert page.locator("#tab-translate").inner_text() == "Traducir"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_both_languages_say_the_same_things(page: Any) -> None:
    spoken = """code => import("/texts.js").then(({ TEXTS }) => {
        const names = (value, at) => typeof value === "object"
            ? Object.entries(value).flatMap(([key, one]) => names(one, `${at}.${key}`)) : [at];
        return names(TEXTS[code], "");
    })"""
    assert page.evaluate(spoken, "es") == page.evaluate(spoken, "en")


def test_the_decoder_can_be_watched_step_by_step(page: Any) -> None:
    type_in(page, f"{FIRST} {SECOND}")
    page.click("#tab-inside")
    page.locator("#map svg").wait_for()
    assert page.input_value("#sentence") == FIRST
    n_steps = int(page.get_attribute("#step", "max"))
    assert page.locator("#at").inner_text() == f"Step {n_steps} of {n_steps}"
    assert page.locator("#writes .now").inner_text() == "⟨/s⟩"
    assert page.locator("#forward").is_disabled()
    assert page.locator("#choices tr").count() == 10
    assert page.locator("#choices tr.now").count() == 1
    drawn = page.locator("#mask .fill").evaluate_all(
        "all => all.filter(one => one.getAttribute('fill-opacity') > 0).length"
    )
    assert drawn == n_steps * (n_steps + 1) // 2  # a triangle: nobody peeks
    page.click("#back")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#at").inner_text() == f"Step {n_steps - 2} of {n_steps}"
    see(page, "#reads .chip >> nth=0").to_have_text("⟨2en⟩")
    page.locator("#reads .chip", has_text="hermana").click()
    assert page.locator("#writes .now").inner_text() == "␣sister"
    n_heads = page.locator("#heads button").count()
    page.select_option("#kind", "encoder")
    assert page.locator("#heads button").count() >= n_heads
    page.locator("#heads button").nth(1).click()
    assert page.input_value("#head") == "0 1"
    assert page.locator("#heads [aria-pressed=true]").count() == 1
    page.select_option("#which", "1")
    see(page, "#reads").to_contain_text("agua")
    page.fill("#sentence", "No quiero leche.")
    page.click("#look button")
    see(page, "#reads").to_contain_text("leche")


def test_a_word_leads_inside(page: Any) -> None:
    words = type_in(page, f"{SECOND} {FIRST}")
    page.locator("#target .word").nth(words.index("sister")).click()
    page.click("#menu-look")
    see(page, "#writes .now").to_have_text("␣sister")
    assert page.input_value("#sentence") == FIRST


MAPS = """(kind) => import("/heads.js").then(({ rolesOf }) => {
    const pieces = ["▁a", "▁b", ",", "▁c", "▁d", "</s>"];
    const rows = (column) => pieces.map((_, i) => pieces.map((_, j) => column(i, j)));
    const maps = [[rows((i, j) => Number(j === Math.max(0, i - 1))),
        rows((i, j) => Number(i === j)), rows((i, j) => Number(j === Math.min(5, i + 1))),
        rows((i, j) => Number(j === 2)), rows((i, j) => Number(j === 5)), rows(() => 1 / 6),
        rows((i, j) => Number(j === 0))]];
    return rolesOf(kind, maps, pieces)[0].map((one) => one.role);
})"""


def test_heads_are_named_after_what_they_look_at(page: Any) -> None:
    names = ["previous", "same", "next", "punctuation", "end", "even", "mixed"]
    assert page.evaluate(MAPS, "encoder") == names
    assert page.evaluate(MAPS, "decoder")[:2] == ["previous", "same"]
    assert page.evaluate(MAPS, "decoder")[6] == "start"


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_wider_than_the_window(open_page: Callable[..., Any], width: int) -> None:
    page = open_page(viewport={"width": width, "height": 800}, locale="es-ES")
    page.fill("#source", f"{FIRST} {SECOND}\n{'agua' * 40}")
    see(page, "#status").to_have_text("Traducido")
    small = """() => [...document.querySelectorAll("button:not(.word), select, input")]
        .map((one) => one.closest("label") ?? one).filter((one) => one.offsetParent)
        .map((one) => [one.id || one.textContent, one.getBoundingClientRect()])
        .filter(([, box]) => Math.min(box.width, box.height) < 43.9).map(([name]) => name)"""
    for tab, drawn in (("#tab-translate", "#target .word"), ("#tab-inside", "#heads button")):
        page.click(tab)
        see(page, f"{drawn} >> nth=0").to_be_attached()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width < 700:
            assert page.evaluate(small) == []
    heads = page.locator("#heads .layer:first-child button")
    assert min(heads.evaluate_all("all => all.map((one) => one.offsetWidth)")) >= 80  # a word


def test_the_page_of_the_api_sends_its_examples(open_page: Callable[..., Any], url: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe").Axe()
    page = open_page(viewport={"width": 320, "height": 800})
    page.goto(f"{url}docs#detect")
    shown = page.locator("#detect")
    see(page, "#detect").to_be_in_viewport()
    shown.locator("textarea").fill('{"q": "The girl is not in the house."}')
    shown.get_by_role("button").click()
    see(page, "#detect .example pre").to_contain_text('"language": "en"')
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert not axe.run(page).response["violations"]
