"""Guarded translation: what must not change is kept, what went wrong is tried in another way.

Around a `Translator`: placeholders, addresses, tags, code, emoji and foreign scripts come out as
they went in; capitals are translated from small letters, a lone word or a short title too where
the model is surer of it that way, Spanish from its full spelling; each translation is looked at by
`faults`, a faulty one is tried again, one way after the other, one that the model itself finds
hopeless or that has a word of no text too, and what is still wrong becomes a warning.
"""

import dataclasses
import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set

from transformer.config import SLOTS, DecodeConfig
from transformer.text import spelling
from transformer.text.glossary import Glossary
from transformer.text.language import NAMES, is_in_target_language
from transformer.text.names import find_person_names
from transformer.text.patterns import is_message_syntax
from transformer.text.placeholders import find_protected
from transformer.text.sentences import Segment
from transformer.text.spans import overlapping
from transformer.text.times import compare_times
from transformer.text.tokenizer import Tokenizer
from transformer.translation import conventions, preprocess
from transformer.translation.preprocess import ModelInput, SourceSentence
from transformer.translation.quality_checks import (
    QualityIssue,
    count_term,
    find_issues,
    total_severity,
)
from transformer.translation.translator import (
    GREEDY,
    Candidate,
    Layout,
    TextTranslator,
    Translation,
    Translator,
    combine_candidates,
)

BEAMS, NO_REPEAT = 4, 3  # of the second and third try
SLOT_MARGIN = 0.5  # nats a token, by which slots must be surer than the words of terms
# Nats a piece, below which little is right: with the released model 0.5 % of everyday sentences and
# 14 to 22 % of those in French, Italian, Portuguese or Catalan. A few pieces have such means where
# they are right, too.
MIN_LOG_PROB, MIN_TOKENS = -1.0, 4
UNSURE = QualityIssue("unsure", 1)
# Tried again, but not told of: the word may be a rare one, the time is put right.
INVENTED, GUESSED = "invented word", QualityIssue("time guessed", 1)
Spans = list[tuple[int, int]]
Candidates = tuple[Candidate, ...]
Results = list[Candidates]
Issues = tuple[QualityIssue, ...]
RetryStrategy = Callable[[SourceSentence, Issues], ModelInput]
RankedCandidates = tuple[Candidates, Issues]  # the issues are those of the first candidate

# A word with a letter that texts in Spanish and English hardly have, so a name: Łódź, Håkon.
_LETTERS = "".join({*map(chr, range(0xC0, 0x250))} - {*"ÁÉÍÑÓÚÜáéíñóúüàâäçèêëîïôöÇÖ×÷"})
_NAME = re.compile(
    r"(?<![^\W\d_])(?:(?![RARE])[^\W\d_])*+[RARE][^\W\d_]*+".replace(
        "RARE", f"{_LETTERS}\u1e00-\u1eff"
    )
)
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
        self._foreign = unwritable(translator.tokenizer)

    @property
    def device(self) -> str:
        return self.translator.device

    def split(self, text: str, glossary: Glossary | None = None) -> Layout:
        """The sentences of a text, with what is kept in each and the terms of a glossary."""
        kept, glossary = self._protected_spans(text), glossary or self.glossary
        langs = self.src_lang, self.tgt_lang
        terms = glossary.matcher(langs).find(text, kept) if glossary else ()
        if terms and kept:
            kept = [(a, b) for a, b in kept if not overlapping(a, b, terms)]
        layout = Layout.split(text, self.src_lang, kept, terms)
        if layout.sentences or not spelling.is_non_latin(text):
            return layout
        return dataclasses.replace(layout, source_warnings=(self._foreign_warning,))

    @property
    def _foreign_warning(self) -> str:
        return f"does not read like {NAMES.get(self.src_lang, self.src_lang)}"

    def translate_segments(
        self, sentences: Sequence[Segment], decode: DecodeConfig = GREEDY
    ) -> list[Translation]:
        """One translation for each sentence, in order, with warnings of slips and faults."""
        parsed = [self._prepare(sentence) for sentence in sentences]
        return [
            Translation(
                source=sentence.text,
                candidates=candidates,
                warnings=(
                    *self._source_warnings(source),
                    *(str(fault) for fault in wrong if fault.code not in (INVENTED, GUESSED.code)),
                ),
            )
            for sentence, source, (candidates, wrong) in zip(
                sentences, parsed, self._search(parsed, decode), strict=True
            )
        ]

    def _source_warnings(self, sentence: SourceSentence) -> list[str]:
        """What is said of a source: its slips, and that it seems to be in another language."""
        said = " ".join(text for text, is_kept in sentence.parts if not is_kept)
        warnings = [f"spelling: {slip}" for slip in sentence.typos]
        if sentence.is_untranslatable or spelling.is_foreign(said, self.src_lang):
            warnings.append(self._foreign_warning)
        return warnings

    def _prepare(self, sentence: Segment) -> SourceSentence:
        text, spans = sentence.text, sentence.kept
        # Without slots, nothing at the ends of a sentence needs to pass through the model.
        edges = self._foreign.findall(text) if self.has_slots else [text[a:b] for a, b in spans]
        parsed = preprocess.parse_sentence(text, spans, "".join(edges), sentence.terms)
        parts = tuple(
            (part if is_kept else conventions.normalize_source(part, self.src_lang), is_kept)
            for part, is_kept in parsed.parts
        )
        parsed = dataclasses.replace(parsed, parts=parts)
        spelt = self._correct_spelling(parsed, sentence.keep_spelling)
        if not sentence.terms and self._stays_untranslated(text, spelt):
            return SourceSentence(((text, True),), is_untranslatable=True)
        return spelt

    def _stays_untranslated(self, typed: str, sentence: SourceSentence) -> bool:
        """Whether a sentence stays as it is: in a third language, or in the target's already."""
        said = " ".join(text for text, is_kept in sentence.parts if not is_kept)
        return spelling.is_foreign(said, self.src_lang, spelling.MIN_TRANSLATABLE_SHARE) or (
            is_in_target_language(said if sentence.kept else typed, self.src_lang, self.tgt_lang)
        )

    def _correct_spelling(self, sentence: SourceSentence, keep_spelling: bool) -> SourceSentence:
        """A sentence without slips; Spanish with the accents and ¿ ¡ that it was typed without."""
        # A slot of the text's own is always kept, so that none but these stands in the words.
        typed = "".join(SLOTS[0] if is_kept else text for text, is_kept in sentence.parts)
        text = spelling.restore_accents(typed) if self.src_lang == "es" else typed
        typos: list[str] = []
        if not (sentence.style or keep_spelling):  # a name in capitals has small letters now
            text, typos = spelling.correct_spelling(text, self.src_lang, self._n_pieces)
        if text == typed:
            return sentence
        texts = text.split(SLOTS[0])
        parts = [(texts[0], False)]
        for kept, after in zip(sentence.kept, texts[1:], strict=True):
            parts += [(kept, True), (after, False)]
        filled = tuple(part for part in parts if part[0])
        return dataclasses.replace(sentence, parts=filled, typos=tuple(typos))

    def _n_pieces(self, word: str) -> int:
        return len(self.translator.tokenizer.encode(word))

    def _protected_spans(self, text: str) -> Spans:
        """What is kept, in order: protected tokens, and runs that no piece can write."""
        found = [(s.start, s.end) for s in find_protected(text) if s.kind != "number"]
        names = [m.span() for m in _NAME.finditer(text)] if self.has_slots else []
        for also in (find_person_names(text, self.src_lang), names):
            found = sorted([*found, *(name for name in also if not overlapping(*name, found))])
        spans = [*found]
        for run in self._foreign.finditer(text):
            is_visible = unicodedata.normalize("NFKC", run[0]).strip("\u200d\ufe0f")
            spans += [run.span()] * bool(is_visible and not overlapping(*run.span(), found))
        return sorted(spans)

    def _model_input(self, sentence: SourceSentence) -> ModelInput:
        apart = (
            sentence.is_untranslatable
            or any(map(is_message_syntax, sentence.kept))
            or (not self.has_slots and any(map(self._foreign.search, sentence.kept)))
        )
        if apart or preprocess.is_all_terms(sentence):
            return preprocess.split_at_placeholders(sentence)
        return preprocess.mask(sentence, self.has_slots)

    def _search(
        self, sentences: Sequence[SourceSentence], decode: DecodeConfig
    ) -> list[RankedCandidates]:
        """The candidates of each sentence with the faults of the first one, the best found."""
        inputs = [self._model_input(sentence) for sentence in sentences]
        others = {
            i: model_input
            for i, sentence in enumerate(sentences)
            if (model_input := preprocess.recase(sentence, self.has_slots))
        }
        config = dataclasses.replace(decode, scores=True)
        results = iter(self._translate_inputs([*inputs, *others.values()], config))
        best = [self._rank(sentence, next(results)) for sentence in sentences]
        for i, candidates in zip(others, results, strict=True):
            # Few words stand alone in a corpus, in one form mostly, and few titles; the score
            # keeps names as such.
            first, other = best[i][0][0].text.lower(), candidates[0].text.lower()
            if other in (first, sentences[i].text.lower()):
                continue  # the same; or what is no name was taken for one
            both = best[i], self._rank(sentences[i], candidates)
            best[i] = min(both, key=lambda result: (total_severity(result[1]), -result[0][0].score))
        wide = dataclasses.replace(config, beam_size=max(BEAMS, decode.beam_size), n_best=BEAMS)
        waiting = [i for i, s in enumerate(sentences) if s.terms and not preprocess.is_all_terms(s)]
        for searched in (config, wide):
            if not waiting:
                break
            from transformer.translation.terms import translate_terms

            placed = translate_terms(self.translator, [sentences[i] for i in waiting], searched)
            for i, candidates in zip(waiting, placed, strict=True):
                ranked, wrong = self._rank(sentences[i], candidates)
                found = ranked[: decode.n_best], wrong
                best[i] = _choose_term_placement(sentences[i], best[i], found)
            waiting = [i for i in waiting if best[i][1]]
        return self._retry(sentences, best, wide, decode.n_best)

    def _retry(
        self,
        sentences: Sequence[SourceSentence],
        best: list[RankedCandidates],
        decode: DecodeConfig,
        n_best: int,
    ) -> list[RankedCandidates]:
        """The best of each sentence, after what is faulty was tried in other ways."""
        for codes, make, n_gram in self._retry_strategies():
            again = {
                i: make(sentences[i], wrong)
                for i, (_, wrong) in enumerate(best)
                if wrong and (not codes or any(fault.code in codes for fault in wrong))
            }
            searched = dataclasses.replace(decode, no_repeat_ngram=n_gram)
            results = self._translate_inputs([*again.values()], searched)
            for i, candidates in zip(again, results, strict=True):
                retried, wrong = self._rank(sentences[i], candidates)
                if total_severity(wrong) < total_severity(best[i][1]):
                    best[i] = retried[:n_best], wrong
        return best

    def _retry_strategies(self) -> Iterator[tuple[set[str], RetryStrategy, int]]:
        """What to try one after the other: for which faults (none: all), how, no n-gram twice."""
        yield set(), lambda sentence, _: self._model_input(sentence), 0
        yield {"repetition", "too long"}, lambda sentence, _: self._model_input(sentence), NO_REPEAT
        yield {"number lost", "sign lost"}, self._protect_numbers, 0
        quoted = functools.partial(
            preprocess.split_at_quotes, has_slots=self.has_slots, lang=self.tgt_lang
        )
        yield {"quotation marks"}, lambda sentence, _: quoted(sentence), 0
        lost = {"missing", "doubled", "emptied", "term missing"}
        yield lost, lambda sentence, _: preprocess.split_at_placeholders(sentence), 0

    def _protect_numbers(self, sentence: SourceSentence, wrong: Issues) -> ModelInput:
        """The sentence with its lost numbers kept: under slots, or by themselves."""
        lost = {fault.detail for fault in wrong}
        parts: list[preprocess.Part] = []
        for text, is_kept in sentence.parts:
            spans = [] if is_kept else conventions.find_amounts(text, lost)
            end = 0
            for start, stop in spans:
                said = conventions.convert_amount(text[start:stop], self.tgt_lang)
                parts += [(text[end:start], False), (said, True)]
                end = stop
            parts.append((text[end:], is_kept))
        kept = dataclasses.replace(sentence, parts=tuple(part for part in parts if part[0]))
        if self.has_slots:
            return preprocess.mask(kept, True)
        return preprocess.split_at_placeholders(kept)

    def _translate_inputs(self, inputs: Sequence[ModelInput], decode: DecodeConfig) -> Results:
        """The candidates of each input, put together again."""
        texts = [text for model_input in inputs for text in model_input.texts]
        translated = self.translator.translate_sentences(texts, decode) if texts else []
        results = (translation.candidates for translation in translated)
        return [_assemble_candidates(model_input, results) for model_input in inputs]

    def _rank(self, sentence: SourceSentence, candidates: Candidates) -> RankedCandidates:
        """The candidates, the one with the least faults first, and those faults."""
        made = [
            (c, conventions.localize(sentence.text, c.text, self.tgt_lang, sentence.kept))
            for c in candidates
        ]
        guessed = [  # what writes a wrong time has often lost more
            text != candidate.text
            and bool(compare_times(sentence.text, candidate.text, self.tgt_lang).missing)
            for candidate, text in made
        ]
        candidates = tuple(
            candidate if text == candidate.text else dataclasses.replace(candidate, text=text)
            for candidate, text in made
        )
        if sentence.terms and self.tgt_lang == "es":
            from transformer.translation.terms import agreeing

            targets = [target for target, _ in sentence.terms]
            candidates = tuple(
                dataclasses.replace(candidate, text=agreeing(candidate.text, targets))
                for candidate in candidates
            )
        judged = list[tuple[Candidate, tuple[QualityIssue, ...]]]()
        for candidate, is_guessed in zip(candidates, guessed, strict=True):
            wrong = (*self._find_issues(sentence, candidate), *[GUESSED] * is_guessed)
            if not (wrong or judged):
                return candidates, wrong
            judged.append((candidate, wrong))
        best, wrong = min(judged, key=lambda result: total_severity(result[1]))
        return (best, *(other for other in candidates if other is not best)), wrong

    def _find_issues(self, sentence: SourceSentence, candidate: Candidate) -> Issues:
        """What is wrong with a candidate by its text, and by what the model thinks of it."""
        source = sentence.before + sentence.text + sentence.after
        terms = [target for target, _ in sentence.terms]
        wrong = find_issues(source, candidate.text, sentence.kept, terms, self.tgt_lang)
        if len(candidate.tokens) >= MIN_TOKENS and _mean_log_prob(candidate) < MIN_LOG_PROB:
            wrong = (*wrong, UNSURE)
        return (*wrong, *_invented_words(source, candidate, self.tgt_lang))


def unwritable(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Finds what a model cannot write: emoji, other scripts, rare signs, slots in the text.

    That the vocabulary has a piece of another script does not mean that a corpus has taught it.
    """
    known = tokenizer.alphabet - _RARE - {*SLOTS}
    signs = "".join(c for c in _SIGNS if not _is_writable(c, known))
    return re.compile(
        f"(?:[^\\s\\x00-\\u024f\\u0300-\\u036f\\u1e00-\\u1eff\\u2000-\\u206f\\u20a0-\\u20cf\\ufb00-\\ufb06]"
        f"|[{re.escape(signs)}])"
        "[^\\s\\x00-\\u024f\\u2010-\\u2027]*"
    )


def _is_writable(sign: str, known: Set[str]) -> bool:
    """Whether pieces write the sign as it is, or as what stands for it: "..." for "…"."""
    plain = unicodedata.normalize("NFKC", sign)
    return known >= set(plain) and not sign.isnumeric()  # ½ is no "1/2", x² no "x2"


def _choose_term_placement(
    sentence: SourceSentence, slotted: RankedCandidates, placed: RankedCandidates
) -> RankedCandidates:
    """The one with less faults; of equals that with its terms in their places, if not unlikely."""
    (of_slots, *_), (of_words, *_) = slotted[0], placed[0]
    wanted = Counter(target for target, _ in sentence.terms)
    is_exact = all(count_term(target, of_slots.text) == n for target, n in wanted.items())
    gap = _mean_log_prob(of_slots) - _mean_log_prob(of_words)
    is_slotted = is_exact and gap > SLOT_MARGIN
    return min(slotted, placed, key=lambda r: (total_severity(r[1]), (r is slotted) != is_slotted))


def _mean_log_prob(candidate: Candidate) -> float:
    return candidate.score / (len(candidate.tokens) + 1)


def _invented_words(source: str, candidate: Candidate, lang: str) -> list[QualityIssue]:
    """The words of a translation, in small letters, that neither its language nor the source has.

    A word of one piece is known to the vocabulary; most translations have no others.
    """
    spelt = set(spelling.LOWERCASE_WORD.findall(candidate.text))
    spelt -= {piece.removeprefix("▁") for piece in candidate.tokens}
    known = spelling.load_words(lang) if spelt else None
    if known is None:
        return []
    source = source.lower()
    return [
        QualityIssue(INVENTED, 1, w) for w in sorted(spelt) if w not in known and w not in source
    ]


def _assemble_candidates(model_input: ModelInput, results: Iterator[Candidates]) -> Candidates:
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
    return combine_candidates(outputs, model_input.assemble)
