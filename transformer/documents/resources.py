"""Resources of programs in XML: Android's, .NET's and Apple's strings; keys and comments stay."""

import re
from dataclasses import replace

from transformer.config import UserError
from transformer.documents import html, xml
from transformer.documents.passages import Options, Parsed, unescape
from transformer.documents.tokens import replace_attributes

_INLINE = "a annotation b big em font i small span strike strong sub sup tt u"
_LANGUAGE = html.MarkupRules(
    frozenset(_INLINE.split()), frozenset({"xliff:g"}), escape=xml.escape_text, preserve_space=True
)
_FORMS = {"zero", "one", "two", "few", "many", "other"}


_ANDROID = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(?s:(.))|(\")|(\s++)|[^\\\"\s]++")


def _android_said(text: str) -> str:
    """What a string of Android says: white space is one space, but between quotes."""
    parts, is_quoted = list[str](), False
    for match in _ANDROID.finditer(text):
        code, letter, quote, space = match.groups()
        is_quoted ^= bool(quote)
        if code or letter:
            parts.append(chr(int(code, 16)) if code else {"n": "\n", "t": "\t"}.get(letter, letter))
        elif not quote:
            parts.append(" " if space and not is_quoted else match.group())
    return "".join(parts)


def _android(text: str, source: str) -> str:
    for char, code in ("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("'", "\\'"), ('"', '\\"'):
        text = text.replace(char, code)
    text = f"\\{text}" if text.startswith(("@", "?")) else text
    return xml.escape_text(f'"{text}"' if source.strip()[:1] == '"' else text, source)


def android(text: str, options: Options) -> Parsed[str]:
    """Strings, arrays and plurals of Android, but for what is marked translatable="false"."""
    file = xml.Elements(text, replace(_LANGUAGE, escape=_android))
    if not [*file.find("resources")]:
        raise UserError("expected <resources> of Android in .xml, the one kind of it that is read")
    for start, end in file.find("string", "string-array", "plurals"):
        if file.attributes(start).get("translatable") == "false":
            continue
        spans = [(start, end)]
        if file.tokens[start].name != "string":
            spans = [*file.find("item", start=start + 1, stop=end)]
        forms = {file.attributes(first).get("quantity", ""): (first, last) for first, last in spans}
        if options.target == "en" and "many" in forms:
            spans.remove(forms["many"])
            file.clear(forms["many"][0] - 1, forms["many"][1] + 1)
        for first, last in spans:
            for token in file.tokens[first + 1 : last]:
                if token.kind == "text":
                    token.decoded = _android_said(token.text)
            if not file.source(first + 1, last).startswith(("@", "?")):  # another resource
                file.translate(first + 1, last)
        if options.target == "es" and "other" in forms and "many" not in forms:
            first, last = forms["other"]
            copies = file.insert_copy(last, first - 1, last + 1)
            for copy in copies:
                if copy.name == "item" and copy.kind == "open":
                    copy.source = replace_attributes(copy.source, {"quantity": "many"})
            file.units += html.extract_units(copies, file.rules)
    return file.parsed()


def resx(text: str, options: Options) -> Parsed[str]:
    """The strings of .NET's resources: values without a type; names that begin with >> stay."""
    file = xml.Elements(text, _LANGUAGE)
    for start, end in file.find("data"):
        values = file.attributes(start)
        if values.keys() & {"type", "mimetype"} or values.get("name", "").startswith(">>"):
            continue
        for first, last in file.find("value", start=start + 1, stop=end):
            file.translate(first + 1, last)
    return file.parsed()


def stringsdict(text: str, options: Options) -> Parsed[str]:
    """The plural forms of Apple's strings, and the sentence that they stand in."""
    file = xml.Elements(text, _LANGUAGE)
    for start, end in file.find("key"):
        place = file.next_place(end)
        key = unescape(file.source(start + 1, end))
        if file.tokens[place].name == "string" and key in {*_FORMS, "NSStringLocalizedFormatKey"}:
            file.translate(place + 1, file.end(place))
    return file.parsed()
