"""Glossary terms in a translation: the target replaces the words that translate the source term.

A sentence is translated with its own words, so that the words around a term agree with it.
Cross-attention shows which words translate the term, and the term's target replaces them. A slot
for the term would lose its meaning; slots are for words that the model does not know.
"""

import bisect
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from transformer.config import DecodeConfig
from transformer.decoding.hypothesis import Hypothesis
from transformer.text.casing import FUNCTION_WORDS
from transformer.text.markup import project_markup
from transformer.text.spans import overlapping
from transformer.text.spelling import match_case
from transformer.text.tokenizer import align_words, group_words
from transformer.translation.preprocess import ModelInput, SourceSentence, TermPlace, locate_terms
from transformer.translation.quality_checks import term_pattern
from transformer.translation.translator import Candidate, Translator, combine_candidates

_DETERMINERS = """any este esta estos estas her his ningún ninguna nuestra nuestro our some sus
    these those unas unos your"""
# Words that stand before a term and are no part of it.
_STOP_WORDS = FUNCTION_WORDS | {*_DETERMINERS.split()}
# Articles and determiners, masculine and feminine, and nouns whose ending tells their gender.
_ARTICLE_PAIRS = """un una|el la|del de la|al a la|los las|unos unas|este esta|estos estas|ese esa
    |esos esas|aquel aquella|aquellos aquellas|nuestro nuestra|nuestros nuestras|algún alguna
    |ningún ninguna"""
_FEMININE = {one: " ".join(other) for one, *other in map(str.split, _ARTICLE_PAIRS.split("|"))}
_MASCULINE = {other: one for one, other in _FEMININE.items()}
_IS_MASCULINE = re.compile(r"\w+(?:os?|ajes?)")
_IS_FEMININE = re.compile(r"(?!h?[aá])\w+(?:[csx](?:ión|iones)|[dt]ad(?:es)?|(?<![mtp])as?)")
_NOUNS = """mano manos foto fotos moto motos radio radios testigo testigos modelo modelos piloto
    pilotos soldado soldados día días guía guías policía policías cura curas colega colegas gas
    paraguas espía espías"""
_EITHER_GENDER = {*_NOUNS.split()}  # nouns whose ending does not tell
_WORD = re.compile(r"\w+")
_POSSESSIVE = re.compile(r"['’]s?$")


def translate_terms(
    translator: Translator, sentences: Sequence[SourceSentence], decode: DecodeConfig
) -> list[tuple[Candidate, ...]]:
    """Translate sentences with their terms placed by alignment; return the candidates of each.

    A term that finds no place is left out, which `find_issues` reports as missing.
    """
    located = [locate_terms(sentence, translator.tokenizer.has_slots) for sentence in sentences]
    cuts = [translator.split_to_fit(text) for text, _ in located]
    sources = [ids for pieces in cuts for _, ids in pieces if ids]
    results = iter(translator.decoder.search(sources, decode, aligned=True))
    translated = []
    for sentence, (text, places), pieces in zip(sentences, located, cuts, strict=True):
        parts, end = list[list[Candidate]](), 0
        for piece, ids in pieces:
            start, end = end, end + len(piece)
            own = [
                place._replace(start=place.start - start, end=place.end - start)
                for place in places
                if start <= place.start < place.end <= end
            ]
            parts.append(
                [_candidate(translator, (piece, ids), found, own) for found in next(results)]
                if ids else [Candidate(text=piece, score=0.0, tokens=())]
            )  # fmt: skip
        whole = ModelInput(sentence, ((text, False),), sentence.kept)
        translated.append(tuple(
            replace(candidate, text=whole.assemble([candidate.text]))
            for candidate in combine_candidates(parts, "".join)
        ))  # fmt: skip
    return translated


def _candidate(
    translator: Translator,
    piece: tuple[str, list[int]],
    found: Hypothesis,
    places: Sequence[TermPlace],
) -> Candidate:
    """Return the translation `found` of a piece (text, ids), slots for terms at `places` in it."""
    plain = translator.decode_hypothesis(found)
    source, target = group_words(translator.tokenizer.pieces(piece[1])), group_words(plain.tokens)
    names = [word.text for word in source], [word.text for word in target]
    weights = align_words(found.alignment, source, target)
    text = place_terms((piece[0], plain.text), places, names, weights)
    return replace(plain, text=text)


def place_terms(
    sentences: tuple[str, str],
    places: Sequence[TermPlace],
    words: tuple[Sequence[str], Sequence[str]],
    weights: Sequence[Sequence[float]],
) -> str:
    """Put slots, characters that stand for terms, into the translation of (source, translation).

    `words` are those of the two, `weights` (T, S) their attention. Where the model wrote a term's
    target itself, the slot takes its place. The translation stays as it is if words are not found
    in it or slots would overlap.
    """
    source, output = sentences
    spans: list[tuple[int, int, str]] = []
    others: list[TermPlace] = []
    for place in places:
        found = (match.span() for match in term_pattern(place.target).finditer(output))
        free = next((span for span in found if not overlapping(*span, spans)), None)
        if free is None:
            others.append(place)
        else:
            bisect.insort(spans, (*free, place.slot))
    try:
        projected = project_markup(sentences, [place[:2] for place in others], words, weights)
    except ValueError:  # a sign that the vocabulary writes otherwise
        return output
    end = 0
    for text, mark in projected:
        start, end = end, end + len(text)
        if mark is not None and text:
            inner = _trim_span(text, source[slice(*others[mark][:2])], others[mark].target)
            spans.append((start + inner[0], start + inner[1], others[mark].slot))
    spans.sort()
    if any(one[1] > other[0] for one, other in pairwise(spans)):
        return output
    for start, stop, slot in reversed(spans):
        output = output[:start] + slot + output[stop:]
    return output


def _trim_span(text: str, term: str, target: str) -> tuple[int, int]:
    """Return (start, end) in `text`, the output for `term`, less article and 's not in `target`."""
    found = [*_WORD.finditer(text)]
    start, stop = 0, len(text)
    if not found:
        return start, stop
    edges = [_WORD.findall(text.lower()) or [""] for text in (term, target)]
    if not any(words[0] in _STOP_WORDS for words in edges):
        start = next((m.start() for m in found if m[0].lower() not in _STOP_WORDS), 0)
    if not any(words[-1] in _STOP_WORDS for words in edges):
        stop = next((m.end() for m in reversed(found) if m[0].lower() not in _STOP_WORDS), stop)
    possessive = _POSSESSIVE.search(text)
    if possessive and not _POSSESSIVE.search(target):
        stop = min(possessive.start(), stop)
    return (start, stop) if start < stop else (0, len(text))


def agree_articles(text: str, targets: Iterable[str]) -> str:
    """Make the articles of a Spanish text agree with the terms (`targets`) right behind them.

    The model chose an article for its own word: "la siniestro" becomes "el siniestro". The article
    of a term whose ending does not show the gender stays.
    """
    for target in dict.fromkeys(targets):
        noun = target.split()[0].lower()
        is_masculine = bool(_IS_MASCULINE.fullmatch(noun))
        if noun in _EITHER_GENDER or not (is_masculine or _IS_FEMININE.fullmatch(noun)):
            continue
        right = _MASCULINE if is_masculine else _FEMININE
        wrong = "|".join(sorted(right, key=len, reverse=True))
        before = re.compile(rf"\b({wrong})(?=\s+{term_pattern(target).pattern})", re.IGNORECASE)
        text = before.sub(functools.partial(_match_gender, right), text)
    return text


def _match_gender(right: Mapping[str, str], found: re.Match[str]) -> str:
    return match_case(right[found[1].lower()], found[1])
