"""Position codes: where a token stands, as a vector that is added to its embedding (3.5).

Shapes: L length, D model width.
"""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, d_model: int) -> Tensor:
    """The paper's codes, sine on even and cosine on odd channels: -> (L, D).

    The wavelengths run from 2 pi to 10,000 x 2 pi positions.
    """
    positions = torch.arange(length, dtype=torch.float64)[:, None]  # (L, 1)
    rates = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10_000.0) / d_model))
    angles = positions * rates  # (L, D/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()  # (L, D)


class SinusoidalPositions(nn.Module):
    """Fixed codes; computed, so not part of a checkpoint."""

    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Codes of the positions start ... start + length - 1: -> (L, D)."""
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """Trained codes, drawn small beside embeddings of about unit length."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, start: int, length: int) -> Tensor:
        """Codes of the positions start ... start + length - 1: -> (L, D)."""
        return self.table[start : start + length]
