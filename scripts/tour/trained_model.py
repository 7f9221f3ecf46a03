"""Stops 9 to 11: what the trained model is made of, and what it looks at.

Shapes: L layers, H heads, S source pieces, T target pieces, Q queries, K keys.
"""

import dataclasses
from typing import cast

import torch
from torch import Tensor

from transformer.config import EOS_ID, UserError, model_config
from transformer.explain.render import sharpest
from transformer.explain.trace import Trace, trace
from transformer.model import EncoderLayer, Transformer
from transformer.text.tokenizer import Word
from transformer.translation.translator import Translator

# The sentence of the lessons, from Spanish, where nothing stands for "it".
SENTENCE = "El animal no cruzó la calle porque estaba demasiado cansado."
FORCED = "The animal didn't cross the street because it was too tired."
STEPPED = "¿Dónde está la biblioteca?"
PAPER_VOCABULARY = 37_000


@dataclasses.dataclass(frozen=True, slots=True)
class Stack:
    """Stop 9: the layers of the model."""

    parameters: int
    paper_parameters: int  # of the preset `base` with the paper's vocabulary
    shapes: int  # different shapes of layer in the encoder
    likeness: Tensor  # (L, L), cosine of the encoder layers' weights with each other
    positions: Tensor  # (24, 48), the first channels of the first position codes


def stack(model: Transformer) -> Stack:
    """Counts and compares the layers."""
    with torch.device("meta"):
        paper = Transformer(model_config("base", vocab_size=PAPER_VOCABULARY))
    layers = [cast(EncoderLayer, layer) for layer in model.encoder]
    with torch.no_grad():
        rows = torch.stack([
            torch.cat([p.flatten().float() for n, p in layer.named_parameters() if "norm" not in n])
            for layer in layers
        ])  # fmt: skip
        rows = rows / rows.norm(dim=1, keepdim=True)
        positions = model.positions(0, 24)[:, :48]
    return Stack(
        parameters=sum(p.numel() for p in model.parameters()),
        paper_parameters=sum(p.numel() for p in paper.parameters()),
        shapes=len({tuple(p.shape for p in layer.parameters()) for layer in layers}),
        likeness=rows @ rows.T,
        positions=positions,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Tie:
    """The head of a kind of attention that ties a word to another most, and a third beside it."""

    place: tuple[int, int]  # layer and head, from 0
    weight: float
    rival: float  # what the same head gives to the other word
    won: int  # heads that look more at the first word than at the other


@dataclasses.dataclass(frozen=True, slots=True)
class Looks:
    """Stop 11: the sentence as the model translates it, and with the lessons' translation."""

    free: Trace
    forced: Trace
    encoder: Tie  # from "cansado" to "animal", beside "calle"
    decoder: Tie  # from the step that writes "it" to "animal", beside "street"
    chance: float  # of "it" at its step
    layer: int  # whose cross-attention is sharpest


def look(translator: Translator) -> Looks:
    """Traces the sentence twice and finds the heads that tie the words."""
    free = trace(translator, SENTENCE)
    ids = (*translator.tokenizer.encode(FORCED), EOS_ID)
    forced = trace(translator, SENTENCE, ids)
    source, target = forced.source_words, forced.target_words
    animal, street, tired = (word(source, w) for w in ("animal", "calle", "cansado"))
    it, beast, road = (word(target, w) for w in ("it", "animal", "street"))
    # The step that writes "it" reads the piece before it; its column 0 is the start mark.
    return Looks(
        free=free,
        forced=forced,
        encoder=tie(free.encoder, tired.first, animal, street),
        decoder=tie(forced.decoder, it.first, *(
            dataclasses.replace(w, first=w.first + 1, last=w.last + 1) for w in (beast, road)
        )),
        chance=forced.probabilities[it.first],
        layer=sharpest(forced.cross),
    )  # fmt: skip


def word(words: tuple[Word, ...], text: str) -> Word:
    """The first word written so; a UserError where there is none."""
    for candidate in words:
        if candidate.text == text:
            return candidate
    raise UserError(f"expected the word {text!r} among {' '.join(w.text for w in words)}")


def tie(maps: Tensor, row: int, to: Word, rival: Word) -> Tie:
    """(L, H, Q, K) -> the head with most weight from the row to a word."""
    wanted = maps[:, :, row, to.first : to.last].sum(-1)  # (L, H)
    other = maps[:, :, row, rival.first : rival.last].sum(-1)
    layer, head = divmod(int(wanted.argmax()), wanted.size(1))
    return Tie(
        place=(layer, head),
        weight=float(wanted[layer, head]),
        rival=float(other[layer, head]),
        won=int((wanted > other).sum()),
    )
