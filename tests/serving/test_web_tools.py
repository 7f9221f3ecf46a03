"""What the page offers beside the translation: examples, voices, keys, pasting, an about line."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import transformer
from tests.serving.pages import ENGLISH, FIRST, see

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
PHONE: dict[str, Any] = {
    "viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True,
}  # fmt: skip

# The voices of a system: one English, one Spanish over the network. `spoken` has what was said.
VOICES = """
    window.spoken = [];
    const voices = [{ lang: "es-ES", localService: false }, { lang: "en_US", localService: true }];
    const speech = Object.assign(new EventTarget(), {
        getVoices: () => voices, speak: (one) => spoken.push(one), cancel: () => spoken.push(null),
    });
    Object.defineProperty(window, "speechSynthesis", { value: speech });
    window.SpeechSynthesisUtterance = function (text) { this.text = text; };
"""


def test_a_page_without_text_offers_examples(page: Any) -> None:
    see(page, "#legend").to_be_hidden()
    see(page, "#samples button").to_have_count(3)
    page.click("#samples button >> nth=1")
    see(page, "#source").to_have_value("We met in Madrid ten years ago, in the rain.")
    see(page, "#source").to_be_focused()
    see(page, "#target").to_contain_text("Madrid hace diez años")
    assert (page.input_value("#from"), page.input_value("#to")) == ("auto", "es")
    see(page, "#samples").to_be_hidden()
    see(page, "#legend").to_be_visible()
    page.select_option("#from", "en")
    page.click("#clear")
    page.click("#samples button >> nth=0")
    see(page, "#target").to_contain_text("station")
    assert (page.input_value("#from"), page.input_value("#to")) == ("es", "en")


def test_a_text_is_read_aloud_by_a_voice_of_this_device(page: Any) -> None:
    page.add_init_script(VOICES)
    page.reload()
    see(page, "#to option").to_have_count(2)
    see(page, "#listen-target").to_be_hidden()  # nothing to read
    page.fill("#source", FIRST)
    see(page, "#status").to_have_text("Translated")
    see(page, "#listen-source").to_be_hidden()  # its voice would send the text away
    page.click("#listen-target")
    see(page, "#listen-target").to_have_accessible_name("Stop")
    said = page.evaluate("(({ text, lang, voice }) => [text, lang, voice.lang])(spoken.at(-1))")
    assert said == [ENGLISH, "en", "en_US"]
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.evaluate("spoken.at(-1).onend()")
    see(page, "#listen-target").to_have_accessible_name("Listen")
    page.click("#listen-target")
    page.click("#listen-target")
    assert page.evaluate("spoken.at(-1)") is None
    see(page, "#listen-target").to_have_accessible_name("Listen")


def test_a_browser_without_voices_has_no_button_to_listen(page: Any) -> None:
    page.add_init_script("Object.defineProperty(window, 'speechSynthesis', { value: undefined })")
    page.reload()
    page.fill("#source", FIRST)
    see(page, "#status").to_have_text("Translated")
    see(page, "#listen-target").to_be_hidden()


def test_keys_translate_and_swap(page: Any) -> None:
    see(page, "#tab-translate").to_have_attribute("title", re.compile(r"Ctrl\+Enter"))
    see(page, "#swap").to_have_attribute("title", re.compile(r"Ctrl\+Shift\+S"))
    page.evaluate("globalThis.setTimeout = () => 0")  # typing alone asks for nothing
    page.fill("#source", FIRST)
    page.wait_for_timeout(600)
    see(page, "#target").to_be_empty()
    page.keyboard.press("Control+Enter")
    see(page, "#target").to_have_text(ENGLISH)
    page.keyboard.press("Control+Shift+S")
    see(page, "#source").to_have_value(ENGLISH)
    assert (page.input_value("#from"), page.input_value("#to")) == ("en", "es")
    page.click("#tab-inside")
    page.keyboard.press("Control+Enter")
    see(page, "#translate").to_be_visible()


def test_a_translation_is_edited_before_it_is_copied(page: Any) -> None:
    see(page, "#edit").to_be_disabled()
    page.fill("#source", FIRST)
    see(page, "#status").to_have_text("Translated")
    page.click("#edit")
    see(page, "#edited").to_be_focused()
    see(page, "#edited").to_have_value(ENGLISH)
    see(page, "#target").to_be_hidden()
    page.fill("#edited", "My own words.")
    page.click("#copy")
    see(page, "#status").to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "My own words."
    page.select_option("#interface", "es")
    see(page, "#edited").to_have_value("My own words.")
    see(page, "#edit").to_have_text("Descartar cambios")
    page.click("#edit")
    see(page, "#target").to_have_text(ENGLISH)
    page.click("#edit")
    page.fill("#edited", "My own words.")
    page.click("#swap")
    see(page, "#source").to_have_value("My own words.")
    see(page, "#edited").to_be_hidden()


def test_a_phone_pastes_taps_and_shows_the_whole_text(open_page: Callable[..., Any]) -> None:
    page = open_page(**PHONE)
    page.evaluate("text => navigator.clipboard.writeText(text)", FIRST)
    page.tap("#paste")
    see(page, "#target").to_have_text(ENGLISH)
    see(page, "#legend .touch").to_have_text("Tap a word for other words.")
    see(page, "#legend .pointer").to_be_hidden()
    page.fill("#source", f"{FIRST} " * 8)
    hidden = "one => one.scrollHeight - one.clientHeight"
    assert page.locator("#source").evaluate(hidden) <= 0
    page.fill("#source", f"{FIRST} " * 80)
    assert page.locator("#source").bounding_box()["height"] <= 667 * 0.6 + 1
    page.evaluate("() => { navigator.clipboard.readText = () => Promise.reject(new Error()); }")
    page.tap("#paste")
    see(page, "#status").to_contain_text("hold a finger on the text field")


def test_a_mouse_has_no_button_to_paste_and_no_word_of_taps(page: Any) -> None:
    page.fill("#source", FIRST)
    see(page, "#paste").to_be_hidden()
    see(page, "#legend .touch").to_be_hidden()
    see(page, "#legend .pointer").to_contain_text("click it")


def test_the_page_says_what_it_is(page: Any) -> None:
    see(page, "#about").to_have_text(
        f"Transformer {transformer.__version__}, model “both”. Works offline: no text goes to "
        "another server. Licence: Apache 2.0."
    )
    page.select_option("#interface", "es")
    see(page, "#about").to_contain_text("Funciona sin conexión")


def test_text_of_a_third_language_is_called_so(page: Any) -> None:
    french = "Bonjour, comment allez-vous ? Je voudrais réserver une table pour deux personnes."
    page.fill("#source", french)
    see(page, "#notices").to_contain_text("This seems to be in another language")
    see(page, "#doubts").to_be_hidden()
    see(page, "#from option[value=auto]").to_have_text("Detect language")
    page.select_option("#interface", "es")
    see(page, "#notices").to_contain_text("Esto parece estar en otro idioma")
    see(page, "#from option[value=auto]").to_have_text("Detectar idioma")
    page.fill("#source", FIRST)
    see(page, "#notices").to_be_hidden()
    see(page, "#from option[value=auto]").to_have_text("Español · auto")
