"""Why a translation reads as it does: attention maps, likeliest tokens, words that might stand.

The tokens are those that the translator itself chooses; the plain model then reads them once more,
forced, and its attention modules are asked where they look, one sentence at a time.

Shapes: L layers, H heads, S source pieces with the end mark, T target pieces with the end mark;
row t of a target map belongs to the step that gave target piece t. V vocabulary, K alternatives.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn

from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, DecodeConfig, UserError
from transformer.model import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    Transformer,
    source_batch,
)
from transformer.text.tokenizer import Word, words
from transformer.translation.translator import GREEDY, Translator

N_CHOICES = 10  # likeliest next tokens kept of each step
LONGEST_WORD = 16  # pieces after which an alternative is taken as it is


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A token that might have come at a step."""

    id: int
    piece: str
    probability: float


@dataclasses.dataclass(frozen=True, slots=True)
class Alternative:
    """A word that might stand after a prefix; no text and the end mark alone: the end."""

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    probability: float  # product over its pieces


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """One sentence's translation and how it came about; maps are float32 on the CPU."""

    source: str
    target: str
    source_ids: tuple[int, ...]  # S, the end mark last
    target_ids: tuple[int, ...]  # T, the end mark last; the decoder read <s> and all but the last
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    probabilities: tuple[float, ...]  # T, of each target piece
    steps: tuple[tuple[Choice, ...], ...]  # T x N_CHOICES, likeliest first
    encoder: Tensor  # (L, H, S, S) source pieces that look at source pieces
    decoder: Tensor  # (L, H, T, T) target so far; column 0 is the start mark, above it all is 0
    cross: Tensor  # (L, H, T, S) the source pieces that each step looked at
    n_prefix: int = 0  # target pieces that were forced

    @cached_property
    def source_words(self) -> tuple[Word, ...]:
        """The source's words, the end mark in none."""
        return words(self.source_pieces[:-1])

    @cached_property
    def target_words(self) -> tuple[Word, ...]:
        """The target's words, the end mark in none."""
        return words(self.target_pieces[:-1])

    def alignment(self) -> Tensor:
        """How much each target word looked at each source word: -> (target, source words).

        The mean over layers, heads and the word's steps, summed over the source word's pieces;
        what a row lacks to 1 went to the end mark or to a gap.
        """
        looked = self.cross.mean((0, 1))  # (T, S)
        rows = [looked[word.first : word.last].mean(0) for word in self.target_words]
        columns = [
            torch.stack([row[word.first : word.last].sum() for word in self.source_words])
            for row in rows
            if self.source_words
        ]
        return torch.stack(columns) if columns else torch.zeros(len(rows), len(self.source_words))

    def confidence(self) -> tuple[float, ...]:
        """The probability of each target word, given those before: the product of its pieces'."""
        return tuple(
            float(torch.tensor(self.probabilities[word.first : word.last]).prod())
            for word in self.target_words
        )


@contextlib.contextmanager
def _watched(model: Transformer) -> Iterator[dict[str, list[Tensor]]]:
    """Collects the weights of every attention while the model runs, by the name of its kind.

    The model must run nowhere else meanwhile.
    """
    seen: dict[str, list[Tensor]] = {"encoder": [], "decoder": [], "cross": []}

    def watch(module: MultiHeadAttention, kind: str) -> Any:
        def look(module: nn.Module, inputs: tuple[Any, ...], _: Tensor) -> None:
            weights = cast(MultiHeadAttention, module).weights(*inputs)
            seen[kind].append(weights[0].float().cpu())

        return module.register_forward_hook(look)

    encoder = [cast(EncoderLayer, layer) for layer in model.encoder]
    decoder = [cast(DecoderLayer, layer) for layer in model.decoder]
    handles = [watch(layer.self_attention, "encoder") for layer in encoder]
    handles += [watch(layer.self_attention, "decoder") for layer in decoder]
    handles += [watch(layer.cross_attention, "cross") for layer in decoder]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _source(translator: Translator, text: str) -> list[int]:
    """The ids of one sentence; UserError where there is none or where it is too long."""
    ids = translator.source_ids(text)
    limit = translator.longest
    if not ids or len(ids) >= limit:
        raise UserError(
            f"expected one sentence of 1 to {limit - 1} pieces, got {len(ids)}: "
            "look into one sentence at a time"
        )
    return ids


def _checked(translator: Translator, prefix: Sequence[int]) -> list[int]:
    """A forced prefix that may be decoded after; UserError for ids that cannot stand there."""
    size, limit = translator.config.vocab_size, translator.config.max_len - 2
    wrong = [i for i in prefix if not 0 <= i < size or i in (PAD_ID, BOS_ID, UNK_ID)]
    if wrong or EOS_ID in prefix[:-1] or len(prefix) > limit:
        raise UserError(
            f"expected a prefix of at most {limit} ids of the vocabulary of {size} pieces, "
            f"got {len(prefix)} ids{f', among them {wrong[0]}' if wrong else ''}"
        )
    return list(prefix)


def _decoded(
    translator: Translator, source: Sequence[int], prefix: Sequence[int], decode: DecodeConfig
) -> list[int]:
    """The target, end mark included, that begins with the prefix."""
    if prefix and prefix[-1] == EOS_ID:
        return list(prefix)
    return [*translator.decoder.search([source], decode, prefix=prefix)[0][0].ids, EOS_ID]


@torch.inference_mode()
def trace(
    translator: Translator, text: str, prefix: Sequence[int] = (), decode: DecodeConfig = GREEDY
) -> Trace:
    """Translates one sentence, after a forced prefix if there is one, and looks inside.

    Raises UserError for text or a prefix that the model cannot take at once.
    """
    model, tokenizer = translator.model, translator.tokenizer
    source = _source(translator, text)
    target = _decoded(translator, source, _checked(translator, prefix), decode)
    src = source_batch([source]).to(model.device)
    with _watched(model) as seen:
        logits = model(src, torch.tensor([[BOS_ID, *target[:-1]]], device=model.device))
    probabilities = logits[0].float().softmax(-1).cpu()  # (T, V)
    best, ids = probabilities.topk(min(N_CHOICES, probabilities.size(1)), dim=-1)
    return Trace(
        source=text,
        target=" ".join(tokenizer.decode(target).split()),
        source_ids=(*source, EOS_ID),
        target_ids=tuple(target),
        source_pieces=tokenizer.pieces([*source, EOS_ID]),
        target_pieces=tokenizer.pieces(target),
        probabilities=tuple(probabilities[range(len(target)), target].tolist()),
        steps=tuple(
            tuple(map(Choice, row, tokenizer.pieces(row), values))
            for row, values in zip(ids.tolist(), best.tolist(), strict=True)
        ),
        **{kind: torch.stack(maps) for kind, maps in seen.items()},
        n_prefix=len(prefix),
    )


@torch.inference_mode()
def alternatives(
    translator: Translator, text: str, prefix: Sequence[int] = (), k: int = 8
) -> list[Alternative]:
    """The words that the k likeliest tokens after a prefix begin, each completed; likeliest first.

    What the model would say next is among them. Two tokens may begin the same word: given once.
    """
    model = translator.model
    source = source_batch([_source(translator, text)]).to(model.device)
    before = _checked(translator, prefix)
    tokens = torch.tensor([[BOS_ID, *before]], device=model.device)
    logits, state = model.decode(tokens, model.encode(source))
    log_probs = logits[:, -1].float().log_softmax(-1)  # (1, V)
    log_probs[:, [PAD_ID, BOS_ID, UNK_ID]] = -torch.inf
    scores, new = (best[0] for best in log_probs.topk(min(k, log_probs.size(1) - 3)))  # (K,)
    rows, gained = new[:, None], scores[:, None]  # (K, steps)
    state = state.repeat(len(rows))
    for _ in range(min(LONGEST_WORD, translator.config.max_len - tokens.size(1)) - 1):
        if all(_next_word(translator, before, row)[1] for row in rows.tolist()):
            break
        logits, state = model.decode(rows[:, -1:], state)
        scores, new = logits[:, -1].float().log_softmax(-1).max(-1)
        rows, gained = torch.cat([rows, new[:, None]], 1), torch.cat([gained, scores[:, None]], 1)
    by_word: dict[str, Alternative] = {}
    for row, gains in zip(rows.tolist(), gained.cpu(), strict=True):
        text, length = _next_word(translator, before, row)
        ids = tuple(row[: length or len(row)])
        probability = float(gains[: len(ids)].sum().exp())
        alternative = Alternative(text, ids, translator.tokenizer.pieces(ids), probability)
        if text not in by_word or probability > by_word[text].probability:
            by_word[text] = alternative
    return sorted(by_word.values(), key=lambda alternative: -alternative.probability)


def _next_word(translator: Translator, before: Sequence[int], ids: list[int]) -> tuple[str, int]:
    """The first word that new ids write or lengthen, and how many of them; 0 if it may go on."""
    end = ids.index(EOS_ID) if EOS_ID in ids else len(ids)
    start = len(before)
    pieces = translator.tokenizer.pieces([*before, *ids[:end]])
    later = [word for word in words(pieces) if word.last > start]
    if len(later) > 1:
        return later[0].text, max(1, later[1].first - start)
    return (later[0].text if later else ""), max(1, end) if EOS_ID in ids else 0
