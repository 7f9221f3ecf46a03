"""Marks around some words of a sentence (*so*, [b]so[/b], {\\i1}so{\\i0}) follow the words.

The sentence is translated without them; cross-attention shows which words translate those between
two marks. As slots within a sentence, the marks would hide from a model which words stand together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from transformer.config import EOS_ID, UNK_ID
from transformer.text.markup import project_markup, split_at_marks
from transformer.text.sentences import Segment
from transformer.text.spans import Span, mask
from transformer.text.tokenizer import align_words, group_words
from transformer.translation.translator import GREEDY, Translation, Translator

_OPENING = (  # each with what closes it
    (re.compile(r"[*_=']{1,5}"), r"\g<0>"),
    (re.compile(r"\[\[.*\|"), "]]"),
    (re.compile(r"\[([a-z]\w*)(?:[= ].*)?\]"), r"[/\1]"),
    (re.compile(r"<([A-Za-z]\w*)(?: [^>]*)?(?<!/)>"), r"</\1>"),
    (re.compile(r"\{\\([ibus])1\}"), r"{\\\g<1>0}"),
    (re.compile(r"\x1b\[[1-9][\d;]*m"), "\x1b[0m"),
)
# Spanish leaves them out, unless they are marked: a slot keeps them.
_PRONOUNS = ("i", "you", "he", "she", "it", "we", "they")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence without its pairs of marks, and for each pair where its words are."""

    segment: Segment
    pairs: tuple[tuple[str, str], ...]
    spans: tuple[Span, ...]

    def place_marks(self, translator: Translator, translation: Translation) -> Translation | None:
        """Return the translation with its marks; None where words cannot be found for them."""
        source, target = self.segment.text, translation.text
        if source == target:
            pieces = split_at_marks(source, self.spans)
        elif aligned := _align_words(translator, source, target):
            try:
                pieces = project_markup((source, target), self.spans, *aligned)
            except ValueError:  # a word that the vocabulary writes otherwise
                return None
        else:
            return None
        if not all(text for text, _ in pieces):
            return None
        text = "".join(
            piece if mark is None else f"{self.pairs[mark][0]}{piece}{self.pairs[mark][1]}"
            for piece, mark in pieces
        )
        tokens = {source[start:end] for start, end in self.segment.kept}
        if any(text.count(token) < target.count(token) for token in tokens):
            return None  # a mark is within a token
        first = replace(translation.candidates[0], text=text)
        return replace(translation, candidates=(first,))


def take_out_marks(segment: Segment) -> MarkedSentence | None:
    """Return a sentence without its pairs of marks; None if there are none, or not side by side."""
    found, opened, closing = list[tuple[Span, Span]](), None, ""
    for span in segment.kept:
        token = segment.text[slice(*span)]
        if opened and token == closing:
            found.append((opened, span))
            opened = None
        elif close := _closing_mark(token):
            if opened:
                return None
            opened, closing = span, close
    glued = (
        segment.text[place - 1 : place].isalnum() or segment.text[place - 1 : place] in ".,;:!?"
        for (place, _), _ in found if place
    )  # fmt: skip
    glued_behind = (segment.text[end : end + 1].isalnum() for _, (_, end) in found)
    is_around = found and found[0][0][0] == 0 and found[-1][1][1] == len(segment.text)
    if opened or not found or segment.terms or (is_around and len(found) == 1):
        return None
    if any(glued) or any(glued_behind):  # within a word, a footnote
        return None
    marks = [mark for pair in found for mark in pair]

    def moved(at: int) -> int:
        return at - sum(b - a for a, b in marks if b <= at)

    spans = tuple((moved(one[1]), moved(other[0])) for one, other in found)
    text = mask(segment.text, marks, "")
    kept = [(moved(a), moved(b)) for a, b in segment.kept if (a, b) not in marks]
    words = mask(text, kept)
    inner = [words[slice(*span)] for span in spans]
    if not all(any(map(str.isalpha, said)) and said.lower() not in _PRONOUNS for said in inner):
        return None
    pairs = tuple((segment.text[slice(*a)], segment.text[slice(*b)]) for a, b in found)
    return MarkedSentence(replace(segment, text=text, kept=tuple(kept)), pairs, spans)


def _closing_mark(token: str) -> str:
    """Return what closes a mark; "" for what opens nothing."""
    for pattern, closing in _OPENING:
        if match := pattern.fullmatch(token):
            return match.expand(closing)
    return ""


def _align_words(
    translator: Translator, source: str, target: str
) -> tuple[tuple[Sequence[str], Sequence[str]], list[list[float]]] | None:
    """Return the words of both sides and their attention; None if the model cannot write them."""
    source_ids = translator.source_ids(source)
    ids = [*translator.tokenizer.encode(target), EOS_ID]
    is_writable = UNK_ID not in ids and len(ids) <= translator.config.max_len - 2
    if not (is_writable and 0 < len(source_ids) < translator.max_source_len):
        return None
    ((found, *_),) = translator.decoder.search([source_ids], GREEDY, prefix=ids, aligned=True)
    words = [group_words(translator.tokenizer.pieces(side)) for side in (source_ids, ids[:-1])]
    texts = [word.text for word in words[0]], [word.text for word in words[1]]
    return texts, align_words(found.alignment, *words)
