"""Why a translation reads as it does: attention maps, likeliest tokens, words that might stand.

The tokens are those that the translator itself chooses; the plain model then reads them once more,
forced, and its attention modules are asked where they look, one sentence at a time.

Shapes: L layers, H heads, S source pieces with the end mark, T target pieces with the end mark;
row t of a target map belongs to the step that gave target piece t. V vocabulary, K alternatives.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from transformer.config import BOS_ID, DecodeConfig
from transformer.explain.alignment import AlignedTranslation, align
from transformer.model import DecoderLayer, EncoderLayer, MultiHeadAttention, Transformer
from transformer.translation.translator import GREEDY, Translator

N_CHOICES = 10  # likeliest next tokens kept of each step


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A token that might have come at a step."""

    id: int
    piece: str
    probability: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace(AlignedTranslation):
    """One sentence's translation and how it came about; maps are float32 on the CPU."""

    steps: tuple[tuple[Choice, ...], ...]  # T x N_CHOICES, likeliest first
    encoder: Tensor  # (L, H, S, S) source pieces that look at source pieces
    decoder: Tensor  # (L, H, T, T) target so far; column 0 is the start mark, above it all is 0
    cross: Tensor  # (L, H, T, S) the source pieces that each step looked at


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


@torch.inference_mode()
def trace(
    translator: Translator, text: str, prefix: Sequence[int] = (), decode: DecodeConfig = GREEDY
) -> Trace:
    """Translates one sentence, after a forced prefix if there is one, and looks inside.

    Raises UserError for text or a prefix that the model cannot take at once.
    """
    (aligned,) = align(translator, [text], prefix, decode)
    model, pieces, target = translator.model, translator.tokenizer.pieces, aligned.target_ids
    src = torch.tensor([aligned.source_ids], device=model.device)
    with _watched(model) as seen:
        logits = model(src, torch.tensor([[BOS_ID, *target[:-1]]], device=model.device))
    maps: dict[str, Any] = {kind: torch.stack(maps) for kind, maps in seen.items()}
    probabilities = logits[0].float().softmax(-1).cpu()  # (T, V)
    best, ids = probabilities.topk(min(N_CHOICES, probabilities.size(1)), dim=-1)
    told = {field.name: getattr(aligned, field.name) for field in dataclasses.fields(aligned)}
    told["probabilities"] = tuple(probabilities[range(len(target)), target].tolist())
    told["looked"] = maps["cross"][-1].mean(0).numpy()
    steps = tuple(
        tuple(map(Choice, row, pieces(row), values))
        for row, values in zip(ids.tolist(), best.tolist(), strict=True)
    )
    return Trace(**told, **maps, steps=steps)
