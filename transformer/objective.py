"""Model and loss as one module, which is what training runs forwards and backwards.

Shapes: B batch, S source, T target, D model width.
"""

from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import PAD_ID, TrainConfig
from transformer.loss import projected_cross_entropy
from transformer.model import Transformer


class LossModel(nn.Module):
    """One number leaves the accelerated forward."""

    def __init__(self, model: Transformer, config: TrainConfig) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = config.label_smoothing
        self.read: Any = torch.compile(self._read, dynamic=True) if config.compile else self._read
        if isinstance(model, Transformer) and model.config.norm == "pre":
            _narrow_norms(model.encoder, model.decoder, model.encoder_norm)

    def _read(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        return self.model.read(tgt_in, self.model.encode(src))[0]

    def forward(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        """The summed loss: (B, S), (B, T), (B, T) -> ()."""
        x = self.read(src, tgt_in)  # (B, T, D)
        weight = self.model.embedding.weight
        return projected_cross_entropy(x, weight, tgt_out, PAD_ID, self.label_smoothing)


def _narrow_norms(*parts: nn.Module) -> None:
    """Under autocast norms give the type of the products that read them: cast once, not by each.

    The values are the same. Only for norms whose output is not the residual stream itself.
    """

    def narrow(_norm: nn.Module, _given: Any, output: Tensor) -> Tensor:
        device = output.device.type
        on = torch.is_autocast_enabled(device)
        return output.to(torch.get_autocast_dtype(device)) if on else output

    for part in parts:
        for module in part.modules():
            if isinstance(module, nn.LayerNorm):
                module.register_forward_hook(narrow)
