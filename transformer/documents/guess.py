"""Content sniffing: tell whether a file of unknown suffix is prose or needs a parser."""

import re

from transformer.documents.passages import detect_encoding

HEAD = 2**16  # bytes that are looked at
_MAGIC = (
    (b"PK\x03\x04", "a ZIP archive"), (b"%PDF-", "a PDF"), (b"{\\rtf", "RTF"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
)  # fmt: skip
_SIGNS = (
    (r"\s*+<(?:[?!]|[A-Za-z](?s:.*)(?:</|/>))", "XML or HTML"),
    (r"\s*+(?:\{\s*+[\"}]|\[\s*+[\"{\[\d\]])", "JSON"),
    (r"(?:From|To|Subject|Date|Received|Return-Path|Message-ID|MIME-Version):.*\n[\w-]+:",
     "an e-mail"),
    (r"#!.*/", "a script"),
    (r"(?s:.*)^\\(?:documentclass|begin|section|chapter|input)\b", "TeX"),
    (r"\s*+\[[^]\n]++\]\n+[^=:\n]++[=:]", "settings"),
)  # fmt: skip
_CODE = re.compile(  # a line of a program, of settings or of a list of keys and values
    r"\s*+(?:[]()[{}<>]++[;,]?|\[[^]\s]++\]|[^\s=:]++\s*+:?=\s*+\S.*|\"[^\"]*+\"\s*+[:=].*"
    r"|.*(?:[{\\]|[\"')}\]]\s*+;|\)\s*+:|[\w)]\(\))|[\w-]++:(?:\s*+\S*;)?|[.@%\\$][a-z]++\b.*"
    r"|\#\+\w.*|\w++\([^ ].*|[\w.-]++\s++\".*\"\s*+:?)\s*+"
)
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MAX_CODE = 0.2  # of the lines of prose


def guess_kind(head: bytes) -> str:
    """Return what a file seems to be ("a PDF") by its first bytes; "" if it may be prose."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    encoding, mark = detect_encoding(head)
    text = head[len(mark) :].decode(encoding, "replace").replace("\r\n", "\n")
    if _CONTROL.search(text):
        return "no text"
    for pattern, name in _SIGNS:
        if re.match(pattern, text, re.MULTILINE):
            return name
    lines = [line for line in text.split("\n")[:1000] if line.strip()]
    n_code = sum(1 for line in lines if _CODE.fullmatch(line[:500]))
    return "a program or settings" if n_code > MAX_CODE * len(lines) else ""
