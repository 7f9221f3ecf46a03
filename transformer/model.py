"""The whole encoder-decoder Transformer (Vaswani et al. 2017), to be read from top to bottom.

In this order: batches of ids, masks, attention, positions, layers, and the network built of them.
Source ids go in, logits of the next target token come out. Training, step-by-step decoding and
attention pictures all run the same `encode` and `decode`. Section and equation numbers are those
of the paper.

Shapes: B batch, S source, T target, P past target, L any length, Q queries, K keys, H heads,
C channels of a head, D = H x C model width, V vocabulary, R rows of a search.
Masks are boolean: True where a query may attend to a key. They broadcast to (B, H, Q, K).
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
    """Pad rows of ids with PAD_ID behind, to a multiple of `multiple`: -> (B, L), int64."""
    length = -(-max(len(row) for row in rows) // multiple) * multiple
    table = np.full((len(rows), length), PAD_ID, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)


def source_batch(sources: Sequence[Sequence[int]], multiple: int = 1) -> Tensor:
    """Append EOS_ID to each source and `pad` them, to a multiple of `multiple`: -> (B, S)."""
    return pad([[*row, EOS_ID] for row in sources], multiple)


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return a mask that is True at tokens and False at padding: (B, K) -> (B, 1, 1, K)."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n_queries: int, n_keys: int, device: torch.device | None = None) -> Tensor:
    """Return the mask that hides later tokens from earlier ones: -> (Q, K), False where hidden.

    The last query may attend to every key, each query before it to one key less. With more keys
    than queries, the first keys belong to tokens that were decoded in earlier steps.
    """
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(n_keys - n_queries)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute softmax(Q K^T / sqrt(C)) (eq. 1): (..., Q, C), (..., K, C) -> (..., Q, K).

    A key where `mask`, which broadcasts to (..., Q, K), is False gets weight exactly 0, since
    exp(-inf) is 0; a query without any other key gets NaN.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (..., Q, K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


@dataclasses.dataclass(frozen=True, slots=True)
class KV:
    """The projected keys and values that queries attend to: 2 x (B, H, K, C)."""

    key: Tensor
    value: Tensor

    def append(self, other: "KV") -> "KV":
        """Return these keys and values followed by those of `other`."""
        return KV(torch.cat([self.key, other.key], 2), torch.cat([self.value, other.value], 2))

    def select(self, rows: Tensor) -> "KV":
        """Return the given batch rows, in that order; `rows` are indices or a boolean mask."""
        return KV(self.key[rows], self.value[rows])


class MultiHeadAttention(nn.Module):
    """H attention heads in parallel, each on C = D / H channels (section 3.2.2); H divides D."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def _split(self, x: Tensor) -> Tensor:
        """Split the channels among the heads: (B, L, D) -> (B, H, L, C)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def kv(self, x: Tensor) -> KV:
        """Project a sequence to keys and values: (B, K, D) -> 2 x (B, H, K, C)."""
        return KV(self._split(self.key(x)), self._split(self.value(x)))

    def forward(
        self, x: Tensor, kv: KV, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Attend from each position of `x` to the keys: (B, Q, D), 2 x (B, H, K, C) -> (B, Q, D).

        `mask` broadcasts to (B, H, Q, K), True where a query may attend. `causal`, only without it
        and with Q = K, applies the causal mask without building it as a tensor.
        """
        query = self._split(self.query(x))  # (B, H, Q, C)
        heads = F.scaled_dot_product_attention(
            query, kv.key, kv.value, attn_mask=mask, is_causal=causal
        )
        return self.out(heads.transpose(1, 2).flatten(2))  # (B, Q, D)

    def weights(
        self, x: Tensor, kv: KV, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Return the attention weights, for pictures: the inputs of `forward` -> (B, H, Q, K)."""
        if causal:
            mask = causal_mask(x.size(1), kv.key.size(2), x.device)
        return attention_weights(self._split(self.query(x)), kv.key, mask)


def sinusoids(length: int, d_model: int) -> Tensor:
    """Compute the paper's position encodings (section 3.5): -> (L, D).

    Even channels hold sines, odd channels cosines; the wavelengths grow from 2 pi to
    10,000 x 2 pi positions.
    """
    positions = torch.arange(length, dtype=torch.float64)[:, None]  # (L, 1)
    rates = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10_000.0) / d_model))
    angles = positions * rates  # (L, D/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()  # (L, D)


class SinusoidalPositions(nn.Module):
    """Fixed position encodings. They are computed, so a checkpoint does not store them."""

    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Return encodings of `length` positions from `start`, fewer past `max_len`: -> (L, D)."""
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """Learned position embeddings, initialized with about unit length."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, start: int, length: int) -> Tensor:
        """Return encodings of `length` positions from `start`, fewer past `max_len`: -> (L, D)."""
        return self.table[start : start + length]


class Dropout(nn.Dropout):
    """Dropout that on a CPU draws one random byte an element, with p rounded to 1/256.

    p = 0.1 becomes 26/256. Drawing a float for each element took a tenth of a training step.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Zero elements at random in training, and scale the others to keep the mean; any shape."""
        threshold = min(255, round(256 * self.p))
        use_torch = x.device.type != "cpu" or torch.compiler.is_compiling()
        if not self.training or not threshold or use_torch:
            return super().forward(x)
        random = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-(2**63), None)
        kept = random.view(torch.uint8)[: x.numel()].view(x.shape) >= threshold
        return x * kept.to(x.dtype).mul_(256 / (256 - threshold))


def to_autocast_dtype(x: Tensor) -> Tensor:
    """Cast `x` to the type of autocast, if that is on: once, not in each layer that reads `x`."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x


class FeedForward(nn.Module):
    """Two linear layers with a nonlinearity between, at each position alone (section 3.3)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.activation = nn.ReLU(inplace=True) if config.activation == "relu" else nn.GELU()
        self.contract = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position: (B, L, D) -> (B, L, D)."""
        return self.contract(self.activation(self.expand(x)))


class Residual(nn.Module):
    """A residual connection around a sublayer, normalized after it (the paper) or before it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.post = config.norm == "post"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return norm(x + dropout(f(x))) or x + dropout(f(norm(x))): (B, L, D) -> same."""
        if self.post:
            return self.norm(x + self.dropout(sublayer(x)))
        return x + self.dropout(sublayer(to_autocast_dtype(self.norm(x))))


class EncoderLayer(nn.Module):
    """Self-attention over the source, then the feed-forward sublayer (section 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Apply the layer: (B, S, D), (B, 1, 1, S) -> (B, S, D)."""
        attend = self.self_attention
        x = self.self_residual(x, lambda y: attend(y, attend.kv(y), mask))
        return self.feed_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, cross-attention to the source, feed-forward."""

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
        """Apply the layer to T new positions; return them, and the keys and values of all so far.

        x (B, T, D), past 2 x (B, H, P, C) of the P positions before, memory 2 x (B, H, S, C),
        mask (T, P + T), memory_mask (B, 1, 1, S) -> (B, T, D), 2 x (B, H, P + T, C). `mask` is
        None where there is no past: then the causal mask needs no tensor.
        """
        present: list[KV] = []  # filled by the closure, since a residual returns only `x`

        def attend_to_target(y: Tensor) -> Tensor:
            new = self.self_attention.kv(y)
            present.append(past.append(new) if past is not None else new)
            return self.self_attention(y, present[0], mask, mask is None)

        x = self.self_residual(x, attend_to_target)
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, memory_mask))
        return self.feed_residual(x, self.feed_forward), present[0]


@dataclasses.dataclass(frozen=True, slots=True)
class DecoderState:
    """Keys and values of the source and of `length` past target tokens, by layer; never changed."""

    memory: tuple[KV, ...]  # of each layer: the projected encoder output, 2 x (B, H, S, C)
    memory_mask: Tensor  # (B, 1, 1, S)
    past: tuple[KV, ...] = ()  # of each layer: the target so far, 2 x (B, H, P, C); first empty
    length: int = 0  # P, the number of target tokens so far

    def select(self, rows: Tensor) -> "DecoderState":
        """Return the given batch rows, in that order: to reorder beams or drop finished rows."""
        return DecoderState(
            tuple(kv.select(rows) for kv in self.memory),
            self.memory_mask[rows],
            tuple(kv.select(rows) for kv in self.past),
            self.length,
        )

    def repeat(self, n_beams: int) -> "DecoderState":
        """Repeat each row N times, the copies next to each other: B -> B x N rows."""
        rows = torch.arange(self.memory_mask.size(0), device=self.memory_mask.device)
        return self.select(rows.repeat_interleave(n_beams))


class Transformer(nn.Module):
    """The network. One embedding table serves source, target and output (section 3.4).

    Its methods raise ValueError for more than `max_len` tokens.
    """

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
        # With the norm before each sublayer, nothing else normalizes the output of the last one.
        self.encoder_norm = nn.LayerNorm(d_model) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if pre else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize linear layers by Glorot, embeddings so that scaled ones have variance 1."""
        for name, parameter in self.named_parameters():
            if "embedding" in name:
                nn.init.normal_(parameter, std=self.config.d_model**-0.5)
            elif parameter.dim() > 1 and not name.startswith("positions"):
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        """Add scaled embeddings and position encodings: (B, L) -> (B, L, D).

        The first id is at position `start`. Raises ValueError past the last position.
        """
        end = start + ids.size(1)
        if end > self.config.max_len:
            raise ValueError(f"expected at most max_len = {self.config.max_len} tokens, got {end}")
        x = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(x + self.positions(start, ids.size(1)))

    def encode(self, src: Tensor) -> DecoderState:
        """Encode the source: (B, S) -> the state that decoding starts from."""
        mask = padding_mask(src, PAD_ID)
        x = self.embed(src)  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, mask)
        if self.config.norm == "pre":
            x = to_autocast_dtype(self.encoder_norm(x))
        layers = cast(Iterable[DecoderLayer], self.decoder)
        return DecoderState(tuple(layer.cross_attention.kv(x) for layer in layers), mask)

    def decode_hidden(self, tgt: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run the decoder layers on the next T target tokens: (B, T) -> (B, T, D), new state."""
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
        """Score what follows each of the next T target tokens: (B, T) -> (B, T, V), new state.

        T may be one token or the whole target. Row t of the logits scores the token after token t.
        """
        x, state = self.decode_hidden(tgt, state)
        return F.linear(x, self.embedding.weight), state

    def greedy_step(self, ids: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Return the likeliest token after `ids`, never padding or start: (R,) -> (R,), state."""
        logits, state = self.decode(ids[:, None], state)  # (R, 1, V)
        logits[..., [PAD_ID, BOS_ID]] = -math.inf
        return logits[:, -1].argmax(-1), state

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return the next-token logits of a whole target: (B, S), (B, T) -> (B, T, V)."""
        return self.decode(tgt, self.encode(src))[0]

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return self.embedding.weight.device
