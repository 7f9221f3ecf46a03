"""Stop 13: what a layer of the paper's size costs as a sentence grows, counted and timed.

Shapes: L positions, H heads, C channels of a head, D model width.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from scripts.tour.comparison import min_cpu_ms, one_thread
from transformer.config import model_config
from transformer.model import KV, EncoderLayer, attention_weights

LENGTHS = (64, 128, 256, 512, 1024, 2048)
LAYER = model_config("base", vocab_size=5)  # the layer that is measured: the paper's


def count_multiplications(length: int) -> dict[str, int]:
    """Count the multiplications of an encoder layer for its positions and for pairs of them."""
    config, d_model, d_ff = LAYER, LAYER.d_model, LAYER.d_ff
    return {
        "each": length * (4 * d_model**2 + 2 * d_model * d_ff),
        "pairs": 2 * length**2 * d_model,
        "weights": config.n_heads * length**2,  # numbers that softmax gives
    }


def break_even() -> int:
    """Return the length at which pairs cost as much as positions: 2 D + d_ff."""
    return 2 * LAYER.d_model + LAYER.d_ff


@one_thread()
@torch.inference_mode()
def measure(lengths: Sequence[int], repeats: int = 5) -> dict[str, list[float]]:
    """Measure the processor milliseconds of all positions, and of all pairs of them."""
    torch.manual_seed(1)
    layer = EncoderLayer(LAYER).eval()
    attend = layer.self_attention
    rows: dict[str, list[float]] = {"each": [], "pairs": []}
    for length in lengths:
        x = torch.randn(1, length, LAYER.d_model)
        query, kv = attend._split(attend.query(x)), attend.kv(x)
        rows["each"].append(min_cpu_ms(partial(_each, layer, x), repeats))
        rows["pairs"].append(min_cpu_ms(partial(_pairs, query, kv), repeats))
    return rows


def _each(layer: EncoderLayer, x: Tensor) -> None:
    attend = layer.self_attention
    attend.query(x), attend.kv(x), attend.out(x), layer.feed_forward(x)


def _pairs(query: Tensor, kv: KV) -> Tensor:
    return attention_weights(query, kv.key) @ kv.value
