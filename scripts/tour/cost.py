"""Stop 13: what a layer of the paper's size costs as a sentence grows, counted and timed.

Shapes: L positions, H heads, C channels of a head, D model width.
"""

import time
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from scripts.tour.comparison import one_thread
from transformer.config import ModelConfig, model_config
from transformer.model import KV, EncoderLayer, attention_weights

LENGTHS = (64, 128, 256, 512, 1024, 2048)


def layer_config() -> ModelConfig:
    """The layer that is measured: the paper's."""
    return model_config("base", vocab_size=5)


def counted(length: int) -> dict[str, int]:
    """Multiplications of an encoder layer: what each position, and what each pair of them costs."""
    config = layer_config()
    d_model, d_ff = config.d_model, config.d_ff
    return {
        "each": length * (4 * d_model**2 + 2 * d_model * d_ff),
        "pairs": 2 * length**2 * d_model,
        "weights": config.n_heads * length**2,  # numbers that softmax gives
    }


def break_even() -> int:
    """The length at which pairs cost as much as positions: 2 D + d_ff."""
    return 2 * layer_config().d_model + layer_config().d_ff


@one_thread()
@torch.inference_mode()
def timed(lengths: Sequence[int], repeats: int = 5) -> dict[str, list[float]]:
    """Processor milliseconds, the least of some tries, for positions and for pairs."""
    torch.manual_seed(1)
    config = layer_config()
    layer = EncoderLayer(config).eval()
    attend = layer.self_attention
    rows: dict[str, list[float]] = {"each": [], "pairs": []}
    for length in lengths:
        x = torch.randn(1, length, config.d_model)
        query, kv = attend._split(attend.query(x)), attend.kv(x)
        each = partial(_each, layer, x)
        pairs = partial(_pairs, query, kv)
        for name, work in (("each", each), ("pairs", pairs)):
            tries = []
            for _ in range(repeats):
                started = time.process_time()
                work()
                tries.append(1000 * (time.process_time() - started))
            rows[name].append(min(tries))
    return rows


def _each(layer: EncoderLayer, x: Tensor) -> None:
    """What every position costs by itself."""
    attend = layer.self_attention
    attend.query(x), attend.kv(x), attend.out(x), layer.feed_forward(x)


def _pairs(query: Tensor, kv: KV) -> Tensor:
    """What every pair of positions costs."""
    return attention_weights(query, kv.key) @ kv.value
