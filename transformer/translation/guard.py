"""Guarded translation: protect what must not change, and retry faulty translations.

A `GuardedTranslator` wraps a `Translator`. Placeholders, addresses, tags, code, emoji and foreign
scripts stay unchanged. Text in capitals is translated in lower case, a single word or a short title
in the case that the model scores better, and Spanish with its accents restored. Each translation is
checked by `quality_checks`, by its score and by its words; one with issues is retried in other
ways, and the issues that remain become warnings.
"""

import dataclasses
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from transformer.config import SLOTS, DecodeConfig
from transformer.text import spelling
from transformer.text.glossary import Glossary
from transformer.text.language import NAMES, WORD, is_in_target_language
from transformer.text.names import changed_names, find_person_names
from transformer.text.patterns import is_message_syntax
from transformer.text.placeholders import find_protected, unwritable
from transformer.text.sentences import Segment
from transformer.text.spans import Span, overlapping
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

BEAMS = 4  # of a retry, at least
SLOT_MARGIN = 0.5  # nats a token, by which slots must be surer than the words of terms
# Nats a token, below which little is right: with the released model 0.5 % of everyday sentences and
# 14 to 22 % of those in French, Italian, Portuguese or Catalan. Shorter translations have such
# means where they are right, too.
MIN_LOG_PROB, MIN_TOKENS = -1.0, 4
UNSURE = QualityIssue("unsure", 1)
INVENTED = "invented word"  # retried, but no warning: the word may be a rare one
Candidates = tuple[Candidate, ...]
Issues = tuple[QualityIssue, ...]
Ranking = tuple[Candidates, Issues]  # candidates, and the issues of the first one
RetryStrategy = Callable[[SourceSentence, Issues], ModelInput]

# A word with a letter that texts in Spanish and English hardly have, so a name: Łódź, Håkon.
_LETTERS = "".join({*map(chr, range(0xC0, 0x250))} - {*"ÁÉÍÑÓÚÜáéíñóúüàâäçèêëîïôöÇÖ×÷"})
_NAME = re.compile(
    r"(?<![^\W\d_])(?:(?![RARE])[^\W\d_])*+[RARE][^\W\d_]*+".replace(
        "RARE", f"{_LETTERS}\u1e00-\u1eff"
    )
)


class GuardedTranslator(TextTranslator):
    """A translator that protects what must not change and warns of what it could not translate."""

    def __init__(self, translator: Translator, glossary: Glossary | None = None) -> None:
        """Wrap a translator; `glossary` serves all texts that come without one of their own."""
        self.translator, self.glossary = translator, glossary
        self.src_lang, self.tgt_lang = translator.src_lang, translator.tgt_lang
        self.name = translator.name
        self.has_slots = translator.tokenizer.has_slots
        self._unwritable = unwritable(translator.tokenizer.alphabet)

    @property
    def device(self) -> str:
        return self.translator.device

    def split(self, text: str, glossary: Glossary | None = None) -> Layout:
        """Split a text into sentences, protected spans, and terms (None: of its own glossary)."""
        kept, glossary = self._protected_spans(text), glossary or self.glossary
        langs = self.src_lang, self.tgt_lang
        terms = glossary.matcher(langs).find(text, kept) if glossary else ()
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
        """Translate sentences in order, with warnings of typos and of issues that remain."""
        if all(len(sentence.kept) < 2 for sentence in sentences):
            return self._translate_segments(sentences, decode)
        from transformer.translation.marked import take_out_marks  # few texts have marks

        marked = {i: found for i, s in enumerate(sentences) if (found := take_out_marks(s))}
        plain = [marked[i].segment if i in marked else s for i, s in enumerate(sentences)]
        translations = self._translate_segments(plain, decode)
        for i, sentence in marked.items():
            translated = sentence.place_marks(self.translator, translations[i])
            translated = translated or self._translate_segments([sentences[i]], decode)[0]
            translations[i] = dataclasses.replace(translated, source=sentences[i].text)
        return translations

    def _translate_segments(
        self, sentences: Sequence[Segment], decode: DecodeConfig
    ) -> list[Translation]:
        sources = [self._prepare(sentence) for sentence in sentences]
        best = self._search(sources, decode)
        return [
            Translation(
                source=sentence.text,
                candidates=candidates,
                warnings=(
                    *(f"spelling: {typo}" for typo in source.typos),
                    *([self._foreign_warning] * source.is_foreign),
                    *(str(issue) for issue in issues if issue.code != INVENTED),
                ),
            )
            for sentence, source, (candidates, issues) in zip(sentences, sources, best, strict=True)
        ]

    def _prepare(self, sentence: Segment) -> SourceSentence:
        """Parse a sentence, write it as the corpus does, and correct its spelling."""
        text, spans = sentence.text, sentence.kept
        if calendar := conventions.translate_calendar(text, self.src_lang):
            return SourceSentence(((calendar, True),), is_untranslated=True)
        # Without slots, nothing at the ends of a sentence needs to pass through the model.
        edges = self._unwritable.findall(text) if self.has_slots else [text[a:b] for a, b in spans]
        parsed = preprocess.parse_sentence(text, spans, "".join(edges), sentence.terms)
        source = self._correct_spelling(parsed, sentence.keep_spelling)
        strange = [t for t in source.kept if t.islower() and spelling.FOREIGN.search(t)]  # não
        words = " ".join([source.words, *strange])
        share, n_words = spelling.known_word_share(words, self.src_lang)
        if spelling.reads_foreign(share, n_words):
            source = dataclasses.replace(source, is_foreign=True)
        if sentence.terms or share == 1:
            return source
        is_left = source.is_foreign and (share < spelling.MIN_TRANSLATABLE_SHARE or bool(strange))
        typed = words if source.kept else text
        if is_left or is_in_target_language(typed, self.src_lang, self.tgt_lang):
            return SourceSentence(((text, True),), is_foreign=True, is_untranslated=True)
        return source

    def _correct_spelling(self, sentence: SourceSentence, keep_spelling: bool) -> SourceSentence:
        """Normalize signs, restore accents and ¿ ¡; correct typos unless `keep_spelling`."""
        # A slot of the text's own is always kept, so that none but these stands in the words.
        typed = "".join(SLOTS[0] if is_kept else text for text, is_kept in sentence.parts)
        text = conventions.normalize_source(typed, self.src_lang)
        text = spelling.restore_accents(text) if self.src_lang == "es" else text
        spaced = conventions.space_alternatives(text, self.src_lang)
        has_alternatives, text = spaced != text and " - " not in text, spaced
        typos: list[str] = []
        if not (sentence.style or keep_spelling or spelling.FOREIGN.search(sentence.text)):
            text, typos = spelling.correct_spelling(text, self.src_lang, self._n_pieces)
        if text == typed:
            return sentence
        kept = iter(sentence.kept)
        parts = [(next(kept), True) if c == SLOTS[0] else (c, False)
                 for c in re.split(f"({SLOTS[0]})", text) if c]  # fmt: skip
        return dataclasses.replace(
            sentence, parts=tuple(parts), typos=tuple(typos), has_alternatives=has_alternatives
        )

    def _n_pieces(self, word: str) -> int:
        return len(self.translator.tokenizer.encode(word))

    def _protected_spans(self, text: str) -> list[Span]:
        """Find, in order, what the model must not change: tokens, names, what it cannot write."""
        people = sorted(find_person_names(text, self.src_lang))
        found = [
            (start, end) for start, end, kind in find_protected(text) if kind != "number"
            and not (kind == "accelerator" and overlapping(start, end, people))  # Tom &Jerry
        ]  # fmt: skip
        names = [m.span() for m in _NAME.finditer(text)] if self.has_slots else []
        runs = [
            run.span()
            for run in self._unwritable.finditer(text)
            if unicodedata.normalize("NFKC", run.group()).strip("\u200d\ufe0f")  # it is visible
        ]
        for also in (people, names, runs):
            found = sorted([*found, *(span for span in also if not overlapping(*span, found))])
        return found

    def _model_input(self, sentence: SourceSentence) -> ModelInput:
        """Return the first input to try: the sentence, with slots (characters) for kept tokens.

        If the model cannot pass those or has nothing else to do: the texts between, each alone.
        """
        is_split = sentence.is_untranslated or any(map(is_message_syntax, sentence.kept))
        is_lost = not self.has_slots and any(map(self._unwritable.search, sentence.kept))
        if is_split or is_lost or preprocess.is_all_terms(sentence):
            return preprocess.split_at_placeholders(sentence)
        return preprocess.mask(sentence, self.has_slots)

    def _search(self, sources: Sequence[SourceSentence], decode: DecodeConfig) -> list[Ranking]:
        """Return each sentence's candidates, best first, and the issues left in the best one."""
        config = dataclasses.replace(decode, scores=True)
        wide = dataclasses.replace(config, beam_size=max(BEAMS, decode.beam_size), n_best=BEAMS)
        best = self._search_both_cases(sources, config)
        with_terms = [
            i for i, s in enumerate(sources) if s.terms and not preprocess.is_all_terms(s)
        ]
        for searched in (config, wide) if with_terms else ():
            from transformer.translation.terms import translate_terms

            placed = translate_terms(self.translator, [sources[i] for i in with_terms], searched)
            for i, candidates in zip(with_terms, placed, strict=True):
                ranked, issues = self._rank(sources[i], candidates)
                found = ranked[: decode.n_best], issues
                best[i] = _choose_term_placement(sources[i], best[i], found)
            with_terms = [i for i in with_terms if best[i][1]]
        self._retry(sources, best, wide, decode.n_best)
        for i, source in enumerate(sources):  # half of it was copied: the other half is no better
            if source.is_foreign and any(issue.code == "copied source" for issue in best[i][1]):
                text = f"{source.prefix}{source.text}{source.suffix}"
                best[i] = (Candidate(text=text, score=0.0, tokens=()),), ()
        return best

    def _search_both_cases(
        self, sources: Sequence[SourceSentence], decode: DecodeConfig
    ) -> list[Ranking]:
        """Return the ranking of each sentence; of words and titles, the better of either case."""
        inputs = [self._model_input(sentence) for sentence in sources]
        recased = {
            i: model_input
            for i, sentence in enumerate(sources)
            if (model_input := preprocess.recase(sentence, self.has_slots, self.tgt_lang))
        }
        results = iter(self._translate_inputs([*inputs, *recased.values()], decode))
        best = [self._rank(sentence, next(results)) for sentence in sources]
        for i, candidates in zip(recased, results, strict=True):
            source, text, other = sources[i].text, best[i][0][0].text, candidates[0].text
            if other.lower() in (text.lower(), source.lower()):
                continue  # the same; or what is no name was taken for one
            words = {*WORD.findall(other)}
            names = {*WORD.findall(source)} & {*WORD.findall(text)} - words
            if any(name.lower() in words for name in names):
                continue  # what is a name was taken for none
            both = best[i], self._rank(sources[i], candidates)
            best[i] = min(both, key=lambda ranked: (total_severity(ranked[1]), -ranked[0][0].score))
        return best

    def _retry(
        self, sources: Sequence[SourceSentence], best: list[Ranking], decode: DecodeConfig,
        n_best: int,
    ) -> None:  # fmt: skip
        """Retry sentences with issues in several ways; update `best`, `n_best` candidates each."""
        tokens = {"missing", "doubled", "emptied", "term missing"}
        ways: list[tuple[set[str], RetryStrategy]] = [  # with the codes they are for, empty: all
            (set(), lambda sentence, _: self._model_input(sentence)),
            ({"number lost", "number added", "sign lost", "name changed"}, self._protect_lost),
            ({"quotation marks"},
             lambda s, _: preprocess.split_at_quotes(s, self.has_slots, self.tgt_lang)),
            (tokens, lambda sentence, _: preprocess.split_at_placeholders(sentence)),
        ]  # fmt: skip
        for codes, make_input in ways:
            again = {
                i: make_input(sources[i], issues)
                for i, (_, issues) in enumerate(best)
                if issues and (not codes or any(issue.code in codes for issue in issues))
            }
            results = self._translate_inputs([*again.values()], decode)
            for i, candidates in zip(again, results, strict=True):
                ranked, issues = self._rank(sources[i], candidates)
                if total_severity(issues) < total_severity(best[i][1]):
                    best[i] = ranked[:n_best], issues

    def _protect_lost(self, sentence: SourceSentence, issues: Issues) -> ModelInput:
        """Return an input in which lost numbers, converted by rule, and names are protected."""
        is_one_added = any(issue.code == "number added" for issue in issues)
        lost = None if is_one_added else {issue.detail for issue in issues}
        parts: list[preprocess.Part] = []
        for text, is_kept in sentence.parts:
            end = 0
            for start, stop in () if is_kept else conventions.find_amounts(text, lost):
                amount = conventions.convert_amount(text[start:stop], self.tgt_lang)
                parts += [(text[end:start], False), (amount, True)]
                end = stop
            parts.append((text[end:], is_kept))
        kept = dataclasses.replace(sentence, parts=tuple(part for part in parts if part[0]))
        if self.has_slots:
            return preprocess.mask(kept, True)
        return preprocess.split_at_placeholders(kept)

    def _translate_inputs(
        self, inputs: Sequence[ModelInput], decode: DecodeConfig
    ) -> list[Candidates]:
        """Translate the texts of all inputs together, and assemble the candidates of each."""
        texts = [text for model_input in inputs for text in model_input.texts]
        translated = self.translator.translate_sentences(texts, decode) if texts else []
        results = (translation.candidates for translation in translated)
        return [_assemble_candidates(model_input, results) for model_input in inputs]

    def _rank(self, sentence: SourceSentence, candidates: Candidates) -> Ranking:
        """Localize candidates; return that with the least severe issues first, and its issues."""
        localized = tuple(self._localize(sentence, candidate) for candidate in candidates)
        judged = list[tuple[Candidate, Issues]]()
        for candidate in localized:
            issues = self._find_issues(sentence, candidate)
            if not (issues or judged):
                return localized, issues
            judged.append((candidate, issues))
        best, issues = min(judged, key=lambda result: total_severity(result[1]))
        return (best, *(other for other in localized if other is not best)), issues

    def _localize(self, sentence: SourceSentence, candidate: Candidate) -> Candidate:
        """Localize a candidate's text, and make its articles agree with the terms."""
        text = conventions.localize(sentence.text, candidate.text, self.tgt_lang, sentence.kept)
        if sentence.has_alternatives:
            text = conventions.join_alternatives(text)
        if sentence.terms and self.tgt_lang == "es":
            from transformer.translation.terms import agree_articles

            text = agree_articles(text, [target for target, _ in sentence.terms])
        return candidate if text == candidate.text else dataclasses.replace(candidate, text=text)

    def _find_issues(self, sentence: SourceSentence, candidate: Candidate) -> Issues:
        """Return the issues of a candidate, by its text, its score and its words."""
        source = sentence.text  # what is carried around it, both have
        output = candidate.text.removeprefix(sentence.prefix).removesuffix(sentence.suffix)
        terms = [target for target, _ in sentence.terms]
        issues = find_issues(source, output, sentence.kept, terms, self.tgt_lang)
        if len(candidate.tokens) >= MIN_TOKENS and _mean_log_prob(candidate) < MIN_LOG_PROB:
            issues = (*issues, UNSURE)
        changed = [QualityIssue("name changed", 1, n) for n in changed_names(source, output)]
        return (*issues, *changed, *_invented_words(source, candidate, self.tgt_lang))


def _choose_term_placement(sentence: SourceSentence, slotted: Ranking, placed: Ranking) -> Ranking:
    """Return the better ranking: that with slots for terms, or that with terms placed later.

    The one with less severe issues wins. If they are equal, `placed` wins, unless `slotted` has
    each target as often as it should, and a score per token that is higher by SLOT_MARGIN.
    """
    (of_slots, *_), (of_words, *_) = slotted[0], placed[0]
    wanted = Counter(target for target, _ in sentence.terms)
    is_exact = all(count_term(target, of_slots.text) == n for target, n in wanted.items())
    prefers_slots = is_exact and _mean_log_prob(of_slots) - _mean_log_prob(of_words) > SLOT_MARGIN
    return min(
        slotted, placed, key=lambda r: (total_severity(r[1]), (r is slotted) != prefers_slots)
    )


def _mean_log_prob(candidate: Candidate) -> float:
    return candidate.score / (len(candidate.tokens) + 1)


def _invented_words(source: str, candidate: Candidate, lang: str) -> list[QualityIssue]:
    """Return issues for lower-case words that neither the target language nor the source has.

    Only words of several pieces are looked up; most translations have none.
    """
    words = set(spelling.LOWERCASE_WORD.findall(candidate.text))
    words -= {piece.removeprefix("▁") for piece in candidate.tokens}
    if not (words and (known := spelling.load_words(lang)).rank):
        return []
    unknown = sorted(word for word in words if word not in known and word not in source.lower())
    return [QualityIssue(INVENTED, 1, word) for word in unknown]


def _assemble_candidates(model_input: ModelInput, results: Iterator[Candidates]) -> Candidates:
    """Take the next result for each text of an input, and make candidates of the whole.

    The k-th candidate joins the k-th result of each text, or its last one. If there are several
    texts, one whose translation is empty stays as it is, so that no text is lost.
    """
    outputs = [next(results) for _ in model_input.texts]
    if len(outputs) > 1:
        outputs = [
            tuple(candidate for candidate in candidates if candidate.text.strip())
            or (dataclasses.replace(candidates[0], text=text),)
            for text, candidates in zip(model_input.texts, outputs, strict=True)
        ]
    return combine_candidates(outputs, model_input.assemble)
