"""A translator that only shouts: what is text comes out in capitals, and nothing else changes."""

import io
import re
import zipfile
from collections.abc import Sequence

from transformer.documents.fill import translate_file
from transformer.documents.passages import Options

ES_EN = Options("es", "en")


def shout(texts: Sequence[str]) -> list[str]:
    """Capitals, but for what stands for a value."""
    return [re.sub(r"(%\w)|[^%]+|%", lambda m: m[1] or m[0].upper(), text) for text in texts]


def shouted(content: str | bytes, suffix: str, options: Options = ES_EN) -> str:
    """A file with its texts in capitals."""
    content = content.encode() if isinstance(content, str) else content
    return translate_file(content, f"a{suffix}", shout, options=options).decode()


def archive(**members: str) -> bytes:
    """A zip file of texts by name."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return written.getvalue()
