"""Translation with care: what must not change is kept, what went wrong is tried in another way.

Around a `Translator`: placeholders, addresses, tags, code, emoji and foreign scripts come out as
they went in; capitals are translated from small letters, a lone word or a short title too where
the model is surer of it that way, Spanish from its full spelling; each translation is looked at by
`guard`, a faulty one is tried again, one way after the other, and what is still wrong becomes a
warning.
"""

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence, Set

import torch

from transformer.config import SLOTS, DecodeConfig
from transformer.text import spelling
from transformer.text.placeholders import find
from transformer.text.sentences import Segment
from transformer.text.tokenizer import Tokenizer
from transformer.translation import preprocess
from transformer.translation.faults import Fault, badness, faults
from transformer.translation.preprocess import Attempt, Sentence
from transformer.translation.translator import (
    GREEDY,
    Candidate,
    Layout,
    TextTranslator,
    Translation,
    Translator,
)

BEAMS, NO_REPEAT = 4, 3  # of the second and third try
SEVERE = {"repetition", "copied source", "empty", "too short", "too long"}
Spans = list[tuple[int, int]]
Way = Callable[[Sentence, Sequence[Fault]], Attempt | None]
Found = tuple[tuple[Candidate, ...], tuple[Fault, ...]]

_MARKED = re.compile(r"[`<{%$@/#:]")  # one of these is in all that `find` finds, or a dot
_DOTTED = re.compile(r"\.\w")
_SIGNS = [  # beyond the ordinary ones, of which a corpus has a few: © ½ ‰ ₡
    c
    for c in map(chr, (*range(0xA1, 0x250), *range(0x2010, 0x2070), *range(0x20A0, 0x20D0)))
    if (unicodedata.category(c)[0] in "SP" or c.isnumeric()) and c not in "¡¿«»‘’“”–—…€£°"
]


class Careful(TextTranslator):
    """A translator that keeps what must not change, and tells what it could not translate."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.src_lang, self.tgt_lang = translator.src_lang, translator.tgt_lang
        self.name = translator.name
        self.has_slots = translator.tokenizer.has_slots
        self._foreign = foreign(translator.tokenizer)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.translator.device

    def layout(self, text: str) -> Layout:
        """The sentences of a text, with what is kept in each."""
        return Layout.split(text, self.src_lang, self._spans(text))

    def translate_segments(
        self, sentences: Sequence[Segment], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        """One translation for each sentence, in order, with warnings of slips and faults."""
        read = [self._read(sentence) for sentence in sentences]
        return [
            Translation(
                source=sentence.text,
                candidates=candidates,
                warnings=(*(f"spelling: {slip}" for slip in slips), *map(str, wrong)),
            )
            for sentence, slips, (candidates, wrong) in zip(
                sentences, [sentence.slips for sentence in read], self._best(read, decode),
                strict=True,
            )
        ]  # fmt: skip

    def _read(self, sentence: Segment) -> Sentence:
        text, spans = sentence.text, sentence.kept
        if not spans:
            return self._spelt(preprocess.read(text))
        # Without slots, nothing at the ends of a sentence needs to pass through the model.
        edges = self._foreign.findall(text) if self.has_slots else [text[a:b] for a, b in spans]
        return self._spelt(preprocess.read(text, spans, outside="".join(edges)))

    def _spelt(self, one: Sentence) -> Sentence:
        """A sentence without slips; Spanish with the accents and ¿ ¡ that it was typed without."""
        # A slot of the text's own is always kept, so that none but these stands in the words.
        typed = "".join(SLOTS[0] if is_kept else text for text, is_kept in one.parts)
        text = spelling.restore_accents(typed) if self.src_lang == "es" else typed
        slips: list[str] = []
        if not one.style:  # a name in capitals has small letters now
            text, slips = spelling.correct(text, self.src_lang, self._n_pieces)
        if text == typed:
            return one
        texts = text.split(SLOTS[0])
        parts = [(texts[0], False)]
        for kept, after in zip(one.kept, texts[1:], strict=True):
            parts += [(kept, True), (after, False)]
        found = tuple(part for part in parts if part[0])
        return dataclasses.replace(one, parts=found, slips=tuple(slips))

    def _n_pieces(self, word: str) -> int:
        return len(self.translator.tokenizer.encode(word))

    def _spans(self, text: str) -> Spans:
        """What is kept, in order: protected tokens, and runs that no piece can write."""
        spans: Spans = []
        if _MARKED.search(text) or _DOTTED.search(text):
            spans = [(one.start, one.end) for one in find(text) if one.kind != "number"]
        for found in self._foreign.finditer(text):
            a, b = found.span()
            invisible = not unicodedata.normalize("NFKC", found.group()).strip("\u200d\ufe0f")
            if not invisible and not any(start < b and a < end for start, end in spans):
                spans.append((a, b))
        return sorted(spans)

    def _first(self, sentence: Sentence) -> Attempt:
        unwritable = not self.has_slots and any(map(self._foreign.search, sentence.kept))
        if unwritable:
            return preprocess.around(sentence)
        return preprocess.whole(sentence, self.has_slots)

    def _best(self, sentences: Sequence[Sentence], decode: DecodeConfig) -> list[Found]:
        """The candidates of each sentence with the faults of the first one, the best found."""
        tries = [self._first(sentence) for sentence in sentences]
        lowered = {
            i: preprocess.small(sentence, self.has_slots) for i, sentence in enumerate(sentences)
        }
        lone = {i: attempt for i, attempt in lowered.items() if attempt}
        config = dataclasses.replace(decode, scores=decode.scores or bool(lone))
        results = iter(self._run([*tries, *lone.values()], config))
        best = [_judged(sentence, next(results)) for sentence in sentences]
        for i, found in zip(lone, results, strict=True):
            # Few words stand alone in a corpus, in one form mostly, and few titles; the score
            # keeps names as such.
            both = best[i], _judged(sentences[i], found)
            best[i] = min(both, key=lambda one: (badness(one[1]), -one[0][0].score))
        for codes, make, n_gram in self._ladder():
            wrong = {i: found[1] for i, found in enumerate(best) if found[1]}
            asked = {
                i: make(sentences[i], faults)
                for i, faults in wrong.items()
                if not codes or any(fault.code in codes for fault in faults)
            }
            ways = {i: attempt for i, attempt in asked.items() if attempt}
            config = dataclasses.replace(
                decode, beam_size=max(BEAMS, decode.beam_size), n_best=BEAMS, no_repeat_ngram=n_gram
            )
            for i, found in zip(ways, self._run([*ways.values()], config), strict=True):
                again = _judged(sentences[i], found)
                if badness(again[1]) < badness(best[i][1]):
                    best[i] = again[0][: decode.n_best], again[1]
        return best

    def _ladder(self) -> Iterator[tuple[set[str], Way, int]]:
        """What to try one after the other: for which faults (none: all), how, no n-gram twice."""
        slots = self.has_slots
        yield set(), lambda one, _: self._first(one), 0
        yield {"repetition", "too long"}, lambda one, _: self._first(one), NO_REPEAT
        yield {"copied source"}, lambda one, _: preprocess.unmarked(one, slots), 0
        yield {"number lost"}, self._with_numbers, 0
        yield {"missing", "doubled"}, lambda one, _: preprocess.around(one), 0
        yield SEVERE, lambda one, _: preprocess.clauses(one, slots), NO_REPEAT

    def _with_numbers(self, sentence: Sentence, wrong: Sequence[Fault]) -> Attempt:
        """The sentence with its lost numbers kept: under slots, or by themselves."""
        lost = {fault.about for fault in wrong}
        parts: list[preprocess.Part] = []
        for text, is_kept in sentence.parts:
            numbers = [] if is_kept else [s for s in find(text) if s.kind == "number"]
            spans = [(s.start, s.end) for s in numbers if text[s.start : s.end].rstrip("%") in lost]
            parts += preprocess.read(text, spans).parts if spans else [(text, is_kept)]
        kept = dataclasses.replace(sentence, parts=tuple(parts))
        return preprocess.whole(kept, True) if self.has_slots else preprocess.around(kept)

    def _run(self, tries: Sequence[Attempt], decode: DecodeConfig) -> list[tuple[Candidate, ...]]:
        """The candidates of each attempt, put together again."""
        wanted = [text for attempt in tries for text in attempt.wanted]
        translated = self.translator.translate_sentences(wanted, decode) if wanted else []
        results = (translation.candidates for translation in translated)
        return [
            next(results) if attempt.is_plain else _assembled(attempt, results, decode.n_best)
            for attempt in tries
        ]


def foreign(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Finds what the vocabulary cannot write: emoji, other scripts, rare signs, slots in the text.

    Latin letters and marks are left to the model, which has bytes for the rare ones.
    """
    pictures = {c for c in tokenizer.alphabet if c >= "\u2190" and unicodedata.category(c) == "So"}
    known = tokenizer.alphabet - pictures - {*SLOTS}
    others = "".join(sorted(c for c in known if c > "\u024f"))
    signs = "".join(c for c in _SIGNS if not _is_written(c, known))
    return re.compile(
        f"(?:[^\\s\\x00-\\u024f\\u0300-\\u036f\\u2000-\\u206f\\u20a0-\\u20cf{re.escape(others)}]"
        f"|[{re.escape(signs)}])"
        "[^\\s\\x00-\\u024f\\u2010-\\u2027]*"
    )


def _is_written(sign: str, known: Set[str]) -> bool:
    """Whether pieces write the sign as it is, or as what stands for it: "..." for "…"."""
    plain = unicodedata.normalize("NFKC", sign)
    return known >= set(plain) and not sign.isnumeric()  # ½ is no "1/2", x² no "x2"


def _judged(sentence: Sentence, found: tuple[Candidate, ...]) -> Found:
    """The candidates, the one with the least faults first, and those faults."""
    source = sentence.before + sentence.text + sentence.after
    wrong = faults(source, found[0].text, sentence.kept)
    best = 0
    for place in range(1, len(found) if wrong else 0):
        other = faults(source, found[place].text, sentence.kept)
        if badness(other) < badness(wrong):
            best, wrong = place, other
    return (found[best], *found[:best], *found[best + 1 :]) if best else found, wrong


def _assembled(
    attempt: Attempt, results: Iterator[tuple[Candidate, ...]], n_best: int
) -> tuple[Candidate, ...]:
    """The k-th candidate is made of the k-th of each text, or its last.

    Of several texts none vanishes: one without a translation that says anything stays as it is.
    """
    found = [next(results) for _ in attempt.wanted]
    if len(found) > 1:
        found = [
            tuple(one for one in candidates if one.text.strip())
            or (dataclasses.replace(candidates[0], text=text),)
            for text, candidates in zip(attempt.wanted, found, strict=True)
        ]
    candidates = []
    for k in range(min(n_best, max(map(len, found), default=0))):
        chosen = [one[min(k, len(one) - 1)] for one in found]
        candidates.append(
            Candidate(
                text=attempt.finished([one.text for one in chosen]),
                score=sum(one.score for one in chosen),
                tokens=tuple(token for one in chosen for token in one.tokens),
            )
        )
    return tuple(candidates)
