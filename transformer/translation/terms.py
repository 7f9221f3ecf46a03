"""The terms of a glossary in a translation: put where the words of the source went.

A sentence is translated with its own words, so that all around them agrees; where the decoder
looked at a term, its target is put. What goes through a model as a slot has lost its meaning: that
way is for words that a model does not know.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from transformer.config import DecodeConfig
from transformer.decoding.hypothesis import Hypothesis
from transformer.text.casing import FUNCTION_WORDS, capitalize_first
from transformer.text.markup import project_markup
from transformer.text.tokenizer import group_words
from transformer.translation.preprocess import ModelInput, SourceSentence, TermPlace, locate_terms
from transformer.translation.quality_checks import term_pattern
from transformer.translation.translator import Candidate, Translator, combine_candidates

_MORE = """any este esta estos estas her his ningún ninguna nuestra nuestro our some sus these those
    unas unos your"""
_LITTLE = FUNCTION_WORDS | {*_MORE.split()}  # words that stand before a term and are none of it
# What stands before a noun, masculine and feminine, and what tells which of the two it is.
_BOTH = """un una|el la|del de la|al a la|los las|unos unas|este esta|estos estas|ese esa|esos esas
    |aquel aquella|aquellos aquellas|nuestro nuestra|nuestros nuestras|algún alguna
    |ningún ninguna"""
_FEMININE = {one: " ".join(other) for one, *other in map(str.split, _BOTH.split("|"))}
_MASCULINE = {other: one for one, other in _FEMININE.items()}
_IS_MASCULINE = re.compile(r"\w+(?:os?|ajes?)")
_IS_FEMININE = re.compile(r"(?!h?[aá])\w+(?:[csx](?:ión|iones)|[dt]ad(?:es)?|(?<![mtp])as?)")
_EITHER = """mano manos foto fotos moto motos radio radios testigo testigos modelo modelos piloto
    pilotos soldado soldados día días guía guías policía policías cura curas colega colegas gas
    paraguas espía espías"""
_OPEN = {*_EITHER.split()}  # nouns whose ending does not tell
_WORD = re.compile(r"\w+")
_POSSESSIVE = re.compile(r"['’]s?$")


def translate_terms(
    translator: Translator, sentences: Sequence[SourceSentence], decode: DecodeConfig
) -> list[tuple[Candidate, ...]]:
    """The candidates of each sentence, its terms where their words would have been.

    A term that finds no place is missing: see `faults`.
    """
    parsed = [locate_terms(sentence, translator.tokenizer.has_slots) for sentence in sentences]
    cuts = [translator.split_to_fit(text) for text, _ in parsed]
    asked = [ids for pieces in cuts for _, ids in pieces if ids]
    results = iter(translator.decoder.search(asked, decode, aligned=True) if asked else [])
    translated = []
    for sentence, (text, places), pieces in zip(sentences, parsed, cuts, strict=True):
        whole, end = ModelInput(sentence, ((text, False),), sentence.kept), 0
        parts: list[tuple[Candidate, ...]] = []
        for piece, ids in pieces:
            start, end = end, end + len(piece)
            own = [
                place.relative_to(start)
                for place in places
                if start <= place.start < place.end <= end
            ]
            found = next(results) if ids else ()
            parts.append(
                tuple(_candidate(translator, (piece, ids), hypothesis, own) for hypothesis in found)
                or (Candidate(text=piece, score=0.0, tokens=()),)
            )
        translated.append(combine_candidates(parts, _writing(whole)))
    return translated


def _writing(whole: ModelInput) -> Callable[[Sequence[str]], str]:
    """Makes a sentence of the translations of its pieces."""
    return lambda texts: whole.assemble(["".join(texts)])


def _candidate(
    translator: Translator,
    piece: tuple[str, list[int]],
    found: Hypothesis,
    places: Sequence[TermPlace],
) -> Candidate:
    """The translation of a text, the slots of its terms in their places."""
    plain = translator.decode_hypothesis(found)
    source, target = group_words(translator.tokenizer.pieces(piece[1])), group_words(plain.tokens)
    names = [word.text for word in source], [word.text for word in target]
    weights = [
        [float(found.alignment[t.first : t.last, s.first : s.last].mean(0).sum()) for s in source]
        for t in target
    ]
    text = place_terms((piece[0], plain.text), places, names, weights)
    return replace(plain, text=text)


def place_terms(
    sentences: tuple[str, str],
    places: Sequence[TermPlace],
    words: tuple[Sequence[str], Sequence[str]],
    weights: Sequence[Sequence[float]],
) -> str:
    """The translation with slots for the terms of (source, translation); see `project_markup`.

    What the model says as the glossary does is left where it is.
    """
    source, output = sentences
    spans: list[tuple[int, int, str]] = []
    others: list[TermPlace] = []
    for place in places:
        there = (match.span() for match in term_pattern(place.target).finditer(output))
        free = next(
            (span for span in there if not any(_meet(span, other) for other in spans)), None
        )
        if free is None:
            others.append(place)
        else:
            spans.append((*free, place.slot))
    try:
        projected = project_markup(sentences, [place[:2] for place in others], words, weights)
    except ValueError:  # a sign that the vocabulary writes otherwise
        return output
    end = 0
    for text, mark in projected:
        start, end = end, end + len(text)
        if mark is not None and text:
            inner = _inner(text, source[slice(*others[mark][:2])], others[mark].target)
            spans.append((start + inner[0], start + inner[1], others[mark].slot))
    spans.sort()
    if any(_meet(one, other) for one, other in pairwise(spans)):
        return output
    for start, stop, slot in reversed(spans):
        output = output[:start] + slot + output[stop:]
    return output


def _meet(span: Sequence[Any], other: Sequence[Any]) -> bool:
    return bool(span[0] < other[1] and other[0] < span[1])


def _inner(text: str, term: str, target: str) -> tuple[int, int]:
    """The words that stand for a term, without an article before it or a possessive after it."""
    found = [*_WORD.finditer(text)]
    start, stop = 0, len(text)
    if not found:
        return start, stop
    edges = [_WORD.findall(said.lower()) or [""] for said in (term, target)]
    if not any(said[0] in _LITTLE for said in edges):
        start = next((m.start() for m in found if m[0].lower() not in _LITTLE), 0)
    if not any(said[-1] in _LITTLE for said in edges):
        stop = next((m.end() for m in reversed(found) if m[0].lower() not in _LITTLE), stop)
    possessive = _POSSESSIVE.search(text)
    if possessive and not _POSSESSIVE.search(target):
        stop = min(possessive.start(), stop)
    return (start, stop) if start < stop else (0, len(text))


def agreeing(text: str, targets: Iterable[str]) -> str:
    """A Spanish text whose articles agree with the terms right behind, where their endings tell.

    The model wrote them for a word of its own: "la reclamación" becomes "el siniestro".
    """
    for target in dict.fromkeys(targets):
        noun = target.split()[0].lower()
        is_masculine = bool(_IS_MASCULINE.fullmatch(noun))
        if noun in _OPEN or not (is_masculine or _IS_FEMININE.fullmatch(noun)):
            continue
        right = _MASCULINE if is_masculine else _FEMININE
        wrong = "|".join(sorted(right, key=len, reverse=True))
        before = re.compile(rf"\b({wrong})(?=\s+{term_pattern(target).pattern})", re.IGNORECASE)
        text = before.sub(functools.partial(_in_gender, right), text)
    return text


def _in_gender(right: Mapping[str, str], found: re.Match[str]) -> str:
    said, word = found[1], right[found[1].lower()]
    if said.isupper():
        return word.upper()
    return capitalize_first(word) if said[0].isupper() else word
