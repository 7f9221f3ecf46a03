"""PDF as plain text: paragraphs without their lines; pictures, columns and fonts are lost."""

import io
import re

from transformer.config import UserError
from transformer.documents.passages import Opened, Options, Slices

_HYPHEN = re.compile(r"(?<=[a-záéíóúüñ])-\n(?=[a-záéíóúüñ])")
_SAME = re.compile(r"(?<![.!?:\n])\n(?=[^\W\dA-ZÁÉÍÓÚÜÑ])")  # a line that goes on in the next


def opened(content: bytes, options: Options) -> Opened:
    """The paragraphs of a PDF; UserError where it has a password or no text."""
    import pypdf  # raises what comes where a file is broken

    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            raise UserError("expected a PDF without a password")
        pages = [page.extract_text() for page in reader.pages]
    except (pypdf.errors.PyPdfError, AssertionError, AttributeError, TypeError) as error:
        raise UserError(f"expected a PDF, got {type(error).__name__}") from None
    if not any(page.strip() for page in pages):
        raise UserError("expected a PDF with text, got pictures only: it needs a text recognition")
    slices = Slices()
    for page in pages:
        text = _SAME.sub(" ", _HYPHEN.sub("", re.sub(r"[ \t]+\n", "\n", page.strip())))
        for paragraph in text.split("\n"):
            slices.translate_plain(paragraph, paragraph, str)
            slices.keep("\n")
        slices.keep("\n")
    return slices.opened()
