"""Model inputs of a sentence: which parts of it are translated, and which are kept as they are.

A protected token passes through the model as a slot, or stays outside: then the text between two
of them is translated by itself. Text in capitals is translated in lower case.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from transformer.config import SLOTS
from transformer.text import casing
from transformer.text.glossary import TermSpan
from transformer.text.patterns import is_accelerator, is_markup, is_paired_markup
from transformer.text.placeholders import restore_slots, slot
from transformer.text.quotes import find_quotes, quote_marks

Style = Literal["", "capitals", "title", "heading", "capital", "small"]
Part = tuple[str, bool]  # a text, and whether it is kept as it is

_LETTER = re.compile(r"[^\W\d_]")
_PAIR = re.compile(r"[A-ZÁÉÍÓÚÑ][^\W\d_]+ [A-ZÁÉÍÓÚÑ][^\W\d_]+")  # of words with capitals
_STYLES: Mapping[Style, Callable[[str], str]] = {  # what a style does to a translation
    "": str,
    "capitals": str.upper,
    "title": casing.title_case,
    "heading": casing.heading_case,
    "capital": casing.capitalize_first,
    "small": lambda text: casing.match_initial_case(text, "small"),
}
_BEGINNING = re.compile(r"[\s¿¡\"'«“\u2018(\[—–-]*+([^\W\d_]++)")


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A parsed sentence: its parts, without typos, in lower case if `style` says what they were.

    A part is (text, whether it is kept as it is). `prefix` and `suffix` bypass the model and are in
    no part. `typos` are as "mnzana read as manzana". `terms` are pairs (target of the glossary,
    which is a kept part; the source words that it replaces). `style` is "capitals", "title"
    or "", and of an input in the other case "capital" or "small".
    `has_alternatives`: words of it, as in his/her, were set apart; `is_foreign`: it does not read
    like the source language; `is_untranslated`: all of it is kept.
    """

    parts: tuple[Part, ...]
    prefix: str = ""
    suffix: str = ""
    style: Style = ""
    typos: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    has_alternatives: bool = False
    is_foreign: bool = False
    is_untranslated: bool = False

    @property
    def text(self) -> str:
        """All parts, joined to a sentence."""
        return "".join(text for text, _ in self.parts)

    @property
    def words(self) -> str:
        """The parts that are translated, with spaces between them."""
        return _joined_words(self.parts)

    @property
    def kept(self) -> tuple[str, ...]:
        """The parts that must come out unchanged, in order, targets of terms among them."""
        return tuple(text for text, is_kept in self.parts if is_kept)

    @property
    def is_capitalized(self) -> bool:
        """Whether the sentence begins with a capital; for a term its source words decide."""
        parts = [part for part in self.parts if not (part[1] and is_markup(part[0]))]
        begins_with_term = self.terms and parts and parts[0] == (self.terms[0][0], True)
        text = self.terms[0][1] if begins_with_term else "".join(part for part, _ in parts)
        first = _LETTER.search(text)
        return first is not None and first.group().isupper()


@dataclass(frozen=True, slots=True)
class ModelInput:
    """A sentence's parts, `texts` to translate or kept (True); slot(i) is for `originals[i]`."""

    sentence: SourceSentence
    parts: tuple[Part, ...]
    originals: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        return [text for text, is_kept in self.parts if not is_kept]

    def assemble(self, outputs: Sequence[str]) -> str:
        """Return the translation of the sentence, from `outputs`, the translations of `texts`."""
        translated, last = iter(outputs), len(self.parts) - 1
        restyle, texts = _STYLES[self.sentence.style], []
        for place, (text, is_kept) in enumerate(self.parts):
            if is_kept:
                texts.append(text if text in self.sentence.kept else restyle(text))
                continue
            output = restyle(next(translated))
            if self.originals:
                for slot_before_word in _slots_before_words(self.sentence.parts).values():
                    output = output.replace(f"{slot_before_word} ", slot_before_word)
                output = restore_slots(self._restore_spaces(text, output), self.originals)
            if place < last or self.sentence.suffix.strip():
                output = casing.match_final_mark(output, text)
            if place > 0 or self.sentence.prefix.endswith(("..", "…")):
                output = casing.match_initial_case(output, text)
            texts.append(output)
        text = self._restore_capital("".join(texts))
        return self.sentence.prefix + text + self.sentence.suffix

    def _restore_spaces(self, text: str, output: str) -> str:
        """Return `output` with the spaces between slots (stand-ins) and words that `text` has."""
        for number, original in enumerate(self.originals):
            c = slot(number)
            if original[0].isalpha() and not re.search(rf"[^\W\d_]{c}", text):
                output = re.sub(rf"(?<=[^\W\d_]){c}", f" {c}", output)
            if original[-1].isalpha() and not re.search(rf"{c}[^\W\d_]", text):
                output = re.sub(rf"{c}(?=[^\W\d_])", f"{c} ", output)
        return output

    def _restore_capital(self, text: str) -> str:
        """Begin a translation with a capital if its source does, unless a kept token stands there.

        A term without capitals of its own takes one.
        """
        if self.sentence.style == "small" or not self.sentence.is_capitalized:
            return text  # a capital of "small" is none of the source
        start, markup = 0, [token for token in self.sentence.kept if is_markup(token)]
        while token := next((token for token in markup if text.startswith(token, start)), ""):
            start += len(token)
        first = _BEGINNING.match(text, start)
        if first is None or not first[1].islower():
            return text
        at, terms = first.start(1), {target for target, _ in self.sentence.terms}
        for token in self.sentence.kept:
            if text.startswith(token, at) and not (token in terms and token.islower()):
                return text
        return text[:at] + casing.capitalize_first(text[at:])


def parse_sentence(
    text: str,
    spans: Sequence[tuple[int, int]] = (),
    outside: str = "",
    terms: Sequence[TermSpan] = (),
) -> SourceSentence:
    """Split a text into the `spans` to keep and other text; each term becomes its target, kept too.

    Markup, white space, and kept tokens that begin with a character of `outside` bypass the model
    if they are at an end of the text. A text all in capitals or in title case becomes lower case.
    """
    if not spans and not terms and not _detect_style(text):
        return SourceSentence(((text, False),))
    targets = {(start, stop): target for start, stop, target in terms}
    parts: list[Part] = []
    end = 0
    for start, stop in sorted([*spans, *targets]):
        kept = targets.get((start, stop), text[start:stop])
        parts += [(text[end:start], False)] * (start > end) + [(kept, True)]
        end = stop
    parts += [(text[end:], False)] * (end < len(text))
    prefix, suffix = "", ""
    pairs = tuple((target, text[start:stop]) for start, stop, target in terms)
    own = {(target, True) for target, _ in pairs}
    accelerators = [kept for kept, is_kept in parts if is_kept and is_accelerator(kept)]
    if len(accelerators) == 1:  # two are marks around words: _so_
        prefix = accelerator = accelerators[0]
        parts = [("".join(part for part, _ in parts if part != accelerator), False)]
    while parts and parts[0] not in own and _is_outside(parts, 0, outside):
        prefix += parts.pop(0)[0]
    while parts and parts[-1] not in own and _is_outside(parts, -1, outside):
        suffix = parts.pop()[0] + suffix
    if parts and not parts[0][1]:
        first = parts[0][0].lstrip()
        prefix, parts[0] = prefix + parts[0][0][: len(parts[0][0]) - len(first)], (first, False)
    if parts and not parts[-1][1]:
        last = parts[-1][0].rstrip()
        suffix, parts[-1] = parts[-1][0][len(last) :] + suffix, (last, False)
    style = _detect_style(" ".join([_joined_words(parts), *(words for _, words in pairs)]))
    if style == "title":
        pairs = tuple((casing.title_case(t) if t.islower() else t, words) for t, words in pairs)
        parts = [
            (casing.title_case(t), True) if (t, k) in own and t.islower() else (t, k)
            for t, k in parts
        ]
    lowered = _lowercase(parts) if style else tuple(parts)
    return SourceSentence(lowered, prefix, suffix, style, terms=pairs)


def _joined_words(parts: Sequence[Part]) -> str:
    return " ".join(text for text, is_kept in parts if not is_kept)


def _detect_style(text: str) -> Style:
    if text.isupper():
        return "capitals" if casing.is_all_caps(text) else ""
    # The first half is for speed.
    return "title" if sum(map(str.istitle, text.split())) > 3 and casing.is_title_case(text) else ""


def _is_outside(parts: Sequence[Part], place: int, outside: str) -> bool:
    """Whether the first (`place` 0) or last part (-1) can be carried around the model.

    Kept parts that begin with a character of `outside` can; a sign that opens or closes (`*so*`,
    `[b]so[/b]`) can if none is left inside.
    """
    text, is_kept = parts[place]
    if not text.strip() or not is_kept or text[0] in outside:
        return not text.strip() or is_kept
    marked = [part for part, is_kept in parts if is_kept and is_markup(part)]
    pairs = sum(map(is_paired_markup, marked))
    return text in marked and (not is_paired_markup(text) or pairs == 1 or (
        pairs == 2 and is_paired_markup(parts[0][0]) and is_paired_markup(parts[-1][0])
    ))  # fmt: skip


def _lowercase(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Make the parts that are not kept lower case, except for the first letter of all."""
    lowered, is_first = list[Part](), True
    for text, is_kept in parts:
        letter = None if is_kept else _LETTER.search(text)
        if letter and is_first:
            at, is_first = letter.start(), False
            lowered.append((text[: at + 1] + casing.lowercase(text[at + 1 :]), False))
        else:
            lowered.append((text if is_kept else casing.lowercase(text), is_kept))
    return tuple(lowered)


def mask(sentence: SourceSentence, has_slots: bool) -> ModelInput:
    """Return an input of one text; kept tokens are slots (characters) if the model `has_slots`."""
    if not has_slots or not sentence.kept:
        return ModelInput(sentence, ((sentence.text, False),))
    texts, originals, glued = list[str](), list[str](), _slots_before_words(sentence.parts)
    for place, (text, is_kept) in enumerate(sentence.parts):
        if is_kept and len(originals) < len(SLOTS):
            texts.append(SLOTS[len(originals)])
            originals.append(text)
        else:
            texts.append(f" {text}" if place in glued else text)
    return ModelInput(sentence, (("".join(texts), False),), tuple(originals))


def _slots_before_words(parts: Sequence[Part]) -> dict[int, str]:
    """Return slots of kept `parts` that a word follows without a space, by the word's index.

    The vocabulary marks a word's beginning by the space before it, so that without one, as in
    `<b>Guardar`, a model would take "Guardar" for the middle of a word.
    """
    glued, n_kept = dict[int, str](), 0
    for place, (text, is_kept) in enumerate(parts):
        before = "".join(said for said, _ in parts[max(place - 2, 0) : place - 1])
        is_after = place > 0 and parts[place - 1][1] and not is_kept and n_kept <= len(SLOTS)
        if is_after and _LETTER.match(text) and not before[-1:].isalnum():  # as in H<0/>O
            glued[place] = slot(n_kept - 1)
        n_kept += is_kept
    return glued


def recase(sentence: SourceSentence, has_slots: bool, lang: str = "") -> ModelInput | None:
    """Return the input of a word, short phrase or title in the other case; None for other text.

    A heading, as A Tale of Two Cities, gets capitals again unless `lang`, the target, is Spanish.

    Capitals may belong to a name (Madrid) or mean nothing (Manzana, Buenos Días, Me Gusta Leer),
    and in a corpus a greeting (hola) has one. The translation gets the case of the source back.
    """
    if sentence.style or sentence.terms:
        return None
    text, is_plain = sentence.text, not sentence.kept
    word = text.removesuffix(".")
    if is_plain and casing.is_capitalized_word(word):  # with a stop, too: Cell.
        parts, suffix = ((word.lower(), False),), text[len(word) :] + sentence.suffix
        recased = replace(sentence, parts=parts, suffix=suffix, style="capital")
    elif is_plain and casing.is_lowercase_phrase(text):
        parts = ((casing.capitalize_first(text), False),)
        recased = replace(sentence, parts=parts, style="small")
    elif casing.may_be_title_case(sentence.words) or (is_plain and _PAIR.fullmatch(text)):
        recased = replace(sentence, parts=_lowercase(sentence.parts), style="title")
    elif is_plain and casing.is_heading(text):
        style: Style = "capital" if lang == "es" else "heading"
        recased = replace(sentence, parts=_lowercase(sentence.parts), style=style)
    else:
        return None
    return mask(recased, has_slots)


def is_all_terms(sentence: SourceSentence) -> bool:
    """Return whether the sentence has no words besides its terms, so that it needs no model."""
    return bool(sentence.terms) and not re.search(r"[^\W_]|[¿¡]", sentence.words)


class TermPlace(NamedTuple):
    """A term's place in a text, the slot (a character) that stands for it, and its target."""

    start: int
    end: int
    slot: str
    target: str


def locate_terms(sentence: SourceSentence, has_slots: bool) -> tuple[str, list[TermPlace]]:
    """Return the text of a sentence with the source words of its terms, and the terms' places.

    With `has_slots` other kept tokens become slots, numbered together with the slots of the terms.
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
    """Return an input with separate texts between the kept tokens, so that none can be lost."""
    parts: list[Part] = []
    for text, is_kept in sentence.parts:
        parts += [(text, True)] if is_kept else _split_edges(text)
    return ModelInput(sentence, tuple(parts))


def split_at_quotes(sentence: SourceSentence, has_slots: bool, lang: str) -> ModelInput:
    """Return an input with quotations as separate texts; quotation marks become those of `lang`."""
    model_input = mask(sentence, has_slots)
    text = "".join(text for text, _ in model_input.parts)
    marks = {
        at: sign
        for quote in find_quotes(text)[0]
        for at, sign in zip((quote.start, quote.end), quote_marks(quote, lang), strict=True)
    }
    parts, end = list[Part](), 0
    for at in [*sorted(marks), len(text)]:
        parts += _split_edges(text[end:at])
        if at < len(text):
            parts.append((marks[at], True))
        end = at + 1
    return ModelInput(sentence, tuple(parts), model_input.originals)


def _split_edges(text: str) -> list[Part]:
    """Split a text into words to translate and marks around them; keep all without letters."""
    if not _LETTER.search(text):
        return [(text, True)] * bool(text)
    start = len(text) - len(text.lstrip(" \t,.;:!?…)]}-–—"))
    stop = len(text.rstrip(" \t,;:([{-–—"))
    parts = (text[:start], True), (text[start:stop], False), (text[stop:], True)
    return [part for part in parts if part[0]]
