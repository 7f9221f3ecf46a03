"""Formatting follows the words of a real search: by attention where it tells, else apart."""

from collections.abc import Sequence
from pathlib import Path

from transformer.config import DecodeConfig
from transformer.documents.translate import TranslatedSegment, inspect_text, translate_file
from transformer.translation.translator import Translator

PAGE = b"<p>el <b>gato</b> negro. la <i>casa. el</i> perro</p>"


def test_marks_are_found_by_looking_into_each_sentence(random_checkpoint: Path) -> None:
    translator = Translator.load(random_checkpoint)
    asked: list[str] = []

    def inspect(text: str) -> Sequence[TranslatedSegment]:
        asked.append(text)
        return inspect_text(translator, translator, text, DecodeConfig())

    def translate(texts: Sequence[str]) -> list[str]:
        return [translation.text for translation in translator.translate(texts)]

    written = translate_file(PAGE, "a.html", translate, inspect).decode()
    assert asked == ["el gato negro. la casa. el perro"]
    assert written.count("<b>") == written.count("<i>") == 1
    (said,) = translate(asked)
    plain = written
    for tag in ("<p>", "</p>", "<b>", "</b>", "<i>", "</i>"):
        plain = plain.replace(tag, "")
    assert plain == said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def test_a_sentence_that_the_guard_changed_is_translated_around_its_marks() -> None:
    part = TranslatedSegment("el gato", "THE CAT")
    written = translate_file(
        b"el <b>gato</b>",
        "a.html",
        lambda texts: [text.upper() for text in texts],
        lambda _: [part],
    )
    assert written == b"EL <b>GATO</b>"
