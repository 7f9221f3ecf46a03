"""E-mail: the subject and the parts of text; other headers, boundaries and attachments stay.

A part that its encoding cannot hold any more is written in UTF-8, and its header says so. A name
below the line that begins a signature stays.
"""

import email
import re
import textwrap
from base64 import encodebytes
from collections.abc import Callable, Iterator
from email.header import Header, decode_header, make_header
from email.message import Message
from email.quoprimime import body_encode
from functools import partial

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.passages import (
    Options,
    Parsed,
    Unit,
    has_words,
    text_unit,
)

WIDTH = 72  # characters of the lines of a paragraph that was broken
BROKEN = 50  # characters that a line has at least where its sentence goes on in the next
_REPLY = re.compile(r"(?:(?:re|fwd?|rv|aw|tr)(?:\[\d+\])?:\s*)*", re.IGNORECASE)
_LINE = re.compile(r"(?P<quoted>(?:[ \t]*>)*+[ \t]*+)(?P<said>[^\r\n]*+)(?P<end>\r?\n|\r|\Z)")
_ITEM = re.compile(r"(?:[-+*•]|\d{1,3}[.)]) ")
_SIGNATURE = re.compile(r"-- ?")
_BLANK = re.compile(r"\r?\n\r?\n")
_TYPE, _ENCODING = "Content-Type", "Content-Transfer-Encoding"
_Edit = tuple[int, int, Callable[[], str]]  # where it begins and ends, and what is written there


def parse(content: bytes | str, options: Options) -> Parsed[bytes]:
    """The subject and the texts of a mail; UserError for what has no header of one."""
    # Each byte is a character, so that what the library reads stands in the text as it is.
    source = (content.encode() if isinstance(content, str) else content).decode("latin-1")
    message = email.message_from_string(source)
    if not {"from", "to", "subject", "date"} & {*map(str.lower, message.keys())}:
        raise UserError("expected an e-mail that begins with From:, To:, Subject: or Date:")
    edits: list[_Edit] = []
    units = [*_subject(message, source, edits)]
    forwarded = {id(own) for part in message.walk() if part.get_content_maintype() == "message"
                 for own in [*part.walk()][1:]}  # fmt: skip
    place = 0
    for part in message.walk():
        place, header, body = _place(part, source, place)
        is_attached = part.get_content_disposition() == "attachment" or bool(part.get_filename())
        is_attached = is_attached or id(part) in forwarded
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html") and not is_attached and "\0" not in source:
            units += _text(part, source, header, body, options, edits)

    def finish() -> bytes:
        parts, end = list[str](), 0
        for start, stop, written in sorted(edits, key=lambda edit: edit[:2]):
            parts += [source[end:start], written()]
            end = stop
        return "".join([*parts, source[end:]]).encode("latin-1")

    return Parsed(units, finish)


def _subject(message: Message, source: str, edits: list[_Edit]) -> Iterator[Unit]:
    raw = message["Subject"] or ""
    start = source.find(raw, re.search(r"(?mi)^subject:|\Z", source).end())  # type: ignore[union-attr]
    said = str(make_header(decode_header(raw)))
    reply = _REPLY.match(said)[0]  # type: ignore[index]
    subject = said[len(reply) :]
    if not has_words(subject) or start < 0:
        return
    written = [raw]

    def say(text: str) -> None:
        if text != subject:
            written[:] = [reply + text]
            if not written[0].isascii():
                newline = "\r\n" if "\r\n" in source else "\n"
                header = Header(written[0], "utf-8", 76, "Subject")
                written[:] = [header.encode(linesep=newline)]

    edits.append((start, start + len(raw), lambda: written[0]))
    yield text_unit(subject, say)


def _place(part: Message, source: str, place: int) -> tuple[int, int, int]:
    """Where what follows a part begins, and the part's header and body."""
    header = place
    for name, value in part.items():
        place = source.index(value, source.index(f"{name}:", place))
        place += len(value)
    blank = _BLANK.search(source, place)
    body = blank.end() if blank and part.keys() else place
    payload = part.get_payload()
    if isinstance(payload, str):
        body = source.index(payload, body)
        return body + len(payload), header, body
    return body + len(part.preamble or ""), header, body


def _text(
    part: Message, source: str, header: int, body: int, options: Options, edits: list[_Edit]
) -> Iterator[Unit]:
    """The passages of a part, and the changes of it and of its header."""
    payload, charset = str(part.get_payload()), part.get_content_charset("utf-8")
    content = part.get_payload(decode=True)
    text = content.decode(charset) if isinstance(content, bytes) else ""
    is_page = part.get_content_subtype() == "html"
    read = html.parse if is_page else _lines
    parsed = read(text, options)
    encoding = str(part.get(_ENCODING, "7bit")).strip().lower()
    newline = "\r\n" if "\r\n" in source else "\n"

    def is_held(said: str) -> bool:
        try:
            is_ascii = said.encode(charset).isascii()
        except UnicodeEncodeError:
            return False
        return is_ascii or encoding in ("base64", "quoted-printable") or not payload.isascii()

    def written() -> str:
        said = parsed.render()
        if said == text:
            return payload
        content = said.encode(charset if is_held(said) else "utf-8")
        if encoding == "base64":
            return encodebytes(content).decode().replace("\n", newline).rstrip() + tail
        if encoding == "quoted-printable" or not is_held(said):
            return body_encode(content.decode("latin-1"), eol=newline)
        return content.decode("latin-1")

    def field(name: str, value: str, before: str | None) -> str:
        if is_held(parsed.render()):
            return before or ""
        return value if before is not None else f"{name}: {value}{newline}"

    tail = payload[len(payload.rstrip()) :]
    changed = email.message_from_string("")
    changed[_TYPE] = part.get(_TYPE, "text/plain")
    changed.set_param("charset", "utf-8")
    moved = encoding if encoding == "base64" else "quoted-printable"
    fields = ("MIME-Version", "1.0"), (_TYPE, str(changed[_TYPE])), (_ENCODING, moved)
    for name, value in fields[_TYPE in part :]:
        before = part.get(name)
        start = body - len(newline)
        if before is not None:
            named = re.compile(rf"^{name}:", re.IGNORECASE | re.MULTILINE).search(source, header)
            start = source.index(before, named.end() if named else header)
        edits.append((start, start + len(before or ""), partial(field, name, value, before)))
    edits.append((body, body + len(payload), written))
    yield from parsed.units


def _lines(text: str, options: Options) -> Parsed[str]:
    """The paragraphs of a plain text, whose lines may be broken, each with its quoting."""
    parts: list[str] = []
    units: list[Unit] = []
    groups: list[list[re.Match[str]]] = []
    for line in _LINE.finditer(text):
        last = groups[-1][-1] if groups else line
        goes_on = len(last["said"]) >= BROKEN and last["quoted"] == line["quoted"]
        if groups and goes_on and line["said"] and not _ITEM.match(line["said"]):
            groups[-1].append(line)
        else:
            groups.append([line])
        if _SIGNATURE.fullmatch(line["said"]) and not line["quoted"].strip():
            break
    for group in groups:
        said = " ".join(line["said"].strip() for line in group)
        parts.append("".join(line[0] for line in group))
        if has_words(said):
            units.append(text_unit(said, partial(_say, parts, len(parts) - 1, group, said)))
    rest = text[len("".join(parts)) :]
    return Parsed(units, lambda: "".join([*parts, rest]))


def _say(parts: list[str], place: int, group: list[re.Match[str]], said: str, text: str) -> None:
    if text == said:
        return
    quoted, end = group[0]["quoted"], group[0]["end"]
    lines = textwrap.wrap(
        text, max(WIDTH - len(quoted), 20), break_long_words=False, break_on_hyphens=False
    )
    lines = lines if len(group) > 1 else [text]
    parts[place] = end.join(quoted + line for line in lines) + group[-1]["end"]
