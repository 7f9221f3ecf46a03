"""The encoder-decoder Transformer (Vaswani et al. 2017): source ids in, next-token logits out.

Training, step-by-step decoding and pictures all run `encode` and `decode`. Knows tensors and
its configuration; no text, no file, no device, no optimiser.

Shapes: B batch, S source, T target, P past target, D model width, V vocabulary.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.attention import KV, causal_mask, padding_mask
from transformer.config import PAD_ID, ModelConfig
from transformer.layers import DecoderLayer, Dropout, EncoderLayer
from transformer.positional import LearnedPositions, SinusoidalPositions


@dataclasses.dataclass(frozen=True, slots=True)
class DecoderState:
    """All that decoding carries from one step to the next."""

    memory: tuple[KV, ...]  # per layer, projected encoder output: 2 x (B, H, S, C)
    memory_mask: Tensor  # (B, 1, 1, S)
    past: tuple[KV, ...] = ()  # per layer, target so far: 2 x (B, H, P, C); empty at the start
    length: int = 0  # P

    def select(self, rows: Tensor) -> "DecoderState":
        """The named batch rows, in that order: for beams that move and rows that end."""
        return DecoderState(
            tuple(kv.select(rows) for kv in self.memory),
            self.memory_mask[rows],
            tuple(kv.select(rows) for kv in self.past),
            self.length,
        )

    def repeat(self, n_beams: int) -> "DecoderState":
        """N equal rows for each one, one after the other."""
        rows = torch.arange(self.memory_mask.size(0), device=self.memory_mask.device)
        return self.select(rows.repeat_interleave(n_beams))


class Transformer(nn.Module):
    """One embedding table, used three times: source, target and output (section 3.4)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        d_model, pre = config.d_model, config.norm == "pre"
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        positions = SinusoidalPositions if config.positions == "sinusoidal" else LearnedPositions
        self.positions = positions(config.max_len, d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        # With the norm before each sublayer, nothing normalises the last one's output.
        self.encoder_norm = nn.LayerNorm(d_model) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if pre else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for the projections; embeddings so that scaled ones have unit variance."""
        for name, parameter in self.named_parameters():
            if "embedding" in name:
                nn.init.normal_(parameter, std=self.config.d_model**-0.5)
            elif parameter.dim() > 1 and not name.startswith("positions"):
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        """Scaled embeddings plus position codes: (B, L) -> (B, L, D)."""
        end = start + ids.size(1)
        if end > self.config.max_len:
            raise ValueError(f"expected at most max_len = {self.config.max_len} tokens, got {end}")
        x = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(x + self.positions(start, ids.size(1)))

    def encode(self, src: Tensor) -> DecoderState:
        """Reads the source, once: (B, S) -> the state that decoding starts from."""
        mask = padding_mask(src, PAD_ID)
        x = self.embed(src)  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        layers = cast(Iterable[DecoderLayer], self.decoder)
        return DecoderState(tuple(layer.cross_attention.kv(x) for layer in layers), mask)

    def read(self, tgt: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Reads the next T target tokens, be it one or all: (B, T) -> (B, T, D), new state."""
        length = state.length + tgt.size(1)
        mask = causal_mask(tgt.size(1), length, tgt.device)
        x = self.embed(tgt, state.length)  # (B, T, D)
        past: list[KV] = []
        for i, layer in enumerate(self.decoder):
            before = state.past[i] if state.past else None
            x, kv = layer(x, before, state.memory[i], mask, state.memory_mask)
            past.append(kv)
        state = DecoderState(state.memory, state.memory_mask, tuple(past), length)
        return self.decoder_norm(x), state

    def decode(self, tgt: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """What may follow each of the next T target tokens: (B, T) -> (B, T, V), new state.

        Row t of the logits scores the token after token t.
        """
        x, state = self.read(tgt, state)
        return F.linear(x, self.embedding.weight), state

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """All next-token logits at once, as in training: (B, S), (B, T) -> (B, T, V)."""
        return self.decode(tgt, self.encode(src))[0]

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.embedding.weight.device
