"""Translation catalogues and memories (XLIFF, TMX, Qt, PO): add the translations that they lack.

What is translated stays. Codes that begin and end a format (bpt and ept, bx and ex, sc and ec) are
read as the tags of an element, so that words stay between them.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from transformer.config import UserError
from transformer.documents import html, xml
from transformer.documents.edits import TextEdits
from transformer.documents.passages import (
    Metadata,
    Options,
    Parsed,
    Unit,
    bytes_parser,
    has_words,
    resolve_target,
    unescape,
)
from transformer.documents.tokens import Token, attribute_values, replace_attribute
from transformer.text.language import language_code

_RULES = html.MarkupRules(
    inline=frozenset({"g", "mrk", "pc", "hi"}),
    untranslatable=frozenset({"x", "bx", "ex", "ph", "it", "bpt", "ept", "ut", "sc", "ec", "cp",
                              "note", "prop", "alt-trans", "byte"}),
    escape=xml.escape_text,
)  # fmt: skip
_BEGIN, _END = {"bpt", "bx", "sc"}, {"ept", "ex", "ec"}
_PAIR_ATTRIBUTES = "startref", "rid", "i", "id"  # the first of them that a code has pairs it
_UNTRANSLATED = {"new", "needs-translation", "initial"}  # states
_CHARSET = re.compile(r"(?<=charset=)[\w-]++")
_LEGACY_CHARSET = re.compile(rb"(?<=charset=)(?i:iso-?8859|windows-|cp|latin-?\d|koi8)[\w-]*+")
PO_HEADER_SIZE = 4096  # bytes of a file in which its encoding is named
_MSGSTR = re.compile(
    r'(?:^|(?<=\r))[ \t]*+msgstr(?:\[(\d+)\])?[ \t]*+("[^\r\n]*+(?:\s++"[^\r\n]*+)*+)',
    re.MULTILINE,
)
_TEMPLATE = {"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;": "Plural-Forms: nplurals=2; "
             "plural=(n != 1);", "Content-Transfer-Encoding: ENCODING":
             "Content-Transfer-Encoding: 8bit"}  # fmt: skip


def _segment_units(tokens: Sequence[Token]) -> Iterator[Unit]:
    """Return the units of a segment's tokens, whose pairs of codes, as bpt and ept, become tags.

    A code whose other end is in another segment stays a placeholder.
    """
    codes = [
        (token, f"#{next((values[name] for name in _PAIR_ATTRIBUTES if name in values), '')}")
        for token in tokens
        if token.kind == "kept" and token.name in _BEGIN | _END
        for values in [attribute_values(token.source)]
    ]
    begun = {number for token, number in codes if token.name in _BEGIN}
    paired = begun & {number for token, number in codes if token.name in _END}
    for token, number in codes:
        if number in paired:
            token.kind, token.name = "open" if token.name in _BEGIN else "close", number
    return html.extract_units(tokens, replace(_RULES, inline=_RULES.inline | paired))


def parse_xliff(text: str, options: Options) -> Parsed[str]:
    """Parse the segments of XLIFF 1.2 or 2 without a translation; UserError for unsound XML."""
    file = xml.Elements(text, _RULES)
    heads = [place for place in range(len(file.tokens)) if _languages(file, place)[0]] or [0]
    n_same = 0
    for head, stop in zip(heads, [*heads[1:], len(file.tokens)], strict=True):
        source, target = _languages(file, head)
        code, is_changed = resolve_target(source, target, options), False
        for start, end in file.find("source", start=head, stop=stop):
            if _fill_target(file, start, end):
                is_changed = True
                continue
            place, source_text = file.next_place(end), file.source(start + 1, end)
            is_same = source_text == file.source(place + 1, file.end(place))
            n_same += is_same and has_words(unescape(source_text))
        if is_changed and code and not target and source:
            tag = file.tokens[head]
            name = "target-language" if tag.name == "file" else "trgLang"
            tag.source = f'{tag.source[:-1]} {name}="{code}">'
    note = f"translations that repeat their source are left as they are: {n_same}"
    return file.parsed(Metadata(*_languages(file, heads[0]), (note,) if n_same else ()))


def _languages(file: xml.Elements, place: int) -> tuple[str, str]:
    """Return source and target language of the start tag, token `place`, of a file; "" for none."""
    is_head = file.tokens[place].name in ("file", "xliff") and file.tokens[place].kind == "open"
    values = file.attributes(place) if is_head else {}
    source = values.get("source-language", values.get("srclang", ""))
    return source, values.get("target-language", values.get("trglang", ""))


def _fill_target(file: xml.Elements, start: int, end: int) -> bool:
    """Add the units of a <source>, to be written in its target, new or emptied; return True.

    `start` and `end` are the places of its tags. Returns False, with nothing changed, if the target
    has a translation. A copy of the source, in a state that means untranslated, is none.
    """
    tokens, source = file.tokens, (start, end)
    place = file.next_place(end)
    if tokens[place].name == "seg-source" and tokens[place].kind == "open":
        source = place, file.end(place)
        place = file.next_place(source[1])
    target, span = tokens[place], (source[0] + 1, source[1])
    tags = [*tokens[max(start - 2, 0) : start], target]  # those that may have the state
    states = [attribute_values(tag.source).get("state") for tag in tags]
    if target.name != "target" or target.kind not in ("open", "empty"):
        copies = file.insert_copy(source[1], *span, "<target>", "</target>")
    else:
        inside = tokens[place + 1 : file.end(place)]
        is_copy = inside == tokens[start + 1 : end] and not _UNTRANSLATED.isdisjoint(states)
        if not is_copy and any(t.name != "mrk" and t.source.strip() for t in inside):
            return False
        copies = file.fill(place, *span)
    file.units += _segment_units(copies)
    for tag, state in zip(tags, states, strict=True):
        if tag.kind in ("open", "empty") and state in _UNTRANSLATED:
            tag.source = replace_attribute(tag.source, "state", "translated")
    return True


def parse_tmx(text: str, options: Options) -> Parsed[str]:
    """Parse the units of a TMX file with a text in the source language but none in the target one.

    Without a source in `options` it is the first language of each unit. UserError for unsound XML;
    without a target, `render` raises it.
    """
    file = xml.Elements(text, _RULES)

    def language(place: int) -> str:
        values = file.attributes(place)
        return values.get("xml:lang", values.get("lang", ""))

    codes = [language(place) for place, _ in file.find("tuv")]
    target = next((code for code in codes if language_code(code) == options.target), options.target)
    for start, end in file.find("tu"):
        variants = {language_code(language(place)): (place, stop)
                    for place, stop in file.find("tuv", start=start, stop=end)}  # fmt: skip
        code = options.source or next(iter(variants), "")
        if code not in variants or options.target in variants:
            continue
        place, stop = variants[code]
        name = "xml:lang" if "xml:lang" in file.attributes(place) else "lang"
        head = replace_attribute(file.tokens[place].source, name, target)
        file.units += _segment_units(file.insert_copy(stop, place + 1, stop + 1, head))
    heads = [file.attributes(place).get("srclang", "") for place, _ in file.find("header")] or [""]
    parsed = file.parsed(Metadata(heads[0].replace("*all*", "")))
    # A file whose languages are only detected needs no target language.
    return parsed if options.target else replace(parsed, render=_refuse_without_target)


def _refuse_without_target() -> str:
    raise UserError("expected a target language for a TMX file")


def parse_qt(text: str, options: Options) -> Parsed[str]:
    """Parse the messages of a Qt file (.ts) without a translation; UserError for unsound XML."""
    file = xml.Elements(text, _RULES)
    head = next((file.attributes(place) for place, _ in file.find("TS")), {})
    metadata = Metadata(head.get("sourcelanguage", ""), head.get("language", ""))
    resolve_target(metadata.source, metadata.target, options)
    for start, end in file.find("message"):
        sources = [*file.find("source", start=start, stop=end)]
        for place, stop in file.find("translation", start=start, stop=end) if sources else ():
            tag = file.tokens[place]
            forms = [*file.find("numerusform", start=place, stop=stop)] or [(place, stop)]
            is_done = any(file.source(first + 1, last).strip() for first, last in forms)
            if is_done or file.attributes(place).get("type") in ("vanished", "obsolete"):
                continue
            for number, (first, _) in enumerate(forms):
                copies = file.fill(first, sources[0][0] + 1, sources[0][1])
                for copy in copies:  # as in file(s)
                    copy.source = copy.source.replace("(s)", "s" if number else "")
                file.units += xml.text_units(copies, _RULES)
            tag.source = tag.source.replace(' type="unfinished"', "")
    return file.parsed(metadata)


def parse_po(content: bytes | str, options: Options) -> Parsed[bytes]:
    """Parse the entries of a PO file, or of a template, that have no translation.

    The file is read in the encoding that its header names, and written in UTF-8. UserError if polib
    cannot read it.
    """
    if isinstance(content, bytes) and (name := _LEGACY_CHARSET.search(content, 0, PO_HEADER_SIZE)):
        encoding = codecs.lookup(name[0].decode()).name
        content = _CHARSET.sub("UTF-8", content.decode(encoding), count=1)
    return bytes_parser(_parse_po_text)(content, options)


def _parse_po_text(text: str, options: Options) -> Parsed[str]:
    import polib

    try:
        file = polib.pofile(f"\n{text}")  # a text that begins so is no name of a file to it
    except OSError as error:
        raise UserError(f"expected a PO file: {str(error).strip()}") from None
    newline = "\r\n" if "\r\n" in text else "\n"

    def quote(string: str) -> str:
        lines = [polib.escape(line) for line in string.splitlines(keepends=True)]
        return newline.join(f'"{line}"' for line in (["", *lines] if len(lines) > 1 else lines))

    lines = text.splitlines(keepends=True)
    offsets = [*accumulate(map(len, lines), initial=0)]
    entries = sorted(file, key=lambda entry: entry.linenum)
    starts = [offsets[max(entry.linenum - 2, 0)] for entry in entries]
    edits, language = TextEdits(text), file.metadata.get("Language", "")
    if code := resolve_target("", language, options):
        for start, line in zip(offsets, lines, strict=False):
            if start >= (starts or [len(text)])[0]:
                break
            _correct_header(edits, start, line, code)
    for entry, start, stop in zip(entries, starts, [*starts[1:], len(text)], strict=True):
        translations = dict(entry.msgstr_plural) or {0: entry.msgstr}
        for match in () if entry.obsolete else _MSGSTR.finditer(text, start, stop):
            form = int(match[1] or 0)
            if not translations.get(form):
                source = (form and entry.msgid_plural) or entry.msgid
                edits.translate(
                    match.start(2), match.start(2) + len(match[2].rstrip()), source, quote
                )
    return edits.parsed(Metadata(target=language))


def _correct_header(edits: TextEdits, start: int, line: str, code: str) -> None:
    """Correct `line`, as the header has it from offset `start` on: the charset becomes UTF-8.

    A missing language becomes `code`; open plural forms and encoding of a template are filled in.
    """
    field = line.strip().removeprefix('"').removesuffix('\\n"')
    correct = _TEMPLATE.get(field, field)
    if field.startswith("Language:") and not field[9:].strip():
        correct = f"Language: {code}"
    elif field.startswith("Content-Type:"):
        correct = _CHARSET.sub("UTF-8", field)  # ASCII, or the CHARSET of a template
    if correct != field:
        place = start + line.index(field)
        edits.replace(place, place + len(field), correct)
