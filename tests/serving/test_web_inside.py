"""The view inside when nothing is there yet, while the server computes, and what it shows first."""

from typing import Any

from tests.serving.pages import FIRST, see


def test_an_empty_view_offers_examples(page: Any) -> None:
    page.click("#tab-inside")
    see(page, "#nothing").to_contain_text("choose one of these")
    page.click("#inside-samples button >> nth=0")
    page.locator("#map svg").wait_for()
    assert page.input_value("#sentence").startswith("¿Dónde")
    see(page, "#writes").to_contain_text("station")
    see(page, "#nothing").to_be_hidden()


def test_the_view_says_at_once_that_it_is_at_work(page: Any) -> None:
    held: list[Any] = []
    page.route("**/continue_after", lambda route: held.append(route))
    page.fill("#source", FIRST)
    page.locator("#target .word").first.wait_for()
    see(page, "#status").to_have_text("Translated")
    first_sign = page.evaluate(
        """async () => {
            const began = performance.now();
            document.querySelector("#tab-inside").click();
            await new Promise(requestAnimationFrame);
            const sign = document.querySelector("#busy");
            return sign.textContent && sign.offsetParent ? performance.now() - began : Infinity;
        }"""
    )
    assert first_sign < 500
    see(page, "#busy").to_contain_text("Looking inside…")
    see(page, "#nothing").to_be_hidden()
    assert len(held) == 1
    held[0].continue_()
    page.locator("#map svg").wait_for()
    see(page, "#busy").to_be_empty()


def test_a_pointer_on_the_tab_asks_for_the_maps_once(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if "continue_after" in r.url else None)
    page.fill("#source", FIRST)
    page.locator("#target .word").first.wait_for()
    see(page, "#status").to_have_text("Translated")
    with page.expect_response("**/continue_after"):
        page.hover("#tab-inside")
    page.click("#tab-inside")
    page.locator("#map svg").wait_for()
    assert len(asked) == 1


def test_a_text_that_is_not_looked_into_yet_is_shown_at_once(page: Any) -> None:
    page.route("**/inspect", lambda route: route.continue_()
               if "attention" in route.request.post_data else None)  # fmt: skip
    page.fill("#source", FIRST)
    see(page, "#status").to_have_text("Translated")
    page.click("#tab-inside")
    page.locator("#map svg").wait_for()
    assert page.input_value("#sentence") == FIRST


def test_the_attention_of_the_translation_comes_first(page: Any) -> None:
    page.click("#tab-inside")
    page.click("#inside-samples button >> nth=0")
    page.locator("#map svg").wait_for()
    assert page.input_value("#kind") == "cross"
    titles = page.locator(".card h2").all_inner_texts()
    assert titles == ["Attention", "The ten likeliest next tokens", "The no-peek mask"]
