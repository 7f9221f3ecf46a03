"""Guarded translation: what must not change is kept, what went wrong is tried in another way.

Around a `Translator`: placeholders, addresses, tags, code, emoji and foreign scripts come out as
they went in; capitals are translated from small letters, a lone word or a short title too where
the model is surer of it that way, Spanish from its full spelling; each translation is looked at by
`faults`, a faulty one is tried again, one way after the other, one that the model itself finds
hopeless or that has a word of no text too, and what is still wrong becomes a warning.
"""

import dataclasses
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set

from transformer.config import SLOTS, DecodeConfig
from transformer.text import spelling
from transformer.text.glossary import Glossary
from transformer.text.language import NAMES, is_already
from transformer.text.marks import is_message
from transformer.text.names import find_people
from transformer.text.placeholders import find, overlapping
from transformer.text.sentences import Segment
from transformer.text.tokenizer import Tokenizer
from transformer.translation import preprocess
from transformer.translation.faults import Fault, faults, n_times, severity
from transformer.translation.preprocess import ModelInput, SourceSentence
from transformer.translation.translator import (
    GREEDY,
    Candidate,
    Layout,
    TextTranslator,
    Translation,
    Translator,
    combined,
)

BEAMS, NO_REPEAT = 4, 3  # of the second and third try
SURER = 0.5  # nats a token, by which a model must be surer of slots than of the words of terms
# Nats a piece, below which little is right: with the released model 0.5 % of everyday sentences and
# 14 to 22 % of those in French, Italian, Portuguese or Catalan. A few pieces have such means where
# they are right, too.
HOPELESS, FEWEST = -1.0, 4
UNSURE = Fault("unsure", 1)
INVENTED = "invented word"  # tried again, but not told of: it may be a rare one
Spans = list[tuple[int, int]]
Way = Callable[[SourceSentence, Sequence[Fault]], ModelInput]
Candidates = tuple[Candidate, ...]
Ranked = tuple[Candidates, tuple[Fault, ...]]  # the faults are those of the first candidate

_DEGREE = re.compile(r"(?<=\d)(\s?)º(?=\s?[CFK]\b)")  # of an ordinal, typed for that of degrees
_NUMBERED = re.compile(r"\b([Nn])[º°]\s?(?=\d)")
# A soft hyphen, marks that stand for usual ones, and the ligatures of printed pages.
_UNUSUAL = {0xAD: None, 0x2010: "-", 0x2011: "-", 0x2012: "–", 0x2015: "—"}
_UNUSUAL |= {n: unicodedata.normalize("NFKC", chr(n)) for n in range(0xFB00, 0xFB07)}
# A word with a letter that texts in Spanish and English hardly have, so a name: Łódź, Håkon.
_LETTERS = "".join({*map(chr, range(0xC0, 0x250))} - {*"ÁÉÍÑÓÚÜáéíñóúüàâäçèêëîïôöÇÖ×÷"})
_NAME = re.compile(
    r"(?<![^\W\d_])(?:(?![RARE])[^\W\d_])*+[RARE][^\W\d_]*+".replace(
        "RARE", f"{_LETTERS}\u1e00-\u1eff"
    )
)
_ORDINAL = re.compile(r"(?<![\w.])(n|\d{1,3})\.([oa])(?![\w)])")
_LATE = re.compile(r"\b(1[3-9]|2[0-3])([:.][0-5]\d)\s?[ap]\.?m\b\.?")
_SIGNS = [  # beyond the ordinary ones, of which a corpus has a few: © ½ ‰ ₡
    c
    for a, b in ((0x5C, 0x7F), (0xA1, 0x250), (0x2010, 0x2070), (0x20A0, 0x20D0))
    for c in map(chr, range(a, b))
    if (unicodedata.category(c)[0] in "SP" or c.isnumeric()) and c not in "¡¿«»‘’“”‐‑‒–—―…€£°_`[]{}"
]
_RARE = {*"|\\^~§©®±¥¦′⁄"}  # the vocabulary has them, a corpus hardly: a model writes others


class GuardedTranslator(TextTranslator):
    """A translator that keeps what must not change, and tells what it could not translate."""

    def __init__(self, translator: Translator, glossary: Glossary | None = None) -> None:
        """The glossary is that of all texts that come with none of their own."""
        self.translator, self.glossary = translator, glossary
        self.src_lang, self.tgt_lang = translator.src_lang, translator.tgt_lang
        self.name = translator.name
        self.has_slots = translator.tokenizer.has_slots
        self._foreign = foreign(translator.tokenizer)

    @property
    def device(self) -> str:
        return self.translator.device

    def split(self, text: str, glossary: Glossary | None = None) -> Layout:
        """The sentences of a text, with what is kept in each and the terms of a glossary."""
        kept, glossary = self._spans(text), glossary or self.glossary
        terms = glossary.terms((self.src_lang, self.tgt_lang)).find(text, kept) if glossary else ()
        if terms and kept:
            kept = [(a, b) for a, b in kept if not overlapping(a, b, terms)]
        layout = Layout.split(text, self.src_lang, kept, terms)
        if layout.sentences or not spelling.is_unread(text):
            return layout
        return dataclasses.replace(layout, doubts=(self._is_no_source,))

    @property
    def _is_no_source(self) -> str:
        return f"does not read like {NAMES.get(self.src_lang, self.src_lang)}"

    def translate_segments(
        self, sentences: Sequence[Segment], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        """One translation for each sentence, in order, with warnings of slips and faults."""
        read = [self._read(sentence) for sentence in sentences]
        return [
            Translation(
                source=sentence.text,
                candidates=candidates,
                warnings=(
                    *self._doubts(source),
                    *(str(fault) for fault in wrong if fault.code != INVENTED),
                ),
            )
            for sentence, source, (candidates, wrong) in zip(
                sentences, read, self._best(read, decode), strict=True
            )
        ]

    def _doubts(self, sentence: SourceSentence) -> list[str]:
        """What is said of a source: its slips, and that it seems to be in another language."""
        said = " ".join(text for text, is_kept in sentence.parts if not is_kept)
        doubts = [f"spelling: {slip}" for slip in sentence.slips]
        if sentence.is_left or spelling.is_foreign(said, self.src_lang):
            doubts.append(self._is_no_source)
        return doubts

    def _read(self, sentence: Segment) -> SourceSentence:
        text, spans = sentence.text, sentence.kept
        # Without slots, nothing at the ends of a sentence needs to pass through the model.
        edges = self._foreign.findall(text) if self.has_slots else [text[a:b] for a, b in spans]
        read = preprocess.read(text, spans, "".join(edges), sentence.terms)
        parts = tuple((part if is_kept else _usual(part), is_kept) for part, is_kept in read.parts)
        spelt = self._spelt(dataclasses.replace(read, parts=parts), sentence.is_as_typed)
        if not sentence.terms and self._is_left(text, spelt):
            return SourceSentence(((text, True),), is_left=True)
        return spelt

    def _is_left(self, typed: str, sentence: SourceSentence) -> bool:
        """Whether a sentence stays as it is: in a third language, or in the target's already."""
        said = " ".join(text for text, is_kept in sentence.parts if not is_kept)
        return spelling.is_foreign(said, self.src_lang, spelling.LEFT) or (
            is_already(said if sentence.kept else typed, self.src_lang, self.tgt_lang)
        )

    def _spelt(self, sentence: SourceSentence, is_as_typed: bool) -> SourceSentence:
        """A sentence without slips; Spanish with the accents and ¿ ¡ that it was typed without."""
        # A slot of the text's own is always kept, so that none but these stands in the words.
        typed = "".join(SLOTS[0] if is_kept else text for text, is_kept in sentence.parts)
        text = spelling.restore_accents(typed) if self.src_lang == "es" else typed
        slips: list[str] = []
        if not (sentence.style or is_as_typed):  # a name in capitals has small letters now
            text, slips = spelling.correct(text, self.src_lang, self._n_pieces)
        if text == typed:
            return sentence
        texts = text.split(SLOTS[0])
        parts = [(texts[0], False)]
        for kept, after in zip(sentence.kept, texts[1:], strict=True):
            parts += [(kept, True), (after, False)]
        filled = tuple(part for part in parts if part[0])
        return dataclasses.replace(sentence, parts=filled, slips=tuple(slips))

    def _n_pieces(self, word: str) -> int:
        return len(self.translator.tokenizer.encode(word))

    def _spans(self, text: str) -> Spans:
        """What is kept, in order: protected tokens, and runs that no piece can write."""
        found = [(s.start, s.end) for s in find(text) if s.kind != "number"]
        names = [m.span() for m in _NAME.finditer(text)] if self.has_slots else []
        for also in (find_people(text, self.src_lang), names):
            found = sorted([*found, *(name for name in also if not overlapping(*name, found))])
        spans = [*found]
        for run in self._foreign.finditer(text):
            invisible = not unicodedata.normalize("NFKC", run.group()).strip("\u200d\ufe0f")
            if not invisible and not overlapping(*run.span(), found):
                spans.append(run.span())
        return sorted(spans)

    def _first(self, sentence: SourceSentence) -> ModelInput:
        apart = (
            sentence.is_left
            or any(map(is_message, sentence.kept))
            or (not self.has_slots and any(map(self._foreign.search, sentence.kept)))
        )
        if apart or preprocess.is_all_terms(sentence):
            return preprocess.between_placeholders(sentence)
        return preprocess.masked(sentence, self.has_slots)

    def _best(self, sentences: Sequence[SourceSentence], decode: DecodeConfig) -> list[Ranked]:
        """The candidates of each sentence with the faults of the first one, the best found."""
        inputs = [self._first(sentence) for sentence in sentences]
        others = {
            i: model_input
            for i, sentence in enumerate(sentences)
            if (model_input := preprocess.recased(sentence, self.has_slots))
        }
        config = dataclasses.replace(decode, scores=True)
        results = iter(self._run([*inputs, *others.values()], config))
        best = [self._ranked(sentence, next(results)) for sentence in sentences]
        for i, candidates in zip(others, results, strict=True):
            # Few words stand alone in a corpus, in one form mostly, and few titles; the score
            # keeps names as such.
            first, other = best[i][0][0].text.lower(), candidates[0].text.lower()
            if other in (first, sentences[i].text.lower()):
                continue  # the same; or what is no name was taken for one
            both = best[i], self._ranked(sentences[i], candidates)
            best[i] = min(both, key=lambda result: (severity(result[1]), -result[0][0].score))
        wide = dataclasses.replace(config, beam_size=max(BEAMS, decode.beam_size), n_best=BEAMS)
        waiting = [i for i, s in enumerate(sentences) if s.terms and not preprocess.is_all_terms(s)]
        for searched in (config, wide):
            if not waiting:
                break
            from transformer.translation.terms import translate_terms

            placed = translate_terms(self.translator, [sentences[i] for i in waiting], searched)
            for i, candidates in zip(waiting, placed, strict=True):
                ranked, wrong = self._ranked(sentences[i], candidates)
                best[i] = _likelier(sentences[i], best[i], (ranked[: decode.n_best], wrong))
            waiting = [i for i in waiting if best[i][1]]
        return self._retried(sentences, best, wide, decode.n_best)

    def _retried(
        self,
        sentences: Sequence[SourceSentence],
        best: list[Ranked],
        decode: DecodeConfig,
        n_best: int,
    ) -> list[Ranked]:
        """The best of each sentence, after what is faulty was tried in other ways."""
        for codes, make, n_gram in self._retries():
            again = {
                i: make(sentences[i], wrong)
                for i, (_, wrong) in enumerate(best)
                if wrong and (not codes or any(fault.code in codes for fault in wrong))
            }
            searched = dataclasses.replace(decode, no_repeat_ngram=n_gram)
            for i, candidates in zip(again, self._run([*again.values()], searched), strict=True):
                retried, wrong = self._ranked(sentences[i], candidates)
                if severity(wrong) < severity(best[i][1]):
                    best[i] = retried[:n_best], wrong
        return best

    def _retries(self) -> Iterator[tuple[set[str], Way, int]]:
        """What to try one after the other: for which faults (none: all), how, no n-gram twice."""
        yield set(), lambda sentence, _: self._first(sentence), 0
        yield {"repetition", "too long"}, lambda sentence, _: self._first(sentence), NO_REPEAT
        yield {"number lost"}, self._with_numbers, 0
        lost = {"missing", "doubled", "emptied", "term missing"}
        yield lost, lambda sentence, _: preprocess.between_placeholders(sentence), 0

    def _with_numbers(self, sentence: SourceSentence, wrong: Sequence[Fault]) -> ModelInput:
        """The sentence with its lost numbers kept: under slots, or by themselves."""
        lost = {fault.about for fault in wrong}
        parts: list[preprocess.Part] = []
        for text, is_kept in sentence.parts:
            numbers = [] if is_kept else [s for s in find(text) if s.kind == "number"]
            spans = [(s.start, s.end) for s in numbers if text[s.start : s.end].rstrip("%") in lost]
            parts += preprocess.read(text, spans).parts if spans else [(text, is_kept)]
        kept = dataclasses.replace(sentence, parts=tuple(parts))
        if self.has_slots:
            return preprocess.masked(kept, True)
        return preprocess.between_placeholders(kept)

    def _run(self, inputs: Sequence[ModelInput], decode: DecodeConfig) -> list[Candidates]:
        """The candidates of each input, put together again."""
        texts = [text for model_input in inputs for text in model_input.texts]
        translated = self.translator.translate_sentences(texts, decode) if texts else []
        results = (translation.candidates for translation in translated)
        return [_assembled(model_input, results) for model_input in inputs]

    def _ranked(self, sentence: SourceSentence, candidates: Candidates) -> Ranked:
        """The candidates, the one with the least faults first, and those faults."""
        candidates = tuple(
            dataclasses.replace(candidate, text=written)
            if (written := _written(sentence.text, candidate.text, self.tgt_lang)) != candidate.text
            else candidate
            for candidate in candidates
        )
        if sentence.terms and self.tgt_lang == "es":
            from transformer.translation.terms import agreeing

            targets = [target for target, _ in sentence.terms]
            candidates = tuple(
                dataclasses.replace(candidate, text=agreeing(candidate.text, targets))
                for candidate in candidates
            )
        wrong = self._faults(sentence, candidates[0])
        if not wrong:
            return candidates, wrong
        judged = [(candidate, self._faults(sentence, candidate)) for candidate in candidates]
        best, wrong = min(judged, key=lambda result: severity(result[1]))
        return (best, *(other for other in candidates if other is not best)), wrong

    def _faults(self, sentence: SourceSentence, candidate: Candidate) -> tuple[Fault, ...]:
        """What is wrong with a candidate by its text, and by what the model thinks of it."""
        source = sentence.before + sentence.text + sentence.after
        terms = [target for target, _ in sentence.terms]
        wrong = faults(source, candidate.text, sentence.kept, terms, self.tgt_lang)
        if len(candidate.tokens) >= FEWEST and _score_of_token(candidate) < HOPELESS:
            wrong = (*wrong, UNSURE)
        return (*wrong, *_invented(source, candidate, self.tgt_lang))


def foreign(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Finds what a model cannot write: emoji, other scripts, rare signs, slots in the text.

    That the vocabulary has a piece of another script does not mean that a corpus has taught it.
    """
    known = tokenizer.alphabet - _RARE - {*SLOTS}
    signs = "".join(c for c in _SIGNS if not _is_written(c, known))
    return re.compile(
        f"(?:[^\\s\\x00-\\u024f\\u0300-\\u036f\\u1e00-\\u1eff\\u2000-\\u206f\\u20a0-\\u20cf\\ufb00-\\ufb06]"
        f"|[{re.escape(signs)}])"
        "[^\\s\\x00-\\u024f\\u2010-\\u2027]*"
    )


def _is_written(sign: str, known: Set[str]) -> bool:
    """Whether pieces write the sign as it is, or as what stands for it: "..." for "…"."""
    plain = unicodedata.normalize("NFKC", sign)
    return known >= set(plain) and not sign.isnumeric()  # ½ is no "1/2", x² no "x2"


def _usual(text: str) -> str:
    """A text with the signs that a corpus has: 180 °C, n.º 5, no soft hyphens."""
    text = _NUMBERED.sub(r"\1.º ", _DEGREE.sub(r"\1°", text))
    return unicodedata.normalize("NFC", text.translate(_UNUSUAL))


def _written(source: str, text: str, lang: str) -> str:
    """A translation as its language writes it: n.º 5, 4:30 p.m.; without a dot before a copy.

    The pieces have no º, and an hour of the afternoon is taken for one of twelve.
    """
    if ";" in source and source.count(";") > text.count(";"):
        text = preprocess.with_semicolons(source, text)
    if text[:1] in ".,;:" and text[1:3] and text[1:3] == source[:2]:
        text = text[1:]
    if lang == "es" and (".o" in text or ".a" in text):
        return _ORDINAL.sub(
            lambda found: found[0] if found[0] in source else f"{found[1]}.{'ºª'[found[2] == 'a']}",
            text,
        )
    if lang == "en":
        return _LATE.sub(lambda found: f"{int(found[1]) - 12}{found[2]} p.m.", text)
    return text


def _likelier(sentence: SourceSentence, slotted: Ranked, placed: Ranked) -> Ranked:
    """The one with less faults; of equals that with its terms in their places, if not unlikely."""
    (of_slots, *_), (of_words, *_) = slotted[0], placed[0]
    wanted = Counter(target for target, _ in sentence.terms)
    is_exact = all(n_times(target, of_slots.text) == n for target, n in wanted.items())
    gap = _score_of_token(of_slots) - _score_of_token(of_words)
    is_slotted = is_exact and gap > SURER
    return min(slotted, placed, key=lambda r: (severity(r[1]), (r is slotted) != is_slotted))


def _score_of_token(candidate: Candidate) -> float:
    return candidate.score / (len(candidate.tokens) + 1)


def _invented(source: str, candidate: Candidate, lang: str) -> list[Fault]:
    """The words of a translation, in small letters, that neither its language nor the source has.

    A word of one piece is known to the vocabulary; most translations have no others.
    """
    spelt = set(spelling.WORD.findall(candidate.text))
    spelt -= {piece.removeprefix("▁") for piece in candidate.tokens}
    known = spelling.words(lang) if spelt else None
    if known is None:
        return []
    source = source.lower()
    return [Fault(INVENTED, 1, w) for w in sorted(spelt) if w not in known and w not in source]


def _assembled(model_input: ModelInput, results: Iterator[Candidates]) -> Candidates:
    """The k-th candidate is made of the k-th of each text, or its last.

    Of several texts none vanishes: one without a translation that says anything stays as it is.
    """
    outputs = [next(results) for _ in model_input.texts]
    if len(outputs) > 1:
        outputs = [
            tuple(candidate for candidate in candidates if candidate.text.strip())
            or (dataclasses.replace(candidates[0], text=text),)
            for text, candidates in zip(model_input.texts, outputs, strict=True)
        ]
    return combined(outputs, model_input.finished)
