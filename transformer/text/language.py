"""Tells Spanish from English, by the three-letter runs of a text.

Each run speaks for one language by the logarithm of how much more frequent it is there, as counted
in the project's own corpus (`data/`); so do the letters and marks that one of them does not have.
A capitalised word may be a name, which speaks for neither, and counts for less. Text in a third
language is undecided, or taken for the likelier of the two.
"""

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES = {"es": "Spanish", "en": "English"}
LANGUAGES = tuple(NAMES)
ISO_639_2 = {"spa": "es", "eng": "en"}  # ISO 639-2
TRIGRAMS_TABLE = Path(__file__).resolve().parent / "tables" / "trigrams.tsv"
MIN_CONFIDENCE = 0.65  # confidence from which a language is taken for known
# Of what needs no translation: known words, confidence, and words more usual in its own language.
MIN_TARGET_SHARE, MIN_TARGET_CONFIDENCE, MAX_SOURCE_SHARE = 0.85, 0.95, 0.25
SPANISH_LETTERS = "ñ¿¡áéíóúü"
LETTER_WEIGHT = 3.0  # nats that each of those speaks for Spanish, beside its runs
TRIGRAM_WEIGHT, NAME_TRIGRAM_WEIGHT = (
    0.5,
    0.15,
)  # of a run, as neighbours share letters; of one in a capitalised word

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Detection:
    """A language and how sure it is, 0.5 to 1."""

    lang: str
    confidence: float

    @property
    def is_confident(self) -> bool:
        return self.confidence >= MIN_CONFIDENCE


def language_code(name: str) -> str:
    """The code of the language that a client or a system names: `en` of en-US, en_GB.UTF-8, ENG.

    A name of any other language is given back as it is.
    """
    primary = re.split("[-_.@]", name.strip().lower(), maxsplit=1)[0]
    code = ISO_639_2.get(primary, primary)
    return code if code in LANGUAGES else name


def trigrams(text: str) -> list[str]:
    """Each three characters of the words in small letters, a space at both ends of a word."""
    padded = [f" {word} " for word in _WORD.findall(text.lower().replace("’", "'"))]
    return [word[i : i + 3] for word in padded for i in range(len(word) - 2)]


@functools.cache
def trigram_weights() -> Mapping[str, float]:
    """Nats that each run speaks for Spanish, below 0 for English: see `data/tables.py`."""
    rows = TRIGRAMS_TABLE.read_text(encoding="utf-8").splitlines()
    return {trigram: float(ratio) for trigram, _, ratio in (row.partition("\t") for row in rows)}


def detect(text: str) -> Detection:
    """The likelier language; without a word that tells, Spanish with a confidence of 0.5.

    A few words whose letters do not tell are looked up.
    """
    known = trigram_weights()
    total = TRIGRAM_WEIGHT * sum(known.get(trigram, 0.0) for trigram in trigrams(text))
    if not text.isupper():
        names = " ".join(word for word in _WORD.findall(text) if word[0].isupper())
        total -= (TRIGRAM_WEIGHT - NAME_TRIGRAM_WEIGHT) * sum(
            known.get(trigram, 0.0) for trigram in trigrams(names)
        )
    total += LETTER_WEIGHT * sum(map(text.lower().count, SPANISH_LETTERS))
    sure = 1 / (1 + math.exp(-min(abs(total), 50.0)))
    if sure < MIN_CONFIDENCE and len(usual := _languages_of_common_words(text)) == 1:
        return Detection(usual[0], MIN_CONFIDENCE)
    return Detection("es" if total >= 0 else "en", sure)


def _languages_of_common_words(text: str) -> list[str]:
    """The languages in which all words of a text are frequent: of "hello" English alone."""
    from transformer.text import spelling  # its tables are for text that does not tell

    found = _WORD.findall(text.lower())
    tables = {lang: spelling.load_words(lang) for lang in LANGUAGES if found}
    return [lang for lang, known in tables.items() if known and known.rank.keys() >= set(found)]


def is_in_target_language(text: str, src_lang: str, tgt_lang: str) -> bool:
    """Whether a text that is to be translated is in the target language: its words and runs are.

    A lone word only where the source language does not have it.
    """
    from transformer.text import spelling

    here, n_words = spelling.known_word_share(text, src_lang)
    there, _ = spelling.known_word_share(text, tgt_lang) if here < 1 else (0.0, 0)
    if n_words < 2:
        return n_words == 1 and (here, there) == (0.0, 1.0)
    if there < MIN_TARGET_SHARE or here >= there:
        return False
    own, other = (
        known.rank if (known := spelling.load_words(lang)) else {} for lang in (src_lang, tgt_lang)
    )
    found, last = _WORD.findall(text.lower()), 2 * spelling.N_COMMON_WORDS
    native = sum(own.get(word, last) < other.get(word, last) for word in found)
    detected = detect(text)
    return (
        native <= MAX_SOURCE_SHARE * len(found)
        and detected.lang == tgt_lang
        and detected.confidence > MIN_TARGET_CONFIDENCE
    )
