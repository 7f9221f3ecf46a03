"""A recurrent encoder-decoder with attention, as it was before 2017, to be measured against.

After Bahdanau et al. 2015 and Wu et al. 2016: a bidirectional GRU reads the source, a GRU writes
the target, and attention joins them. It has `encode` and `decode` as the Transformer has, so that
the same loop trains both and the same greedy search searches with both.

Shapes: B batch, S source, T target, L any length, D model width, V vocabulary.
"""

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transformer.config import PAD_ID, ModelConfig
from transformer.model import attention_weights


@dataclasses.dataclass(frozen=True, slots=True)
class RecurrentState:
    """What decoding carries from one step to the next: a summary, not the past itself."""

    memory: Tensor  # (B, S, D)
    memory_mask: Tensor  # (B, 1, S)
    hidden: tuple[Tensor, ...]  # per decoder layer: (1, B, D)

    def select(self, rows: Tensor) -> "RecurrentState":
        """Return the batch rows in that order."""
        hidden = tuple(layer[:, rows] for layer in self.hidden)
        return RecurrentState(self.memory[rows], self.memory_mask[rows], hidden)


class Recurrent(nn.Module):
    """GRUs joined by attention: the lower decoder layer asks, the upper ones read the answer."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.device = config, torch.device("cpu")
        d_model, n_upper = config.d_model, config.n_decoder_layers - 1
        if n_upper < 1:
            raise ValueError(f"expected two decoder layers or more, got {n_upper + 1}")
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.GRU(
            d_model, d_model // 2, config.n_encoder_layers, batch_first=True, bidirectional=True,
            dropout=config.dropout if config.n_encoder_layers > 1 else 0.0,
        )  # fmt: skip
        self.bridge = nn.Linear(d_model, d_model * config.n_decoder_layers)
        self.lower = nn.GRU(d_model, d_model, batch_first=True)
        self.query = nn.Linear(d_model, d_model)
        self.upper = nn.ModuleList(
            nn.GRU(2 * d_model, d_model, batch_first=True) for _ in range(n_upper)
        )
        self.out = nn.Linear(2 * d_model, d_model)

    def _embed(self, ids: Tensor) -> Tensor:
        """(B, L) -> (B, L, D)."""
        return self.dropout(self.embedding(ids) * self.config.d_model**0.5)

    def encode(self, src: Tensor) -> RecurrentState:
        """Read the source in both directions, one token after the other: (B, S) -> state."""
        mask = src != PAD_ID
        packed = pack_padded_sequence(
            self._embed(src), mask.sum(1), batch_first=True, enforce_sorted=False
        )
        memory, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)  # (B, S, D)
        mean = (memory * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)  # (B, D)
        hidden = torch.tanh(self.bridge(mean)).chunk(self.config.n_decoder_layers, dim=-1)
        start = tuple(layer[None].contiguous() for layer in hidden)
        return RecurrentState(self.dropout(memory), mask[:, None], start)

    def decode_hidden(self, tgt: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Read the next target tokens, one after the other: (B, T) -> (B, T, D), new state."""
        x, last = self.lower(self._embed(tgt), state.hidden[0].contiguous())  # (B, T, D)
        weights = attention_weights(self.query(x), state.memory, state.memory_mask)  # (B, T, S)
        context, hidden = weights @ state.memory, [last]
        for before, layer in zip(state.hidden[1:], self.upper, strict=True):
            y, last = layer(torch.cat([self.dropout(x), context], -1), before.contiguous())
            x = x + y
            hidden.append(last)
        x = torch.tanh(self.out(torch.cat([x, context], -1)))
        return self.dropout(x), dataclasses.replace(state, hidden=tuple(hidden))

    def decode(self, tgt: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Return the logits after each target token: (B, T) -> (B, T, V), new state."""
        x, state = self.decode_hidden(tgt, state)
        return F.linear(x, self.embedding.weight), state
