"""The encoder-decoder Transformer (Vaswani et al. 2017), whole, to be read from top to bottom.

Ids as the encoder reads them, masks, attention, positions, layers, and the network of them:
source ids in, logits of the next token out. Training, step-by-step decoding and pictures all run
the same `encode` and `decode`. Section and equation numbers are the paper's.

Shapes: B batch, S source, T target, P past target, L any length, Q queries, K keys, H heads,
C channels of a head, D = H x C model width, V vocabulary, R rows of a search.
Masks are boolean, True = may look, broadcastable to (B, H, Q, K).
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import BOS_ID, EOS_ID, PAD_ID, ModelConfig


def pad(rows: Sequence[Sequence[int]], multiple: int = 1) -> Tensor:
    """Rows of ids, filled up with padding on the right: -> (B, L), L a multiple as asked."""
    length = -(-max(len(row) for row in rows) // multiple) * multiple
    table = np.full((len(rows), length), PAD_ID, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)


def source_batch(sources: Sequence[Sequence[int]], multiple: int = 1) -> Tensor:
    """Sources as the encoder reads them, each with its end mark: -> (B, S)."""
    return pad([[*row, EOS_ID] for row in sources], multiple)


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """True where a token stands, False where padding does: (B, K) -> (B, 1, 1, K)."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n_queries: int, n_keys: int, device: torch.device | None = None) -> Tensor:
    """The no-peek mask: -> (Q, K). The last query sees every key, each earlier one key less.

    With more keys than queries, the first keys are the past of a step-by-step decoding.
    """
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(n_keys - n_queries)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(Q K^T / sqrt(C)), written out (eq. 1): (..., Q, C), (..., K, C) -> (..., Q, K).

    A masked key gets weight exactly 0, since exp(-inf) is 0.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (..., Q, K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


@dataclasses.dataclass(frozen=True, slots=True)
class KV:
    """Projected keys and values, 2 x (B, H, K, C): what a query looks at."""

    key: Tensor
    value: Tensor

    def append(self, other: "KV") -> "KV":
        """These keys and values followed by others."""
        return KV(torch.cat([self.key, other.key], 2), torch.cat([self.value, other.value], 2))

    def select(self, rows: Tensor) -> "KV":
        """The named batch rows, in that order: (B,) indices or a boolean mask."""
        return KV(self.key[rows], self.value[rows])


class MultiHeadAttention(nn.Module):
    """H scaled dot products side by side, each on its own C channels (section 3.2.2)."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def _split(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, H, L, C)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def kv(self, x: Tensor) -> KV:
        """Projects what will be looked at: (B, K, D) -> 2 x (B, H, K, C)."""
        return KV(self._split(self.key(x)), self._split(self.value(x)))

    def forward(
        self, x: Tensor, kv: KV, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """(B, Q, D), 2 x (B, H, K, C) -> (B, Q, D); `causal` is the no-peek mask, as no tensor."""
        query = self._split(self.query(x))  # (B, H, Q, C)
        heads = F.scaled_dot_product_attention(
            query, kv.key, kv.value, attn_mask=mask, is_causal=causal
        )
        return self.out(heads.transpose(1, 2).flatten(2))  # (B, Q, D)

    def weights(
        self, x: Tensor, kv: KV, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Who looks where, for pictures: (B, Q, D), 2 x (B, H, K, C) -> (B, H, Q, K)."""
        if causal:
            mask = causal_mask(x.size(1), kv.key.size(2), x.device)
        return attention_weights(self._split(self.query(x)), kv.key, mask)


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


class Dropout(nn.Dropout):
    """Drops elements with probability p, on a CPU p rounded to 1/256 (0.1 to 26/256).

    One random byte an element is enough; drawing a float for each took a tenth of a step.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Any shape; what is kept is scaled so that the mean stays."""
        dropped = min(255, round(256 * self.p))
        is_plain = x.device.type != "cpu" or torch.compiler.is_compiling()
        if not self.training or not dropped or is_plain:
            return super().forward(x)
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-(2**63), None)
        kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
        return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


def in_product_type(x: Tensor) -> Tensor:
    """Under autocast in the type of the products that read it: cast once, not by each of them."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between, each position by itself (section 3.3)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.activation = nn.ReLU(inplace=True) if config.activation == "relu" else nn.GELU()
        self.contract = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.contract(self.activation(self.expand(x)))


class Residual(nn.Module):
    """Adds a sublayer's output to its input and normalises, after (paper) or before."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.post = config.norm == "post"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """post: norm(x + f(x)); pre: x + f(norm(x)): (B, L, D) -> (B, L, D)."""
        if self.post:
            return self.norm(x + self.dropout(sublayer(x)))
        return x + self.dropout(sublayer(in_product_type(self.norm(x))))


class EncoderLayer(nn.Module):
    """Self-attention over the source, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D), (B, 1, 1, S) -> (B, S, D)."""
        attend = self.self_attention
        x = self.self_residual(x, lambda y: attend(y, attend.kv(y), mask))
        return self.feed_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention over the source, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.self_residual = Residual(config)
        self.cross_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(
        self, x: Tensor, past: KV | None, memory: KV, mask: Tensor | None, memory_mask: Tensor
    ) -> tuple[Tensor, KV]:
        """Gives the new target positions, and the keys and values of all of them so far.

        x (B, T, D), past 2 x (B, H, P, C) of the P positions before, memory 2 x (B, H, S, C),
        mask (T, P + T), memory_mask (B, 1, 1, S) -> (B, T, D), 2 x (B, H, P + T, C). Without a
        past the no-peek mask needs no tensor.
        """
        seen: list[KV] = []

        def look_back(y: Tensor) -> Tensor:
            new = self.self_attention.kv(y)
            seen.append(past.append(new) if past is not None else new)
            return self.self_attention(y, seen[0], mask, mask is None)

        x = self.self_residual(x, look_back)
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, memory_mask))
        return self.feed_residual(x, self.feed_forward), seen[0]


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
        if self.config.norm == "pre":
            x = in_product_type(self.encoder_norm(x))
        layers = cast(Iterable[DecoderLayer], self.decoder)
        return DecoderState(tuple(layer.cross_attention.kv(x) for layer in layers), mask)

    def read(self, tgt: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Reads the next T target tokens, be it one or all: (B, T) -> (B, T, D), new state."""
        length = state.length + tgt.size(1)
        mask = causal_mask(tgt.size(1), length, tgt.device) if state.past else None
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

    def best(self, ids: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """The likeliest token after one more, never padding or start: (R,) -> (R,), new state."""
        logits, state = self.decode(ids[:, None], state)  # (R, 1, V)
        logits[..., [PAD_ID, BOS_ID]] = -math.inf
        return logits[:, -1].argmax(-1), state

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """All next-token logits at once, as in training: (B, S), (B, T) -> (B, T, V)."""
        return self.decode(tgt, self.encode(src))[0]

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.embedding.weight.device
