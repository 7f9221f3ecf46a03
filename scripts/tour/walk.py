"""One sentence through the model, with the numbers of every step: from pieces to the next word.

The first encoder layer is gone through part by part, then what the decoder does at one step.

Shapes: S source pieces, T target pieces, K keys, C channels of a head, H heads, D model width.
"""

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.config import BOS_ID
from transformer.explain.alignment import Trace
from transformer.explain.trace import best_alignment_layer, trace
from transformer.model import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    Transformer,
    source_batch,
)
from transformer.text.tokenizer import Word
from transformer.translation.translator import Translator

SENTENCE, FOLLOWED = "El gato negro duerme.", "negro"
SHOWN = 6  # channels of a vector that are drawn
N_NEXT = 5  # candidates of a step that are drawn


def find_word(words: tuple[Word, ...], text: str) -> Word:
    """Return the first word with that text, else the middle one: models choose other words."""
    return next((word for word in words if word.text == text), words[len(words) // 2])


@torch.inference_mode()
def walk(translator: Translator) -> dict[str, Any]:
    """Compute every number of the walk, by the names that the templates use."""
    traced = trace(translator, SENTENCE)
    row = find_word(traced.source_words, FOLLOWED).first
    layer = best_alignment_layer(traced.cross)
    step = int(traced.cross[layer].mean(0)[:-1, row].argmax())  # that looks most at the word
    return {
        "source": traced.source,
        "target": traced.target,
        "pieces": traced.source_pieces,
        "ids": traced.source_ids,
        "written": traced.target_pieces,
        "row": row,
        "step": step,
        **encoder_facts(translator.model, traced, row),
        **decoder_facts(translator.model, traced, step),
        "cross": traced.cross[layer].mean(0).tolist(),
        "cross_layer": layer + 1,
        "steps": [[(c.piece, c.probability) for c in step[:N_NEXT]] for step in traced.steps],
    }


def encoder_facts(model: Transformer, traced: Trace, row: int) -> dict[str, Any]:
    """Follow the encoder: vectors, then the first layer part by part, for the word of that row."""
    layer = cast(EncoderLayer, model.encoder[0])
    attend, feed, pre = layer.self_attention, layer.feed_forward, model.config.norm == "pre"
    src = source_batch([traced.source_ids[:-1]])
    embedded = model.embedding(src)[0] * math.sqrt(model.config.d_model)  # (S, D)
    codes = model.positions(0, src.size(1))  # (S, D)
    x = embedded + codes
    read = layer.self_residual.norm(x) if pre else x
    query, kv = _query(attend, read[None]), attend.kv(read[None])
    maps = attend.weights(read[None], kv)[0]  # (H, S, S)
    head = int(maps[:, row, _other_pieces(traced, row)].amax(-1).argmax())  # most outward
    key, value = kv.key[0, head], kv.value[0, head]  # (S, C)
    scores = query[head] @ key.T  # (S, S)
    divided = scores / math.sqrt(key.size(1))
    weights = divided.softmax(-1)
    after = layer.self_residual(x[None], lambda y: attend(y, attend.kv(y)))[0]
    memory, mask = x[None], torch.ones(1, 1, 1, len(x), dtype=torch.bool)
    for each in model.encoder:
        memory = each(memory, mask)
    hidden = feed.activation(feed.expand(layer.feed_residual.norm(after) if pre else after))[row]
    strongest = hidden.topk(SHOWN)
    vectors = {  # (S, D) or (S, C)
        "embedded": embedded, "codes": codes, "x": x, "read": read, "query": query[head],
        "key": key, "value": value, "after": after, "memory": model.encoder_norm(memory)[0],
    }  # fmt: skip
    return {
        **{name: values[:, :SHOWN].tolist() for name, values in vectors.items()},
        "head": head + 1,
        "x_mean": float(x[row].mean()),
        "x_std": float(x[row].std(correction=0)),
        "read_std": float(read[row].std(correction=0)),
        "channels": key.size(1),
        "scores": scores[row].tolist(),
        "divided": divided[row].tolist(),
        "exponentials": divided[row].exp().tolist(),
        "weights": weights.tolist(),
        "mixture": (weights[row] @ value)[:SHOWN].tolist(),
        "layer_heads": traced.encoder[0].tolist(),
        "units": hidden.numel(),
        "awake": int((hidden > 0).sum()),
        "strongest": list(zip(strongest.indices.tolist(), strongest.values.tolist(), strict=True)),
        "fed": layer.feed_residual(after[None], feed)[0, row, :SHOWN].tolist(),
        **_strongest_link(traced, row),
    }


def _other_pieces(traced: Trace, row: int) -> list[int]:
    """Return the places of the pieces of all words that the row is not in, without marks."""
    return [
        place
        for word in traced.source_words
        if any(map(str.isalpha, word.text)) and not word.first <= row < word.last
        for place in range(word.first, word.last)
    ]


def _strongest_link(traced: Trace, row: int) -> dict[str, Any]:
    """Find the layer and head of the encoder where the row gives most to another word."""
    places = _other_pieces(traced, row)
    best = traced.encoder[:, :, row, places].amax(-1)  # (L, H)
    layer, head = divmod(int(best.argmax()), best.size(1))
    maps = traced.encoder[layer, head]
    return {
        "link_layer": layer + 1,
        "link_head": head + 1,
        "link": maps.tolist(),
        "link_to": traced.source_pieces[places[int(maps[row, places].argmax())]],
        "link_weight": float(best.max()),
    }


def decoder_facts(model: Transformer, traced: Trace, step: int) -> dict[str, Any]:
    """Follow the decoder at one step: what it has read, looks at, and finds likely next."""
    state = model.encode(source_batch([traced.source_ids[:-1]]))
    read = torch.tensor([[BOS_ID, *traced.target_ids[:-1]]])
    output, _ = model.decode_hidden(read, state)
    logits = F.linear(output[0, step], model.embedding.weight)  # (V,)
    best = logits.topk(N_NEXT)
    layer = cast(DecoderLayer, model.decoder[0])
    x = model.embed(read)
    normed = layer.self_residual.norm(x) if model.config.norm == "pre" else x
    query = _query(layer.self_attention, normed)
    key = layer.self_attention.kv(normed).key[0]
    unmasked = (query @ key.transpose(1, 2) / math.sqrt(key.size(-1))).softmax(-1)  # (H, T, T)
    before = traced.decoder[0].tril(-1).sum(-1).mean(-1)  # (H,), what goes to earlier pieces
    head = int(before.argmax())
    peeked = unmasked[head].triu(1).sum(-1)  # (T,)
    return {
        "read_back": ("<s>", *traced.target_pieces[:-1]),
        "mask_head": head + 1,
        "masked": traced.decoder[0, head].tolist(),
        "peeked": float(peeked[:-1].mean()),
        "vocabulary": logits.numel(),
        "logits": best.values.tolist(),
    }


def _query(attend: MultiHeadAttention, x: Tensor) -> Tensor:
    """Split the queries into heads: (1, L, D) -> (H, L, C)."""
    return attend._split(attend.query(x))[0]
