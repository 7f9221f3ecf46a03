"""What strangers may send: hostile documents, bodies that lie, lines that no keyboard writes.

Every text carries MARKER, so that it can be searched for where no text of a user may stand.
"""

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as set_seed
from hypothesis import strategies as st

MARKER = "Zurriagón"
ODD = "\0\x1b\u202e\u2066\u200b\u200d\ufeff\ufffe\U000e0041\u0301\u2028\x85\r\ufdfa🏳️‍🌈&lt;<0/>ªß"
# Each unit is repeated: a pattern that backtracks, or a search from the start for each unit, takes
# quadratic time.
UNITS: Mapping[str, Sequence[str]] = {
    ".txt": (" ", "\x1c", "1. a.", "a" * 997 + " "),
    ".html": ("<a ", "<a b='", "<!--", "</", "<![CDATA[", "<b>", "</b>", "&", "<script></script",
              "<p translate=no>", "<img alt=hola lang=es title=' '>", "a<0/>", "<svg>", "= ='"),
    ".md": ("[", "![", "`a``", "*a_ ", "> ", "- ", "|a", "[a](<", "[a]: b\n", "<a ", "**a *"),
    ".srt": ("00:00:01,000 --> ", "00:00:01,000 --> 00:00:02,000\n<i>a ", "{\\a", " "),
    ".vtt": ("00:00:01.000 --> 00:00:02.000\na\n\n", "<v ", "NOTE a\n", "&lt;"),
    ".csv": ('"', '"a', "a,", "\r", "a;b,c\t"),
    ".tsv": ("\t", '"a\t"'),
    ".json": ("[", '{"a":', '["\\ud800",', "9", '"', " "),
    ".yaml": ("[", "- ", "? ", "&a ", "!! ", "a: |\n", "- ? ", "'", "---\n"),
    ".po": ('msgid "a"\nmsgstr ""\n', 'msgid "\\', "msgid\t\t\t", '"Language: ', '"a"\n'),
    ".xliff": ("<source>", "<source>a</source>\n", "<file source-language='es'>", "<g>", "<ph>"),
    ".xml": ("<string>", "<string>a", "<b>", "\\", "<!--", "<![CDATA[<b>"),
    ".resx": ("<data><value>a</value></data>", "<value>"), ".stringsdict": ("<key>one</key>",),
    ".ts": ("<message><source>a</source><translation/></message>", "<numerusform/>"),
    ".properties": ("a=b\n", "\\", "a\\ ", "\\u0041", " ", "a:"),
    ".strings": ('"a"="b";', '"', "/*", "\\U", "a"), ".ini": ("[a]\n", "a=b\n", ";", "["),
    ".php": ("<?php ", "<?php\n$a='b';", "[", "'a',", "\"$a", ":a"),
    ".ftl": ("a = b\n", "{", "a = { $b ->\n *[c] ", " .a = b\n"), ".arb": ('{"a":', '"@a",'),
    ".tmx": ("<tu>", "<tu><tuv xml:lang='es'>", "<tuv xml:lang='es'><seg>a</seg></tuv>"),
}  # fmt: skip
ENTITY_BOMB = "<!DOCTYPE a [<!ENTITY b0 'ha'>{}]><a>{}&b29;</a>".format(
    "".join(f"<!ENTITY b{i} '{f'&b{i - 1};' * 10}'>" for i in range(1, 30)), MARKER
)
EXTERNAL_ENTITY = f"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>{MARKER}&x;</a>"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PAGES = b"<</Type/Catalog/Pages 2 0 R>>"
_RUN = f"<w:r><w:t>{MARKER} hola </w:t></w:r>"
_OFFICE = {  # the member with the text, and one that must be there
    ".docx": ("word/document.xml", "word/document.xml"),
    ".xlsx": ("xl/sharedStrings.xml", "xl/workbook.xml"),
    ".pptx": ("ppt/slides/slide1.xml", "ppt/presentation.xml"),
    ".odt": ("content.xml", "content.xml"),
    ".epub": ("page.xhtml", "META-INF/container.xml"),
}


def archive(members: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP file."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return written.getvalue()


def word(body: str) -> bytes:
    """Return a Word document with that body."""
    return archive({"word/document.xml": f'<w:document xmlns:w="{_W}">{body}</w:document>'})


def office(suffix: str, text: str | bytes) -> bytes:
    """Return an office file whose text is that."""
    member, needed = _OFFICE[suffix]
    return archive({needed: "<a/>", member: text})


def pdf(*objects: bytes) -> bytes:
    """Return a PDF of these objects, of which the first is its catalogue."""
    out, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, rows)
    tail = b"trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return out + head + tail % (len(objects) + 1, len(out))


def page(content: bytes, entries: bytes = b"") -> bytes:
    """Return a PDF of one page, with further entries in the dictionary of its content."""
    stream = b"<<%b/Length %d>>stream\n%b\nendstream" % (entries, len(content), content)
    return pdf(
        _PAGES, b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>", stream,
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )  # fmt: skip


BUILT: Sequence[tuple[str, Callable[[int], bytes]]] = (  # of about so many bytes, unpacked or not
    (".docx", lambda n: word("<w:p/>" * (n // 6))),
    (".docx", lambda n: word(f"<w:p>{_RUN * (n // 30)}</w:p>")),
    (".docx", lambda n: word("<w:p><w:ins>" * 120 + _RUN * (n // 30) + "</w:ins></w:p>" * 120)),
    (".docx", lambda n: word("<w:a>" * (n // 11) + "</w:a>" * (n // 11))),
    (".docx", lambda n: office(".docx", b"0" * (100 * n))),
    (".docx", lambda n: office(".docx", ENTITY_BOMB)),
    (".docx", lambda n: office(".docx", EXTERNAL_ENTITY)),
    (".docx", lambda n: archive({f"../../word/{i}\n": MARKER for i in range(n // 150)})),
    (".xlsx", lambda n: office(".xlsx", f"<sst>{'<si><t>hola</t></si>' * (n // 20)}</sst>")),
    (".xlsx", lambda n: archive({"xl/workbook.xml": "", "xl/worksheets/a.xml": "<c/>" * n})),
    (".xlsx", lambda n: office(".xlsx", ENTITY_BOMB)),
    (".pptx", lambda n: office(".pptx", f"<a>{'<r><t>hola</t></r>' * (n // 26)}</a>")),
    (".pptx", lambda n: office(".pptx", f"<p>{'<r><t>a</t></r><br/>' * (n // 20)}</p>")),
    (".pptx", lambda n: office(".pptx", EXTERNAL_ENTITY)),
    (".odt", lambda n: office(".odt", "<text:p>" * (n // 8) + MARKER)),
    (".odt", lambda n: office(".odt", ENTITY_BOMB)),
    (".odt", lambda n: office(".odt", f"<text:p>{'<text:a>a. </text:a>b ' * (n // 23)}</text:p>")),
    (".odt", lambda n: office(".odt", f"<text:p>{'a <text:s text:c=99999999/>' * (n // 27)}")),
    (".odt", lambda n: office(".odt", b" " * (100 * n))),
    (".epub", lambda n: office(".epub", "<html><a b='" + "<p>a" * (n // 4))),
    (".epub", lambda n: office(".epub", "<dc:language" + " " * n)),
    (".yaml", lambda n: b"a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]\n" for i in range(1, n // 60)).encode()),
    (".json", lambda n: b"[" * (n // 2) + b"]" * (n // 2)),
    (".pdf", lambda n: page(b"BT /F 12 Tf " + b"(hola) Tj " * (n // 10) + b"ET")),
    (".pdf", lambda n: page(b"[" * n)),
    (".pdf", lambda n: page(b"BT " + b"(" * n)),
    (".pdf", lambda n: page(zlib.compress(b" " * (50 * n)), b"/Filter/FlateDecode")),
    (".pdf", lambda n: pdf(_PAGES, b"<</Type/Pages/Kids[2 0 R]/Count 1>>")),
    (".pdf", lambda n: pdf(_PAGES, b"<</Type/Pages/Kids[]/Count 0>>", *[b"1"] * (n // 40))),
    (".pdf", lambda n: pdf(_PAGES, b"<</Type/Pages/Kids[%b]/Count 9>>" % (b"3 0 R " * (n // 6)),
                           b"<</Type/Page/Parent 2 0 R>>")),
    (".pdf", lambda n: b"%PDF-1.4\n" + b"1 0 obj\n" * (n // 8)),
)  # fmt: skip


def draw_document(rng: random.Random, size: int) -> tuple[str, bytes]:
    """Return the suffix and the content of a file of about that many bytes; some are damaged."""
    if rng.random() < 0.5:
        suffix = rng.choice(sorted(UNITS))
        unit = rng.choice(UNITS[suffix])
        head = rng.choice(("", f"{MARKER} hola. ", "00:00:01,000 --> 00:00:02,000\n"))
        content = bytearray(f"{head}{unit * (size // len(unit))}".encode())
    else:
        suffix, make = rng.choice(BUILT)
        content = bytearray(make(size))
    if rng.random() < 0.3:
        for _ in range(rng.randint(1, 20)):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return suffix, bytes(content)


def draw(strategy: st.SearchStrategy[str], n: int, seed: int) -> list[str]:
    """Return so many values of a strategy, the same for the same seed."""
    values: list[str] = []

    @set_seed(seed)
    @settings(max_examples=n, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def collect(value: str) -> None:
        values.append(value)

    collect()
    return values[:n]


def draw_texts(n: int, seed: int) -> list[str]:
    """Return lines that nobody writes: any characters, odd ones among words, one many times."""
    words = st.sampled_from(
        ("hola", "Madrid", "1.234,56 €", "https://a.es/%", "<b>", "{{x}}", *ODD)
    )
    line = st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
        st.lists(words, max_size=20).map(" ".join),
        st.lists(words, max_size=20).map("".join),
        st.builds(lambda word, n: word * n, words, st.integers(1, 2000)),
    )
    return [value.replace("\n", " ") for value in draw(line, n, seed)]


def draw_bodies(n: int, seed: int) -> list[bytes]:
    """Return JSON for the API: fields of all kinds, of any value, too deep, too long, cut off."""
    value = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30),
                  st.sampled_from(("es", "en", "auto", "html", "\ud800", 10**30, -1, MARKER))),
        lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=20,
    )  # fmt: skip
    names = ("q", "source", "target", "format", "alternatives", "prefix", "attention", "api_key",
             "glossary", "beam_size", "columns", "n_best", "__proto__")  # fmt: skip
    usual = {"q": f"{MARKER} es grande.", "source": "es", "target": "en"}
    fields = st.dictionaries(st.sampled_from(names), value, max_size=4)
    drawn = draw(fields.map(lambda odd: json.dumps(usual | odd)), n, seed)
    big = [f'{{"q":{unit * 100_000}' for unit in ("[", '{"a":', "[[],", "9", '"\\u0000', '["",')]
    return [body.encode(errors="surrogatepass") for body in (*drawn, *big)]
