"""Tell Spanish from English by the trigrams of a text.

Each trigram speaks for one language by the logarithm of how much more frequent it is there, as
counted in the project's own corpus (`data/`); so do the letters and marks that one of them does not
have. A word with a capital may be a name, which speaks for neither, and counts for less. Text in a
third language is undecided, or taken for the likelier of the two.
"""

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LETTER_RUN = re.compile(r"[^\W\d_]+")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # don't is one
NAMES = {"es": "Spanish", "en": "English"}
LANGUAGES = tuple(NAMES)
ISO_639_2 = {"spa": "es", "eng": "en"}
TRIGRAMS_TABLE = Path(__file__).resolve().parent / "tables" / "trigrams.tsv"
MIN_CONFIDENCE = 0.65  # from which a language is taken for known
# Of text that needs no translation: the share of known words, the confidence, and the share of
# words that are more usual in its own language.
MIN_TARGET_SHARE, MIN_TARGET_CONFIDENCE, MAX_SOURCE_SHARE = 0.85, 0.95, 0.25
SPANISH_LETTERS = "ñ¿¡áéíóúü"
LETTER_WEIGHT = 3.0  # nats that each of those speaks for Spanish, beside its trigrams
TRIGRAM_WEIGHT = 0.5  # as neighbours share letters
NAME_TRIGRAM_WEIGHT = 0.15  # in a word with a capital


@dataclass(frozen=True, slots=True)
class Detection:
    """A language and how sure it is, 0.5 to 1."""

    lang: str
    confidence: float

    @property
    def is_confident(self) -> bool:
        return self.confidence >= MIN_CONFIDENCE


def language_code(name: str) -> str:
    """Return the code of the language that a client or a system names.

    It is `en` of en-US, en_GB.UTF-8, ENG. The name of any other language is returned as it is.
    """
    primary = re.split("[-_.@]", name.strip().lower(), maxsplit=1)[0]
    code = ISO_639_2.get(primary, primary)
    return code if code in LANGUAGES else name


def trigrams(text: str) -> list[str]:
    """Return the trigrams of the words in lower case, with a space at both ends of each word."""
    padded = [f" {word} " for word in WORD.findall(text.lower().replace("’", "'"))]
    return [word[i : i + 3] for word in padded for i in range(len(word) - 2)]


@functools.cache
def trigram_weights() -> Mapping[str, float]:
    """Return the log odds of each trigram, in nats: above 0 for Spanish, below 0 for English.

    `data/tables.py` counts them.
    """
    rows = TRIGRAMS_TABLE.read_text(encoding="utf-8").splitlines()
    return {trigram: float(ratio) for trigram, _, ratio in (row.partition("\t") for row in rows)}


def detect(text: str) -> Detection:
    """Return the likelier language; if nothing speaks for either, Spanish with confidence 0.5.

    If the trigrams do not decide, the words are looked up in the word lists.
    """
    total = TRIGRAM_WEIGHT * _sum_weights(text)
    if not text.isupper():
        names = " ".join(word for word in WORD.findall(text) if word[0].isupper())
        total -= (TRIGRAM_WEIGHT - NAME_TRIGRAM_WEIGHT) * _sum_weights(names)
    total += LETTER_WEIGHT * sum(map(text.lower().count, SPANISH_LETTERS))
    confidence = 1 / (1 + math.exp(-min(abs(total), 50.0)))
    if confidence < MIN_CONFIDENCE and (words := set(WORD.findall(text.lower()))):
        from transformer.text import spelling  # its tables are for text that does not tell

        usual = [lang for lang in LANGUAGES if spelling.load_words(lang).rank.keys() >= words]
        if len(usual) == 1:
            return Detection(usual[0], MIN_CONFIDENCE)
    return Detection("es" if total >= 0 else "en", confidence)


def _sum_weights(text: str) -> float:
    weights = trigram_weights()
    return sum(weights.get(trigram, 0.0) for trigram in trigrams(text))


def is_in_target_language(text: str, src_lang: str, tgt_lang: str) -> bool:
    """Return whether a text is in the target language already, by its words and trigrams.

    A single word must not be a word of the source language, too.
    """
    from transformer.text import spelling

    here, n_words = spelling.known_word_share(text, src_lang)
    there, _ = spelling.known_word_share(text, tgt_lang) if here < 1 else (0.0, 0)
    if n_words < 2:
        return n_words == 1 and (here, there) == (0.0, 1.0)
    if there < MIN_TARGET_SHARE or here >= there:
        return False
    own, other = (spelling.load_words(lang).rank for lang in (src_lang, tgt_lang))
    words, last = WORD.findall(text.lower()), 2 * spelling.N_COMMON_WORDS
    n_native = sum(own.get(word, last) < other.get(word, last) for word in words)
    if n_native > MAX_SOURCE_SHARE * len(words):
        return False
    detected = detect(text)
    is_sure = there == 1 and n_native == 0  # No me gusta leer: "no" and "me" are English, too
    least = MIN_CONFIDENCE if is_sure else MIN_TARGET_CONFIDENCE
    return detected.lang == tgt_lang and detected.confidence > least
