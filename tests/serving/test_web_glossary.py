"""The drawer of the glossary: typed, kept, imported, exported; what was not honoured is marked."""

from pathlib import Path
from typing import Any

from tests.serving.pages import ENGLISH, FIRST, see


def test_a_term_is_typed_used_kept_and_given_away(page: Any, tmp_path: Path) -> None:
    page.fill("#source", f"{FIRST}\nNo quiero agua.")
    see(page, "#status").to_have_text("Translated")
    page.focus("#glossary summary")
    page.keyboard.press("Enter")
    see(page, "#terms li").to_have_count(1)
    asked: list[Any] = []
    page.on("request", lambda r: asked.append(r.post_data_json) if "/translate" in r.url else None)
    for key in ("Tab", *"libros", "Tab", *"quinces"):
        page.keyboard.press(key)
    see(page, "#target").to_contain_text("quinces")
    assert {"q": FIRST, "glossary": [["es", "en"], ["libros", "quinces"]]}.items() <= (
        asked[-1].items()
    )
    assert all(one["q"] == FIRST for one in asked)  # the other paragraph has no term
    see(page, "#glossary-title").to_have_text("Glossary (1)")
    see(page, "#terms li").to_have_count(2)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel") == "Spanish, term 2"
    page.reload()  # the address brings the text back
    see(page, "#target").to_contain_text("quinces")
    see(page, "#target .word").not_to_have_count(0)  # it is looked into as any other
    page.click("#glossary summary")
    with page.expect_download() as download:
        page.click("#export")
    download.value.save_as(tmp_path / "terms.tsv")
    assert (tmp_path / "terms.tsv").read_text("utf-8") == "es\ten\nlibros\tquinces\n"
    page.click("#terms button >> nth=0")
    see(page, "#target").to_contain_text(ENGLISH)
    see(page, "#glossary-title").to_have_text("Glossary")
    content = b"# own\nen\tes\nthree\ttres\na\tb\tc\nTom\n"
    file = {"name": "terms.tsv", "mimeType": "text/plain", "buffer": content}
    page.set_input_files("#import-file", file)
    see(page, "#glossary-said").to_have_text("Added: 2. Rows that are no pair: 1.")
    assert page.locator("#terms input").evaluate_all("all => all.map(one => one.value)") == [
        "tres", "three", "Tom", "", "", "",
    ]  # fmt: skip


def test_what_is_not_as_the_glossary_says_is_marked(page: Any) -> None:
    answer = {"translatedText": "My sister.", "warnings": ["term missing: quinces"]}
    page.click("#glossary summary")
    page.locator("#terms input").nth(0).fill("libros")
    page.locator("#terms input").nth(1).fill("quinces")
    page.route("**/translate", lambda route: route.fulfill(json=answer))
    page.fill("#source", FIRST)
    see(page, "#terms .missed .hint").to_have_text("Not as the glossary says in this translation.")
    see(page, "#warnings").to_have_text("a term of the glossary is missing: quinces")
    page.select_option("#interface", "es")
    see(page, "#terms .missed .hint").to_contain_text("No está como dice el glosario")


def test_a_file_of_another_kind_is_no_glossary(page: Any) -> None:
    page.click("#glossary summary")
    for name, content in (("a.csv", "casa,cottage\nperro,hound\n"), ("a.xml", "<r>\n\t<s/>\n</r>")):
        file = {"name": name, "mimeType": "text/plain", "buffer": content.encode()}
        page.set_input_files("#import-file", file)
        see(page, "#glossary-said").to_contain_text(
            f"{name} is no glossary: no tab in any row. Is it a CSV?"
        )
    see(page, "#glossary-title").to_have_text("Glossary")
