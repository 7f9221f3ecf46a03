"""The page in a real browser: typing, words, alternatives, files, languages, the inside view."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")

ROOT = Path(__file__).resolve().parents[2]
RELEASED = ROOT / "checkpoints" / "es-en"
SERVE = """
import sys
from pathlib import Path
from transformer import load
from transformer.checkpoint import locate
from transformer.config import DecodeConfig, ServeConfig
from transformer.serving import app

limits = ServeConfig(port=0)
locate.places = lambda: (Path(sys.argv[1]),)
application = app.application(load(device="cpu"), DecodeConfig(), limits)
app.serve(application, limits, lambda url: print(url, flush=True))
"""
FIRST, SECOND = "Mi hermana compró tres manzanas.", "No quiero agua."
PATIENCE = 60_000  # milliseconds: the machine may be busy


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the released model, and of one that only claims the other direction."""
    place = tmp_path_factory.mktemp("models")
    shutil.copytree(RELEASED, place / "es-en")
    other = shutil.copytree(RELEASED, place / "en-es")
    config = json.loads((other / "config.json").read_text())
    config |= {"src_lang": "en", "tgt_lang": "es"}
    (other / "config.json").write_text(json.dumps(config))
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        yield started.stdout.readline().strip()
        started.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        playwright.expect.set_options(timeout=PATIENCE)
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    """The page, freshly opened; an error in its console, or a request elsewhere, is a failure."""
    context = browser.new_context(locale="en-GB", permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.extend(_complaints(message)))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda r: None if r.url.startswith(url) else wrong.append(r.url))
    opened.goto(url)
    yield opened
    context.close()
    assert not wrong


def _complaints(message: Any) -> list[str]:
    """What a message of the console complains of; a refusal by the server is none."""
    is_refusal = message.text.startswith("Failed to load resource")
    return [message.text] if message.type in ("error", "warning") and not is_refusal else []


def type_in(page: Any, text: str) -> list[str]:
    """Types a text and gives the words of its translation, once they can be looked at."""
    page.fill("#source", text)
    see(page, "#shadow").to_have_text(text)
    see(page, "#shadow span >> nth=0").to_be_attached()
    see(page, "#status").to_have_text("Translated")
    return [str(word) for word in page.locator("#target .word").all_inner_texts()]


def see(page: Any, selector: str) -> Any:
    """What is expected of an element, soon."""
    return playwright.expect(page.locator(selector))


def lamp(span: Any) -> float:
    return float(span.evaluate("one => one.style.getPropertyValue('--light') || 0"))


def test_what_is_typed_is_translated(page: Any) -> None:
    assert type_in(page, FIRST) == ["My", "sister", "bought", "three", "apples", "."]
    assert page.locator("#target").inner_text() == "My sister bought three apples."
    type_in(page, f"{FIRST}\n\n{SECOND}")
    see(page, "#target .word >> nth=8").to_be_attached()
    assert page.locator("#target").inner_text().split("\n")[:2] == [
        "My sister bought three apples.", "",
    ]  # fmt: skip
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
    page.wait_for_timeout(600)
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
    box = page.locator("#shadow span", has_text="manzanas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    targets = {one.inner_text(): lamp(one) for one in page.locator("#target .word").all()}
    assert targets["apples"] == 1
    assert targets["sister"] < 0.3


def test_the_lights_lie_under_their_words(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    type_in(page, "\n".join([FIRST, SECOND] * 12))
    page.evaluate("document.querySelector('#source').scrollTop = 60")
    page.wait_for_timeout(100)
    sizes = [
        page.locator(one).evaluate("one => [one.clientWidth, one.scrollTop]")
        for one in ("#source", "#shadow")
    ]
    assert sizes[0] == sizes[1]
    assert sizes[0][1] == 60


def test_another_word_can_be_chosen_and_the_rest_follows(page: Any) -> None:
    type_in(page, FIRST)
    page.locator("#target .word").nth(3).click()
    options = page.locator("#menu [role=option]")
    options.first.wait_for()
    texts = [re.sub(r"[\d.]+%$", "", text).strip() for text in options.all_inner_texts()]
    assert texts[0] == "three"
    assert page.locator("#menu [aria-selected=true]").count() == 1
    options.nth(1).click()
    see(page, "#target .word >> nth=3").to_have_text(texts[1])
    assert page.locator("#target").inner_text().startswith(f"My sister bought {texts[1]}")


def test_words_can_be_reached_with_the_keyboard(page: Any) -> None:
    type_in(page, FIRST)
    page.locator("#target .word").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "sister"
    assert lamp(page.locator("#shadow span", has_text="hermana")) == 1
    page.keyboard.press("Enter")
    page.locator("#menu [role=option]").first.wait_for()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "option"
    page.keyboard.press("Escape")
    assert page.locator("#menu").is_hidden()
    assert page.evaluate("document.activeElement.textContent") == "sister"


def test_what_is_doubtful_is_marked(page: Any) -> None:
    answer = {"translatedText": "A dog.", "warnings": ["number lost: 15", "too short"]}
    page.route("**/translate", lambda route: route.fulfill(json=answer))
    page.fill("#source", "15 perros")
    see(page, "#warnings li").to_have_text(["A number is missing: 15", "Suspiciously short"])
    page.unroute("**/translate")
    page.fill("#source", "")
    see(page, "#warnings").to_be_hidden()
    unsure = """() => [...document.querySelectorAll(".word")].map((one) =>
        [one.classList.contains("unsure"), one.place.part.targetWords[one.place.i][3]])"""
    type_in(page, "El carnicero vendió el buey al zapatero tuerto de la aldea vecina.")
    marked = page.evaluate(unsure)
    assert any(is_unsure for is_unsure, _ in marked)
    assert all(is_unsure == (share < 0.5) for is_unsure, share in marked)


def test_languages_are_swapped_with_the_text(page: Any) -> None:
    type_in(page, FIRST)
    page.click("#swap")
    assert page.input_value("#source") == "My sister bought three apples."
    assert (page.input_value("#from"), page.input_value("#to")) == ("en", "es")
    page.select_option("#from", "auto")
    page.fill("#source", f"{FIRST} {SECOND}")
    see(page, "#from option[value=auto]").to_have_text(re.compile("^Spanish"))
    assert page.input_value("#to") == "en"


def test_a_translation_is_copied(page: Any) -> None:
    type_in(page, FIRST)
    page.click("#copy")
    see(page, "#status").to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "My sister bought three apples."


def test_a_dropped_file_comes_back_translated(page: Any) -> None:
    see(page, "#to").to_have_value("en")
    page.evaluate(
        """text => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], "carta.txt", { type: "text/plain" }));
            document.querySelector("#drop").dispatchEvent(
                new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        FIRST,
    )
    page.locator("#fetched a").wait_for()
    with page.expect_download() as download:
        page.click("#fetched a")
    assert download.value.suggested_filename == "carta_en.txt"
    assert Path(download.value.path()).read_text() == "My sister bought three apples."


def test_a_file_that_is_none_is_told_of(page: Any) -> None:
    see(page, "#to").to_have_value("en")
    page.set_input_files(
        "#file", {"name": "a.docx", "mimeType": "application/zip", "buffer": b"\x7fELF"}
    )
    see(page, "#status").to_contain_text("expected a Word document")


def test_the_interface_speaks_spanish_and_wears_dark(page: Any) -> None:
    assert page.locator("#tab-translate").inner_text() == "Translate"
    page.select_option("#interface", "es")
    assert page.locator("#tab-translate").inner_text() == "Traducir"
    assert page.evaluate("document.documentElement.lang") == "es"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")  # light
    page.click("#theme")  # dark
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    page.reload()
    assert page.locator("#tab-translate").inner_text() == "Traducir"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_decoder_can_be_watched_step_by_step(page: Any) -> None:
    type_in(page, FIRST)
    page.click("#tab-inside")
    page.locator("#map svg").wait_for()
    assert page.input_value("#sentence") == FIRST
    n_steps = int(page.get_attribute("#step", "max"))
    assert page.locator("#choices tr").count() == 10
    assert page.locator("#choices tr.now").count() == 1
    for _ in range(2):
        page.click("#forward")
    assert page.locator("#at").inner_text() == f"Step 3 of {n_steps}"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#at").inner_text() == f"Step 2 of {n_steps}"
    page.click("#last")
    assert page.locator("#writes .now").inner_text() == "⟨/s⟩"
    assert page.locator("#forward").is_disabled()
    seen = page.locator("#mask .fill").evaluate_all(
        "all => all.filter(one => one.getAttribute('fill-opacity') > 0).length"
    )
    assert seen == n_steps * (n_steps + 1) // 2  # a triangle: nobody peeks
    n_heads = page.locator("#heads button").count()
    page.select_option("#kind", "encoder")
    assert page.locator("#heads button").count() >= n_heads
    page.locator("#heads button").nth(1).click()
    assert page.input_value("#head") == "0 1"
    assert page.locator("#heads [aria-pressed=true]").count() == 1
    page.fill("#sentence", SECOND)
    page.click("#look button")
    see(page, "#reads").to_contain_text("agua")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    type_in(page, f"{FIRST} {SECOND}\n{'agua' * 40}")
    for tab in ("#tab-translate", "#tab-inside"):
        page.click(tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_that_is_used_has_a_name(page: Any) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, textarea")].filter((one) =>
            !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length
              || one.hidden)).map((one) => one.outerHTML)"""
    )
    assert nameless == []
