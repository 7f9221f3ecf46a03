"""Files of programs and translators: only what is text changes; keys and placeholders stay."""

import importlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import transformer
from tests.documents.localised import FILES, PO, QT, TMX, XLIFF, XLIFF_2, bilingual, loud
from transformer.config import DecodeConfig, UserError
from transformer.documents import folder
from transformer.documents.formats import read
from transformer.documents.passages import Options
from transformer.documents.translate import translate_file

for library in ("polib", "javaproperties", "iniparse", "tree_sitter_php", "fluent.syntax"):
    pytest.importorskip(library, reason="needs the extra `files`")

EN_ES = Options("en", "es")


def translated(content: str, suffix: str, options: Options = EN_ES) -> str:
    def translate(texts: Sequence[str]) -> list[str]:
        return [loud(text) for text in texts]

    return translate_file(content.encode(), suffix, translate, options=options).decode()


@pytest.mark.parametrize("name", FILES)
def test_all_but_the_texts_stays_byte_for_byte(name: str) -> None:
    content, expected = FILES[name]
    assert translated(content, name) == expected
    if name[-4:] not in (".xlf", ".tmx"):  # which get a copy of what is not translated
        assert translated(content.replace("\n", "\r\n"), name) == expected.replace("\n", "\r\n")


# What each file is to translate-toolkit, which writes them in a form of its own.
STORES = {
    "strings.xml": "aresource.AndroidResourceFile", "a.resx": "resx.RESXFile", "a.ts": "ts2.tsfile",
    "a.stringsdict": "stringsdict.StringsDictFile", "a.properties": "properties.javautf8file",
    "a.ini": "ini.inifile", "a.ftl": "fluent.FluentFile", "a.arb": "jsonl10n.ARBJsonFile",
    "a.json": "jsonl10n.I18NextV4File", "a.yml": "yaml.RubyYAMLFile", "a.xlf": "xliff.xlifffile",
    "b.xlf": "xliff2.Xliff2File", "a.tmx": "tmx.tmxfile", "a.po": "pypo.pofile",
    "a.pot": "pypo.pofile",
}  # fmt: skip


def units_of(name: str, content: str) -> list[tuple[str, str, str]]:
    """The units of a file as translate-toolkit reads them."""
    module, store = STORES[name].split(".")
    imported = importlib.import_module(f"translate.storage.{module}")
    file: Any = getattr(imported, store).parsestring(content.encode())
    shown: list[Any] = [unit for unit in file.units if not unit.isheader()]
    is_ini = name == "a.ini"  # which it names by their texts
    return [
        (unit.location if is_ini else unit.getid(), str(unit.source), str(unit.target))
        for unit in shown
    ]


@pytest.mark.parametrize("name", STORES)
def test_another_library_reads_the_same_keys_with_the_texts_translated(name: str) -> None:
    pytest.importorskip("translate.storage", reason="needs translate-toolkit")
    content, expected = FILES[name]
    before, after = (units_of(name, text) for text in (content, expected))
    assert [key for key, *_ in after] == [key for key, *_ in before]
    assert before != after


def test_another_library_would_lose_the_form_of_most() -> None:
    """Why the places of the texts are looked for, and files are not written by that library."""
    pytest.importorskip("translate.storage", reason="needs translate-toolkit")
    changed = []
    for name, place in STORES.items():
        module, store = place.split(".")
        imported = importlib.import_module(f"translate.storage.{module}")
        content = FILES[name][0].encode()
        if bytes(getattr(imported, store).parsestring(content)) != content:
            changed.append(name)
    assert len(changed) >= 9, changed
    android = [key for key, *_ in units_of("strings.xml", FILES["strings.xml"][0])]
    assert "days" not in " ".join(android)  # an array
    assert "icon file.ico" in [text for *_, text in units_of("a.resx", FILES["a.resx"][0])]


def test_msgfmt_takes_what_is_written(tmp_path: Path) -> None:
    if not subprocess.run(["which", "msgfmt"], capture_output=True, check=False).stdout:
        pytest.skip("needs msgfmt")
    for name in ("a.po", "a.pot"):
        (tmp_path / name).write_text(FILES[name][1])
        done = subprocess.run(
            ["msgfmt", "-c", "-o", "/dev/null", tmp_path / name], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("content", "name", "about"),
    [
        (XLIFF, "a.xlf", ("en-US", "es-MX")),
        (XLIFF_2, "a.xlf", ("en-us", "es-419")),
        (QT, "a.ts", ("en", "es_MX")),
        (PO, "a.po", ("", "es_MX")),
    ],
)
def test_a_file_for_other_languages_is_refused(
    content: str, name: str, about: tuple[str, str]
) -> None:
    content = bilingual(content)[0]
    found = read(content.encode(), f".{name[2:]}").metadata
    assert (found.source, found.target) == about
    french = content.replace(about[1], "fr-FR", 1)
    with pytest.raises(UserError, match="expected a file to es, got one that says to fr-FR"):
        translated(french, name)
    if about[0]:
        with pytest.raises(UserError, match=f"expected a file from es, got .* from {about[0]}"):
            translated(content, name, Options("es", "es"))


def test_a_finished_file_stays_as_it_is() -> None:
    for name in ("a.xlf", "b.xlf", "a.tmx", "a.ts", "a.po"):
        assert translated(FILES[name][1], name) == FILES[name][1]
        metadata = read(FILES[name][1].encode(), name[1:], EN_ES).metadata
        assert metadata.notes[-1] == "nothing in it is to be translated"


def test_translations_that_repeat_their_source_are_told_of() -> None:
    (note,) = read(FILES["a.xlf"][0].encode(), ".xlf").metadata.notes
    assert note == "translations that repeat their source are left as they are: 1"
    assert not read(FILES["b.xlf"][0].encode(), ".xlf").metadata.notes


def test_a_language_without_a_region_is_named_by_that_of_the_file() -> None:
    tmx = bilingual(TMX)[0].replace("es-ES", "fr")
    assert '<tuv xml:lang="es"><seg>THE HOUSE</seg></tuv>' in translated(tmx, "a.tmx")
    assert "<seg>SAVE</seg>" in translated(tmx, "a.tmx")
    xliff = "<xliff><file source-language='en'><source>one</source></file></xliff>"
    assert 'target-language="es"' in translated(xliff, "a.xlf")


def test_plural_forms_that_english_has_not_are_left_out() -> None:
    forms = "".join(f"\n <item quantity='{form}'>días</item>" for form in ("one", "many", "other"))
    file = "<resources><plurals name='a'>{}\n</plurals></resources>"
    written = translated(file.format(forms), "a.xml", Options("es", "en"))
    left = forms.replace("\n <item quantity='many'>días</item>", "").replace("días", "DÍAS")
    assert written == file.format(left)


@pytest.mark.parametrize(
    ("text", "asked", "answer", "expected"),
    [
        ("&Save As...", "Save As...", "Guardar como...", "&Guardar como..."),
        ("_File", "File", "Archivo", "_Archivo"),
        ("E&xit", "Exit", "¡Salir!", "¡&Salir!"),
        ("Q&A for AT&T", "Q&A for AT&T", "Hola", "Hola"),
        ("&lt; and &more;", "&lt; and &more;", "Hola", "Hola"),
        ("a_file_name", "a_file_name", "un", "un"),
    ],
)
def test_letters_that_choose_an_entry_go_with_the_translation(
    text: str, asked: str, answer: str, expected: str
) -> None:
    content = f'msgid "{text}"\nmsgstr ""\n'
    assert [passage.text for passage in read(content.encode(), ".po").passages] == [asked]
    written = translate_file(content.encode(), "a.po", lambda texts: [answer])
    assert written.decode() == f'msgid "{text}"\nmsgstr "{expected}"\n'


BILINGUAL = ".xlf", ".tmx", ".ts", ".po", ".pot"
AWKWARD = 'it\'s "{ x" \\ $y <b> & 50% ]]> é #1; = [a] */ ?> \t.\nnext: @z'


@pytest.mark.parametrize("name", FILES)
def test_a_translation_brings_no_syntax(name: str) -> None:
    content = FILES[name][0]
    written = translate_file(
        content.encode(), name, lambda texts: [AWKWARD] * len(texts), options=EN_ES
    )
    suffix = re.sub(".*(?=\\.)", "", name)
    if suffix not in (".ftl", *BILINGUAL):  # whose braces are no text
        assert AWKWARD in {passage.text for passage in read(written, suffix).passages}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.strings", '"a" = "b"', "expected strings as"),
        ("a.strings", '"a" "b";', "expected strings as"),
        ("a.strings", '"a" = "b', "line 1: expected strings as"),
        ("a.ini", "[a\nb=c", "expected an INI file"),
        ("a.ftl", "a = {", "expected sound Fluent, got 'a = {'"),
        ("a.php", "<?php return [;", "expected sound PHP"),
        ("a.arb", "[]", "expected messages by their keys"),
        ("a.po", "hola", "expected a PO file: Syntax error"),
        ("a.resx", "<root><data>", "expected sound XML: no element found"),
        ("a.xml", "<note>Hello</note>", "expected <resources> of Android in .xml"),
        ("a.xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "without entities of its own"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(name: str, content: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)) as raised:
        translated(content, name)
    assert "\n" not in str(raised.value)


def test_the_languages_that_a_file_names_decide_the_direction(tmp_path: Path) -> None:
    opened = transformer.load()
    asked = {
        "a.xlf": "<xliff><file source-language='en-US' target-language='es-MX'><trans-unit>"
        "<source>Home</source><target state='new'/></trans-unit></file></xliff>",
        "a.po": 'msgid ""\nmsgstr ""\n"Language: es_MX\\n"\n\nmsgid "_Home"\nmsgstr ""\n',
        "a.arb": '{"@@locale": "en", "a": "Home"}',
    }
    for name, content in asked.items():
        (tmp_path / name).write_text(content)
        job = folder.Job(tmp_path / name, None, name[1:])
        written, notes = folder.translate_document(job, opened, DecodeConfig(), Options())
        assert b"Casa" in written, written
        assert not notes
    assert (
        b"'es-MX'"
        in folder.translate_document(
            folder.Job(tmp_path / "a.xlf", None, ".xlf"), opened, DecodeConfig(), Options()
        )[0]
    )
