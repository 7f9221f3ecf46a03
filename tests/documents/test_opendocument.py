"""Presentations and spreadsheets of OpenDocument, and FictionBook."""

import io
import zipfile

import pytest

from tests.documents.shouting import ES_EN, archive, raised, shout, shouted
from transformer.documents.translate import translate_file

XMLNS = "xmlns:{0}='urn:oasis:names:tc:opendocument:xmlns:{0}:1.0'".format
SPREADSHEET = (
    f"<office:document-content {XMLNS('office')} {XMLNS('table')} {XMLNS('text')}>"
    "<table:content-validation table:condition='cell-content()=&quot;no&quot;'>"
    "<table:help-message><text:p>hola</text:p></table:help-message></table:content-validation>"
    "<table:table table:name='no'><table:table-row><table:table-cell office:value-type='string'>"
    "<text:p>El mar <text:span>azul</text:span></text:p></table:table-cell>"
    "<table:table-cell office:value-type='float' office:value='3'><text:p>3</text:p>"
    "</table:table-cell><table:table-cell table:formula='of:=[.A1]' office:value-type='string'>"
    "<text:p>no</text:p></table:table-cell></table:table-row></table:table>"
    "</office:document-content>"
)
PRESENTATION = (
    f"<office:document-content {XMLNS('office')} {XMLNS('draw')} {XMLNS('text')} "
    f"{XMLNS('presentation')}><draw:page draw:name='no'><draw:frame><draw:text-box>"
    "<text:list><text:list-item><text:p>El mar</text:p></text:list-item></text:list>"
    "</draw:text-box></draw:frame><presentation:notes><text:p>hola <text:s/>azul</text:p>"
    "</presentation:notes></draw:page></office:document-content>"
)


@pytest.mark.parametrize(
    ("suffix", "content"), [(".ods", SPREADSHEET), (".odp", PRESENTATION)], ids=[".ods", ".odp"]
)
def test_slides_and_cells_change_but_what_is_computed_stays(suffix: str, content: str) -> None:
    etree = pytest.importorskip("lxml.etree", reason="needs the extra `files`")
    members: dict[str, str | bytes] = {
        "mimetype": b"no",
        "content.xml": content,
        "Pictures/a.png": b"\x89PNG",
    }
    written = translate_file(archive(**members), f"a{suffix}", shout, options=ES_EN)
    with zipfile.ZipFile(io.BytesIO(written)) as file:
        assert file.namelist() == [*members]
        assert file.read("Pictures/a.png") == b"\x89PNG"
        said = file.read("content.xml")
    assert said.decode() == raised(content, "hola El mar azul")
    etree.fromstring(said)


FICTION = """<?xml version="1.0" encoding="windows-1252"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="no">
<description><title-info><genre>no</genre><author><first-name>Ana</first-name></author>
<book-title>El mar</book-title><annotation><p>hola</p></annotation><lang>es</lang></title-info>
<document-info><history><p>no</p></history></document-info></description>
<body><section><title><p>El año</p></title><epigraph><p>hola</p></epigraph>
<p>El <strong>mar</strong> azul.<a l:href="#n1" type="note">[1]</a></p><empty-line/>
<poem><stanza><v>El sol</v></stanza></poem><p><code>no</code></p><image l:href="#no"/></section>
</body><binary id="no" content-type="image/png">bm8K</binary></FictionBook>
"""


def test_a_fiction_book_keeps_all_but_its_words_and_says_its_language() -> None:
    content = FICTION.encode("cp1252")
    written = translate_file(content, "a.fb2", shout, options=ES_EN).decode("cp1252")
    expected = raised(FICTION, "hola El mar año azul sol").replace("<lang>es", "<lang>en")
    assert written == expected
    assert translate_file(content, "a.fb2", list) == content
    assert shouted("<FictionBook><p>hola</p></FictionBook>", ".fb2").count("HOLA") == 1
