"""A translator that only shouts: what is text comes out in capitals, and nothing else changes."""

import io
import re
import zipfile
from collections.abc import Sequence

from transformer.documents.passages import Options
from transformer.documents.translate import translate_file

ES_EN = Options("es", "en")


def shout(texts: Sequence[str]) -> list[str]:
    """Capitals, but for what stands for a value."""
    return [re.sub(r"(%\w)|[^%]+|%", lambda m: m[1] or m[0].upper(), text) for text in texts]


def shouted(content: str | bytes, suffix: str, options: Options = ES_EN) -> str:
    """A file with its texts in capitals."""
    content = content.encode() if isinstance(content, str) else content
    return translate_file(content, f"a{suffix}", shout, options=options).decode()


def raised(text: str, words: str) -> str:
    """A text with some of its words in capitals."""
    return re.sub(rf"\b({'|'.join(words.split())})\b", lambda match: match[0].upper(), text)


def archive(**members: str | bytes) -> bytes:
    """A zip file of texts by name."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return written.getvalue()


def pdf(text: str) -> bytes:
    """A PDF of one page with these lines."""
    shown = "T* ".join(f"({line}) Tj " for line in text.split("\n"))
    stream = f"BT /F1 12 Tf 14 TL 72 700 Td {shown}ET"
    return (
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        "3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
        f"4 0 obj<</Length {len(stream)}>>stream\n{stream}\nendstream endobj\n"
        "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
        "trailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF"
    ).encode()
