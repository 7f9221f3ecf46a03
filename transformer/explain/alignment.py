"""Explain the words of a translation: their source words, probabilities and alternatives.

The decoder computes all of it, in batches; with the native decoder torch is not imported.

Shapes: L layers, H heads, S source pieces with the end mark, T target pieces with the end mark.
"""

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, DecodeConfig, UserError
from transformer.text.tokenizer import Word, align_words, group_words
from transformer.translation.translator import GREEDY, Translator

MAX_WORD_PIECES = 16  # an alternative word is cut after so many pieces


@dataclasses.dataclass(frozen=True, slots=True)
class Alternative:
    """A word that might follow a prefix, and the product of its pieces' probabilities.

    With no text and only the end mark it is the end.
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    probability: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlignedTranslation:
    """The translation of one sentence, piece by piece, each side with its end mark last.

    `probabilities` are of each target piece; `attention`, a NumPy array (T, S), is how much each
    step looked at each source piece.
    """

    source: str
    target: str
    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]  # T; the decoder read <s> and all but the last
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    probabilities: tuple[float, ...]
    attention: Any

    @cached_property
    def source_words(self) -> tuple[Word, ...]:
        return group_words(self.source_pieces[:-1])

    @cached_property
    def target_words(self) -> tuple[Word, ...]:
        return group_words(self.target_pieces[:-1])

    def alignment(self) -> list[list[float]]:
        """Return the attention of each target word to each source word, as `align_words` does."""
        return align_words(self.attention, self.source_words, self.target_words)

    def confidence(self) -> tuple[float, ...]:
        """Return the probability of each target word: the product of those of its pieces."""
        return tuple(
            math.prod(self.probabilities[word.first : word.last]) for word in self.target_words
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A token that might have been chosen at a step."""

    id: int
    piece: str
    probability: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace(AlignedTranslation):
    """The translation of one sentence and how it was decoded; `trace` makes it.

    `steps` has the likeliest tokens of each step. The maps are `encoder` (L, H, S, S), `decoder`
    (L, H, T, T), whose column 0 is the start mark, and `cross` (L, H, T, S), all in float32:
    tensors on the CPU, or NumPy arrays where torch is not to be imported.
    """

    steps: tuple[tuple[Choice, ...], ...]
    encoder: Any
    decoder: Any
    cross: Any


def can_align(translator: Translator, text: str) -> bool:
    """Return whether a text is one sentence that is short enough for the model."""
    return 0 < len(translator.source_ids(text)) < translator.max_source_len


def align(
    translator: Translator, texts: Sequence[str], prefix: Sequence[int] = (),
    decode: DecodeConfig = GREEDY,
) -> list[AlignedTranslation]:  # fmt: skip
    """Translate sentences with their alignment; each translation begins with the ids `prefix`.

    UserError for an empty text, an invalid prefix, and for either if too long for the model.
    """
    forced = _check_prefix(translator, prefix)
    sources = [_source_ids(translator, text) for text in texts]
    found = translator.decoder.search(sources, decode, prefix=forced, aligned=True)
    pieces = translator.tokenizer.pieces
    results = []
    for text, source, (best, *_) in zip(texts, sources, found, strict=True):
        target = forced if forced and forced[-1] == EOS_ID else [*best.ids, EOS_ID]
        results.append(AlignedTranslation(
            source=text,
            target=" ".join(translator.tokenizer.decode(target).split()),
            source_ids=(*source, EOS_ID),
            target_ids=tuple(target),
            source_pieces=pieces([*source, EOS_ID]),
            target_pieces=pieces(target),
            probabilities=tuple(map(math.exp, best.log_probs[: len(target)])),
            attention=best.alignment[: len(target)],
        ))  # fmt: skip
    return results


def align_given(
    translator: Translator, text: str, target: str, decode: DecodeConfig = GREEDY
) -> AlignedTranslation | None:
    """Align a sentence with `target`, or return None if the model cannot generate that.

    Raises UserError for a text that is empty or too long for the model.
    """
    ids = [*translator.tokenizer.encode(target), EOS_ID]
    if UNK_ID in ids or len(ids) > translator.config.max_len - 2:
        return None
    (found,) = align(translator, [text], ids, decode)
    return found if found.target == target else None


def alternatives(
    translator: Translator, text: str, prefix: Sequence[int] = (), k: int = 8
) -> list[Alternative]:
    """Complete the k likeliest next tokens after a prefix to words; the likeliest word first.

    The word that the model would choose is among them. A word that two tokens begin comes once.
    UserError for a text that is empty or too long, and for an invalid prefix.
    """
    source, before = _source_ids(translator, text), _check_prefix(translator, prefix)
    start, size = len(before), translator.config.vocab_size
    branches = translator.decoder.search(
        [source], GREEDY, prefix=before, aligned=True, branches=min(k + 1, size)
    )[0]
    likeliest = sorted(branches, key=lambda branch: -branch.log_probs[start])
    rows = [([*branch.ids, EOS_ID][start:][:MAX_WORD_PIECES], branch) for branch in likeliest]
    by_word: dict[str, Alternative] = {}
    for row, branch in [(row, branch) for row, branch in rows if row[0] != UNK_ID][:k]:
        word, length = _next_word(translator, before, row)
        ids = tuple(row[: length or len(row)])
        probability = math.exp(sum(branch.log_probs[start : start + len(ids)]))
        alternative = Alternative(word, ids, translator.tokenizer.pieces(ids), probability)
        if word not in by_word or probability > by_word[word].probability:
            by_word[word] = alternative
    return sorted(by_word.values(), key=lambda alternative: -alternative.probability)


def _source_ids(translator: Translator, text: str) -> list[int]:
    """Return the ids of one sentence; UserError for an empty or too long one."""
    ids = translator.source_ids(text)
    if not 0 < len(ids) < translator.max_source_len:
        raise UserError(
            f"expected one sentence of 1 to {translator.max_source_len - 1} pieces, "
            f"got {len(ids)}: look into one sentence at a time"
        )
    return ids


def _check_prefix(translator: Translator, prefix: Sequence[int]) -> list[int]:
    """Return a prefix as a list; UserError for too many, unknown or special ids but a last </s>."""
    size, limit = translator.config.vocab_size, translator.config.max_len - 2
    wrong = [i for i in prefix if not 0 <= i < size or i in (PAD_ID, BOS_ID, UNK_ID)]
    if wrong or EOS_ID in prefix[:-1] or len(prefix) > limit:
        raise UserError(
            f"expected a prefix of at most {limit} ids of the vocabulary of {size} pieces, "
            f"got {len(prefix)} ids{f', among them {wrong[0]}' if wrong else ''}"
        )
    return list(prefix)


def _next_word(translator: Translator, before: Sequence[int], ids: list[int]) -> tuple[str, int]:
    """Return the first word of `ids`, following `before`, and its number of ids; 0 if cut off."""
    end = ids.index(EOS_ID) if EOS_ID in ids else len(ids)
    start = len(before)
    pieces = translator.tokenizer.pieces([*before, *ids[:end]])
    later = [word for word in group_words(pieces) if word.last > start]
    if len(later) > 1:
        return later[0].text, max(1, later[1].first - start)
    return (later[0].text if later else ""), max(1, end) if EOS_ID in ids else 0
