"""Which sentence pairs are worth training on: one rule a reason, each with its count.

Pure functions of two texts. Knows no file and no token; duplicates and contamination are
decided by `corpus`, which sees all pairs, with the keys made here.
"""

import hashlib
import unicodedata

from transformer.config import CorpusConfig
from transformer.sources import Languages

REASONS = (
    "kept",
    "empty",
    "too long",
    "length ratio",
    "not text",
    "wrong script",
    "copy of the source",
    "duplicate",
    "in the dev or test sets",
    "too many pieces",
    "machine-made target",
)
LATIN = frozenset({"en", "es"})  # languages whose letters are all Latin
SLACK = 15  # characters by which short texts may differ whatever the ratio


def tidy(text: str) -> str:
    """Composed characters, single blanks, none at the ends: what training sees of a text."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def comparable(text: str) -> str:
    """Letters and digits only, without case: equal for texts that differ in punctuation."""
    return "".join(c for c in text.casefold() if c.isalnum())


def key(text: str) -> int:
    """64 bits that stand for a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _is_text(text: str) -> bool:
    """Mostly letters, and nothing that only broken encodings hold."""
    if any(c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return False
    visible = [c for c in text if not c.isspace()]
    letters = sum(c.isalpha() for c in visible)
    return letters > 0 and 2 * sum(c.isalnum() for c in visible) >= len(visible)


def _is_latin(text: str) -> bool:
    """At least half of the letters are Latin (blocks up to U+024F, and U+1E00 ... U+1EFF)."""
    letters = [c for c in text if c.isalpha()]
    latin = sum(c < "\u0250" or "\u1e00" <= c <= "\u1eff" for c in letters)
    return 2 * latin >= len(letters)


def defect(src: str, tgt: str, langs: Languages, config: CorpusConfig) -> str:
    """The first rule that a tidied pair breaks, or "kept". Cleaning twice is cleaning once."""
    if not src or not tgt:
        return "empty"
    if max(src.count(" "), tgt.count(" ")) >= config.max_words:
        return "too long"
    if max(len(src), len(tgt)) > config.max_ratio * min(len(src), len(tgt)) + SLACK:
        return "length ratio"
    if not (_is_text(src) and _is_text(tgt)):
        return "not text"
    if any(lang in LATIN and not _is_latin(t) for t, lang in zip((src, tgt), langs, strict=True)):
        return "wrong script"
    # One word may well be the same in both languages: "No.", "Madrid", "hotel".
    if " " in src and src.casefold() == tgt.casefold():
        return "copy of the source"
    return "kept"
