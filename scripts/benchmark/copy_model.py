"""A model written by hand that copies its source, and random sentences to copy.

For measurements of speed: any size at once, without training, with outputs of realistic length,
and the right answer known, so that each engine and precision can be checked. All its matrices
are dense and random, so no engine finds zeros to skip. It says nothing of quality: its margins
are far wider than a trained model's.

How it copies. The fastest sinusoids say where a token stands, the embeddings lie in the other
channels. All sublayers add little noise except the last cross-attention: its queries and keys
read the positions, so that target position t looks at source position t, and its values carry
that token, louder than the residual stream, to the output layer.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig, UserError
from transformer.model import DecoderLayer, MultiHeadAttention, Transformer

N_SPECIAL = 4  # ids of padding, start, end and unknown: no sentence holds them
SLOWEST = 0.4  # radians a token: sinusoids from 1 down to this tell any two of 120 places apart
SHARPNESS = 20.0  # nats by which the attention prefers its own place to the next
CERTAINTY = 24.0  # logit of the right token, about; the others lie around 0
LOUDNESS = 6.0  # of the copied token beside the residual stream
NOISE = 0.02  # share of a random matrix in what is not random
BRANCH = 0.02  # size of a noise sublayer's output beside the residual stream


def copy_model(config: ModelConfig, seed: int = 1) -> Transformer:
    """Return a model in evaluation mode whose greedy search gives the source ids back.

    UserError for learned positions, and for too few channels or positions to copy sentences with.
    """
    if config.positions != "sinusoidal" or min(config.d_model, config.max_len) < 64:
        raise UserError(
            "expected --positions sinusoidal, --d-model and --max-len of at least 64 for a model "
            f"that copies; got {config.positions}, {config.d_model} and {config.max_len}"
        )
    random = torch.Generator().manual_seed(seed)
    model = Transformer(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            _randomise(name, parameter, random)
        _write_embeddings(model, random)
        last = cast(DecoderLayer, model.decoder[-1])
        _write_copying(last.cross_attention, config, random)
        norm = last.feed_residual.norm if config.norm == "post" else model.decoder_norm
        cast(nn.LayerNorm, norm).weight.mul_(CERTAINTY / math.sqrt(config.d_model))
    return model.eval()


def random_sentences(
    number: int, vocab_size: int, *, length: int | None = None, seed: int = 1
) -> list[list[int]]:
    """Draw source ids without special ones, of that length, or 5 to 60 long and 24 on average."""
    random = torch.Generator().manual_seed(seed)
    lengths = [length] * number if length is not None else _lengths(number, random)
    return [torch.randint(N_SPECIAL, vocab_size, (n,), generator=random).tolist() for n in lengths]


def _lengths(number: int, random: torch.Generator) -> list[int]:
    """Draw lengths skewed as those of real text: the least of uniform draws, and their mean."""
    draws = torch.rand(number, 2, generator=random, dtype=torch.float64)
    share = 0.85 * draws.min(1).values + 0.15 * draws.mean(1)  # in 0 ... 1, 0.358 on average
    return (5 + 54 * share).round().long().tolist()


def _randomise(name: str, parameter: Tensor, random: torch.Generator) -> None:
    """Fill a parameter with dense noise of the size that keeps the residual stream readable."""
    noise = torch.randn(parameter.shape, generator=random)
    if name.endswith("norm.weight"):
        parameter.copy_(1 + NOISE * noise)
    elif parameter.dim() == 1:
        parameter.copy_(NOISE * noise)
    else:
        writes = name.endswith(("out.weight", "contract.weight"))
        parameter.copy_(noise * parameter.size(1) ** -0.5 * (BRANCH if writes else 1.0))


def _n_fast(d_model: int) -> int:
    """Return how many sinusoids turn by SLOWEST or more a token: the first ones."""
    return 1 + math.floor(-math.log(SLOWEST) / math.log(10_000) * d_model / 2)


def _write_embeddings(model: Transformer, random: torch.Generator) -> None:
    """Write rows of length 1 away from all positions, less what these have in common.

    So each token has the same norm and mean at each place, and the norm layers change no
    distance of positions. The slow cosines, about 1 everywhere, are taken off as their mean
    would be subtracted from the fast ones; the same vector in each row moves no logit apart.
    """
    table, width = model.embedding.weight, 2 * _n_fast(model.config.d_model)
    table.normal_(generator=random)
    table[:, :width] *= NOISE
    slow = model.positions(0, 60)[:, width:]  # (60, D - width)
    constant = slow.mean(0)
    moving = torch.linalg.svd(slow - constant)[2][: table.size(1) // 16]
    for direction in (*moving, torch.full_like(constant, len(constant) ** -0.5)):
        table[:, width:] -= torch.outer(table[:, width:] @ direction, direction)
    table /= table.norm(dim=1, keepdim=True)
    table[:, width:] -= constant / math.sqrt(model.config.d_model)


def _rotation(size: int, random: torch.Generator) -> Tensor:
    """Draw a dense orthogonal matrix: -> (size, size)."""
    return torch.linalg.qr(torch.randn(size, size, generator=random))[0]


def _write_copying(
    attention: MultiHeadAttention, config: ModelConfig, random: torch.Generator
) -> None:
    """Make the attention look at its own place, and pass on what stands there.

    Queries and keys of a head read the fast sinusoids, turned by the same dense rotation, which
    leaves their dot products as they are: a sum of cosines of the distance.
    """
    channels = config.d_model // config.n_heads
    n_rates = min(_n_fast(config.d_model), channels // 2)
    lost = n_rates * (1 - SLOWEST) / 4  # about: of that sum, by a step to the next place
    gain = math.sqrt(SHARPNESS * 1.2 * math.sqrt(channels) / lost)  # 1.2: variance before the norm
    for head in range(config.n_heads):
        rows = slice(head * channels, (head + 1) * channels)
        turned = gain * _rotation(channels, random)[:, : 2 * n_rates]
        for projection in (attention.query, attention.key):
            projection.weight[rows] *= NOISE
            projection.weight[rows, : 2 * n_rates] += turned
    across = _rotation(config.d_model, random)
    attention.value.weight.copy_(across)
    attention.out.weight.copy_(LOUDNESS * across.T)
