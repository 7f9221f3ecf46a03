"""Catalogues and memories of translators: XLIFF, TMX and Qt's files get what they lack.

What is translated stays. Codes that begin and end a format (bpt and ept, bx and ex, sc and ec) are
read as the tags of an element, so that words stay between them.
"""

from collections.abc import Sequence
from dataclasses import replace

from transformer.config import UserError
from transformer.documents import html, xml
from transformer.documents.passages import (
    Metadata,
    Options,
    Parsed,
    has_words,
    resolve_target,
    unescape,
)
from transformer.documents.tokens import Token, attribute_values, replace_attributes
from transformer.text.language import language_code

_LANGUAGE = html.MarkupRules(
    inline=frozenset({"g", "mrk", "pc", "hi"}),
    untranslatable=frozenset({"x", "bx", "ex", "ph", "it", "bpt", "ept", "ut", "sc", "ec", "cp",
                    "note", "prop", "alt-trans", "byte"}),
    escape=xml.escape_text,
)  # fmt: skip
_BEGIN, _END = {"bpt", "bx", "sc"}, {"ept", "ex", "ec"}
_NUMBERS = ("startref", "rid", "i", "id")  # the first of these attributes tells what it belongs to
_NEW = {"new", "needs-translation", "initial"}  # the states of what is not translated


def _translate(
    file: xml.Elements, place: int, span: tuple[int, int], before: str = "", behind: str = ""
) -> None:
    """Puts a translated copy of what is in a span behind a place."""
    copies = file.insert_copy(place, *span, before, behind)
    file.units += html.extract_units(copies, _paired(copies))


def _paired(tokens: Sequence[Token]) -> html.MarkupRules:
    """Makes tags of the codes that begin and end a format; what then is inline."""
    codes = [token for token in tokens if token.kind == "kept" and token.name in _BEGIN | _END]
    numbers = [_number(token.source) for token in codes]
    ends = {n for n, token in zip(numbers, codes, strict=True) if token.name in _END}
    paired = ends & {n for n, token in zip(numbers, codes, strict=True) if token.name in _BEGIN}
    for number, token in zip(numbers, codes, strict=True):
        if number in paired:  # the other one may be in another segment
            token.kind, token.name = "open" if token.name in _BEGIN else "close", number
    return replace(_LANGUAGE, inline=_LANGUAGE.inline | paired)


def _number(code: str) -> str:
    """The number that a code shares with its other end, which no name of an element is like."""
    values = attribute_values(code)
    return "#" + next((values[name] for name in _NUMBERS if name in values), "")


def xliff(text: str, options: Options) -> Parsed[str]:
    """The segments of an XLIFF file, 1.2 or 2, without a translation."""
    file = xml.Elements(text, _LANGUAGE)
    heads = [place for place in range(len(file.tokens)) if _languages(file, place)[0]] or [0]
    n_same = 0
    for head, stop in zip(heads, [*heads[1:], len(file.tokens)], strict=True):
        source, target = _languages(file, head)
        code, n_filled = resolve_target(source, target, options), 0
        for start, end in file.find("source", start=head, stop=stop):
            n_filled += (is_filled := _fill(file, start, end))
            n_same += not is_filled and _repeats(file, start, end)
        if n_filled and code and not target and source:
            tag = file.tokens[head]
            name = "target-language" if tag.name == "file" else "trgLang"
            tag.source = f'{tag.source[:-1]} {name}="{code}">'
    note = f"translations that repeat their source are left as they are: {n_same}"
    return file.parsed(Metadata(*_languages(file, heads[0]), (note,) if n_same else ()))


def _languages(file: xml.Elements, place: int) -> tuple[str, str]:
    """The languages that the head of a file names, from and to."""
    if file.tokens[place].name not in ("file", "xliff") or file.tokens[place].kind != "open":
        return "", ""
    values = file.attributes(place)
    source, target = ("source-language", "srclang"), ("target-language", "trglang")
    return tuple(values.get(a, values.get(b, "")) for a, b in (source, target))  # type: ignore[return-value]


def _fill(file: xml.Elements, start: int, end: int) -> bool:
    """Translates a source into its target, unless that is translated; whether it was not."""
    tokens, source = file.tokens, (start, end)
    place = file.next_place(end)
    if tokens[place].name == "seg-source" and tokens[place].kind == "open":
        source = place, file.end(place)
        place = file.next_place(source[1])
    target, span = tokens[place], (source[0] + 1, source[1])
    if target.name != "target" or target.kind not in ("open", "empty"):
        _translate(file, source[1], span, "<target>", "</target>")
    elif target.kind == "empty":
        target.source = f"{target.source.removesuffix('/>').rstrip()}>"
        _translate(file, place, span, "", "</target>")
    elif _is_untranslated(file, start, place):
        file.clear(place + 1, file.end(place))
        _translate(file, place, span)
    else:
        return False
    for tag in (*tokens[max(start - 2, 0) : start], target):
        if tag.kind in ("open", "empty") and attribute_values(tag.source).get("state") in _NEW:
            tag.source = replace_attributes(tag.source, {"state": "translated"})
    return True


def _is_untranslated(file: xml.Elements, source: int, target: int) -> bool:
    """Whether a target has nothing but marks of its segments, or the source that it began as."""
    own = file.tokens[target + 1 : file.end(target)]
    if all(token.name == "mrk" or not token.source.strip() for token in own):
        return True
    tags = file.tokens[max(source - 2, 0) : source] + file.tokens[target : target + 1]
    states = {attribute_values(tag.source).get("state") for tag in tags}
    return bool(states & _NEW) and own == file.tokens[source + 1 : file.end(source)]


def _repeats(file: xml.Elements, start: int, end: int) -> bool:
    """Whether a target says what its source says."""
    place = file.next_place(end)
    said = file.source(start + 1, end)
    return said == file.source(place + 1, file.end(place)) and has_words(unescape(said))


def tmx(text: str, options: Options) -> Parsed[str]:
    """The units of a TMX file that have a text in the source language and none in the target."""
    file = xml.Elements(text, _LANGUAGE)
    heads = [file.attributes(place).get("srclang", "") for place, _ in file.find("header")]
    codes = [_code(file, place) for place, _ in file.find("tuv")]
    target = next((code for code in codes if language_code(code) == options.target), options.target)
    for start, end in file.find("tu"):
        variants = {language_code(_code(file, place)): (place, stop)
                    for place, stop in file.find("tuv", start=start, stop=end)}  # fmt: skip
        own = options.source or next(iter(variants), "")
        if own not in variants or options.target in variants:
            continue
        place, stop = variants[own]
        values = file.attributes(place)
        name = "xml:lang" if "xml:lang" in values else "lang"
        head = replace_attributes(file.tokens[place].source, {name: target})
        _translate(file, stop, (place + 1, stop + 1), head)
    parsed = file.parsed(Metadata("".join(heads[:1]).replace("*all*", "")))
    # What is only looked into needs no target language.
    return parsed if options.target else replace(parsed, render=_no_target)


def _no_target() -> str:
    raise UserError("expected a target language for a TMX file")


def _code(file: xml.Elements, place: int) -> str:
    values = file.attributes(place)
    return values.get("xml:lang", values.get("lang", ""))


def qt(text: str, options: Options) -> Parsed[str]:
    """The messages of a Qt file (.ts) that have no translation yet."""
    file = xml.Elements(text, _LANGUAGE)
    heads = [file.attributes(place) for place, _ in file.find("TS")] or [{}]
    metadata = Metadata(heads[0].get("sourcelanguage", ""), heads[0].get("language", ""))
    resolve_target(metadata.source, metadata.target, options)
    for start, end in file.find("message"):
        sources = [*file.find("source", start=start, stop=end)]
        for place, stop in file.find("translation", start=start, stop=end):
            tag, forms = file.tokens[place], [*file.find("numerusform", start=place, stop=stop)]
            is_done = any(file.source(a + 1, b).strip() for a, b in forms or [(place, stop)])
            if (
                is_done
                or not sources
                or file.attributes(place).get("type") in ("vanished", "obsolete")
            ):
                continue
            span = sources[0][0] + 1, sources[0][1]
            for number, (first, last) in enumerate(forms or [(place, stop)]):
                inner = file.tokens[first]
                is_empty = inner.kind == "empty"
                inner.source = f"{inner.source.removesuffix('/>')}>" if is_empty else inner.source
                file.clear(first + 1, last)
                copies = file.insert_copy(first, *span, "", f"</{inner.name}>" if is_empty else "")
                for copy in copies:  # as in file(s)
                    copy.source = copy.source.replace("(s)", "s" if number else "")
                file.units += xml.text_units(copies, _LANGUAGE) or html.extract_units(
                    copies, _LANGUAGE
                )
            tag.source = tag.source.replace(' type="unfinished"', "")
    return file.parsed(metadata)
