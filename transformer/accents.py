"""Spanish as it is spelt: accents, ñ and the opening marks that a keyboard did not give.

A word without its accent is another word to a model, or none. What only one spelling fits gets it
back: "manana" can only be "mañana". What two fit, such as "esta", is left to the model.
"""

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "accents.tsv"
SEEN, SHARE = 3, 0.97  # times that a spelling was met, and of all that differ by accents only

_WORD = re.compile(r"[^\W\d_]+")
_MARKED = re.compile(r"[áéíóúüñÁÉÍÓÚÜÑ]")
_ASKING = {
    "que": "qué", "quien": "quién", "quienes": "quiénes", "como": "cómo", "cuando": "cuándo",
    "donde": "dónde", "cual": "cuál", "cuales": "cuáles", "cuanto": "cuánto", "cuanta": "cuánta",
    "cuantos": "cuántos", "cuantas": "cuántas",
}  # fmt: skip
_BEFORE = r"(?:(?:a|de|en|con|por|para|desde|hasta) )?"
_ASKED = re.compile(rf"(¿{_BEFORE}(?:y |pero )?)({'|'.join(_ASKING)})\b", re.IGNORECASE)
_CLAUSE = re.compile(rf"[,;:] +(?={_BEFORE}(?:{'|'.join(_ASKING)})\b[^,;:]*$)", re.IGNORECASE)
_STOP = re.compile(r"[.!?…]\s+")
_FIRST = re.compile(r"[^\s\"'«“‘(\[?!—–-]")
_OPENING = {"?": "¿", "!": "¡"}


def plain(text: str) -> str:
    """The text without marks above and below its letters: mañana -> manana."""
    parts = unicodedata.normalize("NFD", text)
    return "".join(c for c in parts if unicodedata.category(c) != "Mn")


def count(texts: Iterable[str]) -> list[str]:
    """The words with accents that no other word would be without them, in small letters.

    A sentence without any accent says nothing: it may have been typed so.
    """
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for text in filter(_MARKED.search, texts):
        for word in _WORD.findall(unicodedata.normalize("NFC", text.lower())):
            spellings[plain(word)][word] += 1
    best = {key: found.most_common(1)[0] for key, found in spellings.items()}
    return sorted(
        word
        for key, (word, n) in best.items()
        if word != key and n >= SEEN and n >= SHARE * spellings[key].total()
        if set(word) <= set("abcdefghijklmnopqrstuvwxyzáéíóúüñ")
    )


@functools.cache
def table() -> Mapping[str, str]:
    """What `count` gave, by the word without accents; `data/accents.py` writes it."""
    return {plain(word): word for word in TABLE.read_text(encoding="utf-8").split()}


def restore(text: str) -> str:
    """A Spanish sentence with opening marks and, if it has none at all, with its accents.

    "Hola, como estas manana?" -> "Hola, ¿cómo estas mañana?"; case and length of words stay.
    """
    text = _opened(text)
    if _MARKED.search(text):
        return text
    text = _WORD.sub(lambda found: _spelt(found.group()), text)
    return _ASKED.sub(lambda m: m[1] + _cased(_ASKING[m[2].lower()], m[2]), text)


def _spelt(word: str) -> str:
    known = table().get(word.lower())
    return _cased(known, word) if known else word


def _cased(text: str, model: str) -> str:
    if model.isupper() and len(model) > 1:
        return text.upper()
    return text.capitalize() if model[0].isupper() else text


def _opened(text: str) -> str:
    """With ¿ or ¡ where a sentence ends with ? or ! and has none."""
    mark = _OPENING.get(text.rstrip()[-1:])
    if mark is None or "¿" in text or "¡" in text:
        return text
    last = max((found.end() for found in _STOP.finditer(text)), default=0)
    first = _FIRST.search(text, last)
    if first is None:
        return text
    clause = _CLAUSE.search(text, last) if mark == "¿" else None
    at = clause.end() if clause else first.start()
    return text[:at] + mark + text[at:]
