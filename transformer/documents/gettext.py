"""Catalogues of gettext get the translations that they lack; polib tells what they say."""

import codecs
import re
from functools import partial

from transformer.config import UserError
from transformer.documents.edits import TextEdits
from transformer.documents.passages import Metadata, Options, Parsed, bytes_parser, resolve_target

_CHARSET = re.compile(r"(?<=charset=)[\w-]++")
_CHARSET_NAMED = re.compile(rb"(?<=charset=)(?i:iso-?8859|windows-|cp|latin-?\d|koi8)[\w-]*+")
HEAD = 4096  # bytes of a file in which its encoding is named
_TEMPLATE = {"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;": "Plural-Forms: nplurals=2; "
             "plural=(n != 1);", "Content-Transfer-Encoding: ENCODING":
             "Content-Transfer-Encoding: 8bit"}  # fmt: skip


def po_file(content: bytes | str, options: Options) -> Parsed[bytes]:
    """A PO file in the encoding that its head names; it is written in UTF-8."""
    if isinstance(content, bytes) and (named := _CHARSET_NAMED.search(content, 0, HEAD)):
        name = codecs.lookup(named[0].decode()).name
        content = _CHARSET.sub("UTF-8", content.decode(name), count=1)
    return bytes_parser(po)(content, options)


def po(text: str, options: Options) -> Parsed[str]:
    """The entries of a PO file, or of a template, whose translation is empty."""
    import polib

    try:
        file = polib.pofile(f"\n{text}")  # a text that begins so is no name of a file to it
    except OSError as error:
        raise UserError(f"expected a PO file: {str(error).strip()}") from None
    language = file.metadata.get("Language", "")
    code = resolve_target("", language, options)
    lines = text.splitlines(keepends=True)
    entries = sorted(file, key=lambda entry: entry.linenum)
    starts = [max(entry.linenum - 2, 0) for entry in entries]
    edits, quoted = TextEdits(text), partial(_quoted, "\r\n" if "\r\n" in text else "\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    for number in range((starts[0] if starts else len(lines)) if code else 0):
        _correct(edits, offsets[number], lines[number], code)
    for entry, start, stop in zip(entries, starts, [*starts[1:], len(lines)], strict=True):
        said = dict(entry.msgstr_plural) or {0: entry.msgstr}
        for number in range(start, stop):
            name, quote, _ = lines[number].lstrip().partition('"')
            if entry.obsolete or not name.startswith("msgstr") or not quote:
                continue
            form = int(name[7:-2] or 0) if name[6:7] == "[" else 0
            if not said.get(form):
                last = _last(lines, number)
                first = offsets[number] + lines[number].index('"')
                end = offsets[last] + len(lines[last].rstrip())
                own = entry.msgid_plural if form and entry.msgid_plural else entry.msgid
                edits.translate(first, end, own, quoted)
    return edits.parsed(Metadata(target=language))


def _last(lines: list[str], number: int) -> int:
    """The last line of the string that begins in a line."""
    while number + 1 < len(lines) and lines[number + 1].lstrip()[:1] == '"':
        number += 1
    return number


def _correct(edits: TextEdits, start: int, line: str, code: str) -> None:
    """Puts right a field of the head: a language that is none, the encoding, what is to fill in."""
    field = line.strip().removeprefix('"').removesuffix('\\n"')
    correct = _TEMPLATE.get(field, field)
    if field.startswith("Language:") and not field[9:].strip():
        correct = f"Language: {code}"
    elif field.startswith("Content-Type:"):
        correct = _CHARSET.sub("UTF-8", field)  # ASCII, or the CHARSET of a template
    if correct != field:
        place = start + line.index(field)
        edits.replace(place, place + len(field), correct)


def _quoted(newline: str, text: str) -> str:
    import polib

    lines = [polib.escape(line) for line in text.splitlines(keepends=True)]
    return newline.join(f'"{line}"' for line in (["", *lines] if len(lines) > 1 else lines))
