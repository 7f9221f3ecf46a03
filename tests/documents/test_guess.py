"""What lines would tear is refused by name; prose of any ending, or of none, is text."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.documents.shouting import shouted
from transformer.config import UserError
from transformer.documents import folder, formats, passages, values
from transformer.documents.guess import guess_kind

TORN = {
    "a program": 'fn main() {\n    println!("Hello");\n}\n',
    "a program or": 'label start:\n    scene bg room\n    e "The door opens."\n    jump home\n',
    "a program or settings": "all:\n\tgcc -o a a.c\nclean:\n\trm -f a\n",
    "settings": "[Script Info]\nTitle: x\n\n[Events]\nDialogue: 0,Good morning.\\NHow are you?\n",
    "XML": '<?xml version="1.0"?>\n<a>Hello</a>\n',
    "JSON": '{"cells": [\n]}\n',
    "an e-mail": "From: a@example.com\nSubject: Hi\n\nHello, friend.\n",
    "TeX": "% a\n\\documentclass{article}\nHello\n",
    "a script": "#!/bin/sh\necho hello\n",
    "a ZIP archive": "PK\x03\x04",
    "no text": "\x7fELF\0",
}
PROSE = (
    "Querida Ana:\n\n¿Cómo estás? (Bien.)\n- Uno\n- Dos: tres\n\n«Hola», dijo. [risas] [1] Ver\n"
    "JUAN: No sé.\n1. Uno\n",
    "Shall I compare thee to a summer's day?\n  And summer's lease hath all too short a date;\n",
    "house\ndog\n",
    "3/12/24, 9:15 PM - Ann: Hi, how are you?\n[21:25] Bob: fine\n",
    "",
)


@pytest.mark.parametrize("what", TORN)
def test_what_lines_would_tear_is_refused_by_what_it_seems(what: str) -> None:
    with pytest.raises(UserError, match=rf"that ends in \.txt.*got '\.x', .* {what}.*--format txt"):
        shouted(TORN[what], ".x")
    assert formats.resolve_suffix(".x", TORN[what].encode(), "srt") == ".srt"
    assert formats.resolve_suffix(".x", TORN[what].encode(), ".txt") == ".txt"


@pytest.mark.parametrize("text", PROSE)
def test_prose_of_any_ending_is_text(text: str) -> None:
    assert not guess_kind(text.encode())
    for ending in (".x", "", ".es", ".text", ".LOG", ".lst"):
        assert shouted(text, ending) == text.upper()


@pytest.mark.parametrize("ending", formats.REFUSED)
def test_formats_that_are_not_read_are_refused_by_name(ending: str) -> None:
    assert ending not in formats.FORMATS
    with pytest.raises(UserError, match=rf"got '\{ending}', an? .* (is|are) "):
        formats.resolve_suffix(ending, b"Hola.")


def test_a_format_that_is_not_there_is_no_text() -> None:
    with pytest.raises(UserError, match=r"that ends in \.txt, .*; got '\.docy'$"):
        formats.resolve_suffix(".es", b"Hola.", "docy")


def test_a_folder_passes_over_what_is_not_known_unless_its_format_is_said(tmp_path: Path) -> None:
    for name in ("a.txt", "NOTES", "b.json"):
        (tmp_path / name).write_text("[]" if name == "b.json" else "Hola.")
    (tmp_path / "c.cfg").write_text("a = Hola")
    (tmp_path / "Makefile").write_text(TORN["a program or settings"])
    output = tmp_path / "out"
    planned, passed = folder.plan_jobs([tmp_path], output)
    assert [job.source.name for job in planned] == ["NOTES", "a.txt", "b.json"]
    assert [path.name for path in passed] == ["Makefile", "c.cfg"]
    planned, passed = folder.plan_jobs([tmp_path], output, "srt")
    assert ([job.suffix for job in planned], passed) == (
        [".srt", ".txt", ".txt", ".json", ".srt"], [],
    )  # fmt: skip


def test_what_could_not_be_read_again_is_not_written() -> None:
    document = formats.read(b'{"a": "b"}', ".json")
    document.write([[("c", None)]])

    def torn(text: str, options: passages.Options) -> passages.Parsed[str]:
        return replace(values.parse_json(text, options), render=lambda: "{")

    kind = replace(formats.FORMATS[".json"], parse=passages.bytes_parser(torn))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(formats.FORMATS, ".json", kind)
        with pytest.raises(UserError, match="nothing is written, for it could not be read again: "):
            formats.read(b'{"a": "b"}', ".json").write([[("c", None)]])
