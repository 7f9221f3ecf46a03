"""E-mail: the subject and the parts of text; other headers, boundaries and attachments stay.

A part that its encoding cannot hold any more is written in UTF-8, and its header says so. A name
below the line that begins a signature stays.
"""

import email
import re
import textwrap
from base64 import encodebytes
from collections.abc import Callable
from email.header import Header, decode_header, make_header
from email.message import Message
from email.quoprimime import body_encode
from functools import partial

from transformer.config import UserError
from transformer.documents import html
from transformer.documents.edits import TextEdits, Verbatim
from transformer.documents.passages import InlineContent, Options, Parsed

WIDTH = 72  # characters of the lines of a paragraph that was broken
BROKEN = 50  # characters that a line has at least where its sentence goes on in the next
_REPLY = re.compile(r"(?:(?:re|fwd?|rv|aw|tr)(?:\[\d+\])?:\s*)*", re.IGNORECASE)
_LINE = re.compile(r"(?P<quoted>(?:[ \t]*>)*+[ \t]*+)(?P<text>[^\r\n]*+)(?P<end>\r?\n|\r|\Z)")
_ITEM = re.compile(r"(?:[-+*•]|\d{1,3}[.)]) ")
_SIGNATURE = re.compile(r"-- ?")
_BLANK = re.compile(r"\r?\n\r?\n")
_TYPE, _ENCODING = "Content-Type", "Content-Transfer-Encoding"


def parse(content: bytes | str, options: Options) -> Parsed[bytes]:
    """Parse subject and texts of an e-mail, a str as UTF-8; UserError for one without headers."""
    # Each byte is a character, so that what the library reads stands in the text as it is.
    source = (content.encode() if isinstance(content, str) else content).decode("latin-1")
    message = email.message_from_string(source)
    if not {"from", "to", "subject", "date"} & {*map(str.lower, message.keys())}:
        raise UserError("expected an e-mail that begins with From:, To:, Subject: or Date:")
    newline = "\r\n" if "\r\n" in source else "\n"
    forwarded = {id(inner) for part in message.walk() if part.get_content_maintype() == "message"
                 for inner in [*part.walk()][1:]}  # fmt: skip
    edits, stop = TextEdits(source), 0
    for part in message.walk():
        start, (body, stop) = stop, _locate(part, source, stop)
        subject = part["Subject"] if part is message else None
        header = _parse_header(source[start:body], subject or "", newline)
        edits.units += header.units
        is_attached = part.get_content_disposition() == "attachment" or bool(part.get_filename())
        is_text = part.get_content_type() in ("text/plain", "text/html") and "\0" not in source
        if not is_text or is_attached or id(part) in forwarded:
            edits.replace(start, body, header.render)
            continue
        decoded = part.get_payload(decode=True)
        charset = part.get_content_charset("utf-8")
        text = decoded.decode(charset) if isinstance(decoded, bytes) else ""
        is_page = part.get_content_subtype() == "html"
        parsed = html.parse(text, options) if is_page else _parse_plain(text)
        edits.units += parsed.units
        renders = header.render, parsed.render
        edits.replace(start, stop, partial(_render_part, part, newline, text, *renders))
    parsed = edits.parsed()
    return Parsed(parsed.units, lambda: parsed.render().encode("latin-1"))


def _parse_header(source: str, subject: str, newline: str) -> Parsed[str]:
    """Parse a header with this `subject`, folded by `newline`, or none (""); Re: stays."""
    decoded = str(make_header(decode_header(subject)))
    reply = _REPLY.match(decoded)[0]  # type: ignore[index]

    def escape(text: str) -> str:
        text = reply + text
        is_ascii = text.isascii()
        return text if is_ascii else Header(text, "utf-8", 76, "Subject").encode(linesep=newline)

    edits, field = TextEdits(source), re.search(r"(?mi)^subject:", source)
    if field and (start := source.find(subject, field.end())) >= 0:
        content = InlineContent([(decoded[len(reply) :], False, Verbatim())])
        edits.translate_inline(start, start + len(subject), content, escape)
    return edits.parsed()


def _locate(part: Message, source: str, place: int) -> tuple[int, int]:
    """Return offsets in `source` of a part's body and of its end; its header begins at `place`.

    A multipart ends here where its first part begins.
    """
    for name, value in part.items():
        place = source.index(value, source.index(f"{name}:", place)) + len(value)
    blank = _BLANK.search(source, place)
    body = blank.end() if blank and part.keys() else place
    payload = part.get_payload()
    if isinstance(payload, str):
        body = source.index(payload, body)
        return body, body + len(payload)
    return body, body + len(part.preamble or "")


def _render_part(
    part: Message,
    newline: str,
    before: str,
    render_header: Callable[[], str],
    render: Callable[[], str],
) -> str:
    """Return a part with its header; both say how its text is encoded, if it is not `before`.

    `render` returns the translated text, decoded.
    """
    header, text, payload = render_header(), render(), str(part.get_payload())
    if text == before:
        return header + payload
    encoding = str(part.get(_ENCODING, "7bit")).strip().lower()
    try:
        content = text.encode(part.get_content_charset("utf-8"))
        is_encoded = encoding in ("base64", "quoted-printable")
        fits = content.isascii() or is_encoded or not payload.isascii()
    except UnicodeEncodeError:
        fits = False
    if not fits:
        content = text.encode()
        encoding = encoding if encoding == "base64" else "quoted-printable"
        changed = Message()
        changed[_TYPE] = part.get(_TYPE, "text/plain")
        changed.set_param("charset", "utf-8")
        fields = ("MIME-Version", "1.0"), (_TYPE, changed[_TYPE]), (_ENCODING, encoding)
        for name, value in fields[_TYPE in part :]:
            if (old := part.get(name)) is None:
                end = len(header) - len(newline)  # before the blank line
                header = f"{header[:end]}{name}: {value}{newline}{header[end:]}"
            else:
                field = re.search(rf"^{name}:", header, re.IGNORECASE | re.MULTILINE)
                start = header.index(old, field.end() if field else 0)
                header = header[:start] + value + header[start + len(old) :]
    written = content.decode("latin-1")
    if encoding == "base64":
        tail = payload[len(payload.rstrip()) :]
        written = encodebytes(content).decode().replace("\n", newline).rstrip() + tail
    elif encoding == "quoted-printable":
        written = body_encode(written, eol=newline)
    return header + written


def _parse_plain(text: str) -> Parsed[str]:
    """Parse the paragraphs of a plain text, whose lines may be broken, each with its quoting."""
    groups: list[list[re.Match[str]]] = []
    for line in _LINE.finditer(text):
        last = groups[-1][-1] if groups else line
        continues = len(last["text"]) >= BROKEN and last["quoted"] == line["quoted"]
        if groups and continues and line["text"] and not _ITEM.match(line["text"]):
            groups[-1].append(line)
        else:
            groups.append([line])
        if _SIGNATURE.fullmatch(line["text"]) and not line["quoted"].strip():
            break
    edits = TextEdits(text)
    for group in groups:
        paragraph = " ".join(line["text"].strip() for line in group)
        content = InlineContent([(paragraph, False, Verbatim())])
        edits.translate_inline(
            group[0].start(), group[-1].end(), content, partial(_render_paragraph, group)
        )
    return edits.parsed()


def _render_paragraph(lines: list[re.Match[str]], text: str) -> str:
    quoted, end = lines[0]["quoted"], lines[0]["end"]
    written = [text]
    if len(lines) > 1:
        width = max(WIDTH - len(quoted), 20)
        written = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return end.join(quoted + line for line in written) + lines[-1]["end"]
