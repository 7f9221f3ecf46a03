"""The ways to put a sentence before a model: what of it is translated, what is kept as it is.

A protected token goes through as a slot, or stays outside: then what stands between two of them is
translated by itself. Text in capitals goes through in small letters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

from transformer.config import SLOTS
from transformer.text.casing import (
    capitalize_first,
    is_all_caps,
    is_capitalized_word,
    is_lowercase_phrase,
    is_title_case,
    match_final_mark,
    match_initial_case,
    may_be_title_case,
    title_case,
)
from transformer.text.glossary import TermSpan
from transformer.text.patterns import is_accelerator, is_markup, is_paired_markup
from transformer.text.placeholders import restore_slots, slot
from transformer.text.quotes import find_quotes, quote_marks

Style = Literal["", "capitals", "title", "capital", "small"]
Part = tuple[str, bool]  # a text, and whether it is kept as it is

_LETTER = re.compile(r"[^\W\d_]")
_BEGINNING = re.compile(r"[\s¿¡\"'«“\u2018(\[—–-]*+([^\W\d_]++)")


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence: its parts with shouting lowered, what is carried around them, slips undone."""

    parts: tuple[Part, ...]
    before: str = ""
    after: str = ""
    style: Style = ""
    typos: tuple[str, ...] = ()
    # What a glossary put in place of which words of the source: a part that is kept.
    terms: tuple[tuple[str, str], ...] = ()
    is_untranslatable: bool = False  # in another language: all of it is kept

    @property
    def text(self) -> str:
        """What is translated, written as a sentence."""
        return "".join(text for text, _ in self.parts)

    @property
    def kept(self) -> tuple[str, ...]:
        """The tokens that must come out as they are."""
        return tuple(text for text, is_kept in self.parts if is_kept)

    @property
    def is_capitalized(self) -> bool:
        """Whether it begins with a capital, also where a term stands there."""
        parts = [part for part in self.parts if not (part[1] and is_markup(part[0]))]
        term = self.terms and parts and parts[0] == (self.terms[0][0], True)
        text = self.terms[0][1] if term else "".join(said for said, _ in parts)
        first = _LETTER.search(text)
        return first is not None and first.group().isupper()


@dataclass(frozen=True, slots=True)
class ModelInput:
    """Texts to translate and texts between them; what the slots in them stand for."""

    sentence: SourceSentence
    parts: tuple[Part, ...]
    originals: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        return [text for text, is_kept in self.parts if not is_kept]

    def assemble(self, outputs: Sequence[str]) -> str:
        """The translation of the sentence, from those of the texts."""
        translated, last = iter(outputs), len(self.parts) - 1
        texts = []
        for place, (text, is_kept) in enumerate(self.parts):
            if is_kept:
                texts.append(self._cased(text) if text not in self.sentence.kept else text)
                continue
            output = self._cased(next(translated))
            for glued in _glued(self.sentence.parts).values():
                output = output.replace(f"{glued} ", glued)
            output = restore_slots(self._apart(text, output), self.originals)
            if place < last or self.sentence.after.strip():
                output = match_final_mark(output, text)
            if place > 0 or self.sentence.before.endswith(("..", "…")):
                output = match_initial_case(output, text)
            texts.append(output)
        return self.sentence.before + self._begun("".join(texts)) + self.sentence.after

    def _apart(self, text: str, output: str) -> str:
        """With the spaces of the source between words and words that are kept."""
        for number, original in enumerate(self.originals):
            c = slot(number)
            if original[0].isalpha() and not re.search(rf"[^\W\d_]{c}", text):
                output = re.sub(rf"(?<=[^\W\d_]){c}", f" {c}", output)
            if original[-1].isalpha() and not re.search(rf"{c}[^\W\d_]", text):
                output = re.sub(rf"{c}(?=[^\W\d_])", f"{c} ", output)
        return output

    def _begun(self, text: str) -> str:
        """With the capital that the source begins with, unless what is kept stands there.

        A term without capitals of its own takes one.
        """
        marks = (token for token in self.sentence.kept if is_markup(token))
        first = _BEGINNING.match(
            text, max((len(m) for m in marks if text.startswith(m)), default=0)
        )
        if first is None or not first[1].islower() or not self.sentence.is_capitalized:
            return text
        if self.sentence.style == "small":  # the capital is ours
            return text
        at, terms = first.start(1), {target for target, _ in self.sentence.terms}
        for token in self.sentence.kept:
            if text.startswith(token, at) and not (token in terms and token.islower()):
                return text
        return text[:at] + capitalize_first(text[at:])

    def _cased(self, text: str) -> str:
        if self.sentence.style == "title":
            return title_case(text)
        if self.sentence.style == "capital":
            return capitalize_first(text)
        if self.sentence.style == "small":
            return match_initial_case(text, "small")
        return text.upper() if self.sentence.style == "capitals" else text


def parse_sentence(
    text: str,
    spans: Sequence[tuple[int, int]] = (),
    outside: str = "",
    terms: Sequence[TermSpan] = (),
) -> SourceSentence:
    """A sentence with the spans to keep, and the targets of terms in place of them.

    What of `outside` is kept at the ends is carried around the sentence.
    """
    if not spans and not terms and not _style(text):
        return SourceSentence(((text, False),))
    targets = {(start, stop): target for start, stop, target in terms}
    parts: list[Part] = []
    end = 0
    for start, stop in sorted([*spans, *targets]):
        kept = targets.get((start, stop), text[start:stop])
        parts += [(text[end:start], False)] * (start > end) + [(kept, True)]
        end = stop
    parts += [(text[end:], False)] * (end < len(text))
    before, after = "", ""
    said = tuple((target, text[start:stop]) for start, stop, target in terms)
    own = {(target, True) for target, _ in said}
    if any(is_kept and is_accelerator(kept) for kept, is_kept in parts):
        before = next(kept for kept, is_kept in parts if is_kept and is_accelerator(kept))
        parts = [("".join(part for part, _ in parts if part != before), False)]
    while parts and parts[0] not in own and _is_outside(parts, 0, outside):
        before += parts.pop(0)[0]
    while parts and parts[-1] not in own and _is_outside(parts, -1, outside):
        after = parts.pop()[0] + after
    if parts and not parts[0][1]:
        first = parts[0][0].lstrip()
        before, parts[0] = before + parts[0][0][: len(parts[0][0]) - len(first)], (first, False)
    if parts and not parts[-1][1]:
        last = parts[-1][0].rstrip()
        after, parts[-1] = parts[-1][0][len(last) :] + after, (last, False)
    style = _style(" ".join([_words(parts), *(words for _, words in said)]))
    if style == "title":
        said = tuple((title_case(target) if target.islower() else target, w) for target, w in said)
        parts = [
            (title_case(t), True) if (t, k) in own and t.islower() else (t, k) for t, k in parts
        ]
    lowered = _lowered(parts) if style else tuple(parts)
    return SourceSentence(lowered, before, after, style, terms=said)


def _words(parts: Sequence[Part]) -> str:
    return " ".join(text for text, is_kept in parts if not is_kept)


def _style(text: str) -> Style:
    if text.isupper():
        return "capitals" if is_all_caps(text) else ""
    # The first half is for speed.
    return "title" if sum(map(str.istitle, text.split())) > 3 and is_title_case(text) else ""


def _is_outside(parts: Sequence[Part], place: int, outside: str) -> bool:
    """Whether the first or last part does not pass through the model.

    Of a sign that opens or closes (`*so*`, `[b]so[/b]`) only where none is left inside.
    """
    text, is_kept = parts[place]
    if not text.strip() or not is_kept or text[0] in outside:
        return not text.strip() or is_kept
    marked = [part for part, is_kept in parts if is_kept and is_markup(part)]
    pairs = sum(map(is_paired_markup, marked))
    return text in marked and (not is_paired_markup(text) or pairs == 1 or (
        pairs == 2 and is_paired_markup(parts[0][0]) and is_paired_markup(parts[-1][0])
    ))  # fmt: skip


def _lowered(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts that are not kept in small letters, with one capital."""
    lowered, is_first = list[Part](), True
    for text, is_kept in parts:
        letter = None if is_kept else _LETTER.search(text)
        if letter and is_first:
            at, is_first = letter.start(), False
            lowered.append((text[: at + 1] + text[at + 1 :].lower(), False))
        else:
            lowered.append((text if is_kept else text.lower(), is_kept))
    return tuple(lowered)


def mask(sentence: SourceSentence, has_slots: bool) -> ModelInput:
    """The sentence as one text, what is kept under slots if the model has them."""
    if not has_slots or not sentence.kept:
        return ModelInput(sentence, ((sentence.text, False),))
    texts, originals, glued = list[str](), list[str](), _glued(sentence.parts)
    for place, (text, is_kept) in enumerate(sentence.parts):
        if is_kept and len(originals) < len(SLOTS):
            texts.append(SLOTS[len(originals)])
            originals.append(text)
        else:
            texts.append(f" {text}" if place in glued else text)
    return ModelInput(sentence, (("".join(texts), False),), tuple(originals))


def _glued(parts: Sequence[Part]) -> dict[int, str]:
    """The slots that a word follows without a space, as a tag does, by the word's place.

    A model knows words by the space ahead: after `<b>` it would take "Guardar" for a part of one.
    """
    glued, n_kept = dict[int, str](), 0
    for place, (text, is_kept) in enumerate(parts):
        before = "".join(said for said, _ in parts[max(place - 2, 0) : place - 1])
        is_after = place > 0 and parts[place - 1][1] and not is_kept and n_kept <= len(SLOTS)
        if is_after and _LETTER.match(text) and not before[-1:].isalnum():  # as in H<0/>O
            glued[place] = slot(n_kept - 1)
        n_kept += is_kept
    return glued


def recase(sentence: SourceSentence, has_slots: bool) -> ModelInput | None:
    """A lone word, a few or a title in the other case, to be put back; None for other text.

    Their capitals may be a name's (Madrid) or nobody's (Manzana, Me Gusta Leer); and a greeting
    (hola) stands with one in a corpus.
    """
    if sentence.style or sentence.terms:
        return None
    word = sentence.text.removesuffix(".")
    if not sentence.kept and is_capitalized_word(word):  # with a stop, too: Cell.
        stop = sentence.text[len(word) :] + sentence.after
        parts = ((word.lower(), False),)
        lowered = replace(sentence, parts=parts, after=stop, style="capital")
    elif not sentence.kept and is_lowercase_phrase(sentence.text):
        raised = capitalize_first(sentence.text)
        lowered = replace(sentence, parts=((raised, False),), style="small")
    elif may_be_title_case(_words(sentence.parts)):
        lowered = replace(sentence, parts=_lowered(sentence.parts), style="title")
    else:
        return None
    return mask(lowered, has_slots)


def is_all_terms(sentence: SourceSentence) -> bool:
    """Whether nothing but its terms needs a model."""
    rest = "".join(text for text, is_kept in sentence.parts if not is_kept)
    return bool(sentence.terms) and not re.search(r"[^\W_]|[¿¡]", rest)


class TermPlace(NamedTuple):
    """Where the words of a term are in a text, the slot that stands for it, and its target."""

    start: int
    end: int
    slot: str
    target: str

    def relative_to(self, start: int) -> Self:
        """The same in a text that begins there."""
        return self._replace(start=self.start - start, end=self.end - start)


def locate_terms(sentence: SourceSentence, has_slots: bool) -> tuple[str, list[TermPlace]]:
    """The sentence with its terms in the words of the source, and where they are.

    The other tokens that are kept are under slots, numbered with those of the terms.
    """
    text, places, n_kept, terms = "", list[TermPlace](), 0, list(sentence.terms)
    for part, is_kept in sentence.parts:
        n_kept += is_kept
        if is_kept and terms and terms[0][0] == part:
            target, words = terms.pop(0)
            start, text = len(text), text + (words.lower() if sentence.style else words)
            places.append(TermPlace(start, len(text), slot(n_kept - 1), target))
        elif is_kept and has_slots and n_kept <= len(SLOTS):
            text += slot(n_kept - 1)
        else:
            text += part
    return text, places


def split_at_placeholders(sentence: SourceSentence) -> ModelInput:
    """What stands between the tokens that are kept, each by itself: none can be lost."""
    parts: list[Part] = []
    for text, is_kept in sentence.parts:
        parts += [(text, True)] if is_kept else _apart(text)
    return ModelInput(sentence, tuple(parts))


def split_at_quotes(sentence: SourceSentence, has_slots: bool, lang: str) -> ModelInput:
    """What is quoted by itself, and what stands between; the marks are those of the target."""
    model_input = mask(sentence, has_slots)
    text = "".join(text for text, _ in model_input.parts)
    marks = {
        at: sign
        for quote in find_quotes(text)[0]
        for at, sign in zip((quote.start, quote.end), quote_marks(quote, lang), strict=True)
    }
    parts, end = list[Part](), 0
    for at in [*sorted(marks), len(text)]:
        parts += _apart(text[end:at])
        if at < len(text):
            parts.append((marks[at], True))
        end = at + 1
    return ModelInput(sentence, tuple(parts), model_input.originals)


def _apart(text: str) -> list[Part]:
    """The words of a piece to translate, the marks around them to keep."""
    if not _LETTER.search(text):
        return [(text, True)] * bool(text)
    start, stop = _inner(text)
    outer = (text[:start], True), (text[start:stop], False), (text[stop:], True)
    return [part for part in outer if part[0]]


def _inner(text: str) -> tuple[int, int]:
    """Where the words of a piece are, with the marks that belong to them."""
    start = len(text) - len(text.lstrip(" \t,.;:!?…)]}-–—"))
    return start, len(text.rstrip(" \t,;:([{-–—"))
