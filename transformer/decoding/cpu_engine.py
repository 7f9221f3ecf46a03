"""The inference twin of the model: the same function, arranged for decoding and nothing else.

Projections that read the same input are one packed matrix; keys and values of the target go into
a buffer in place; those of the source are computed once for all layers, and shared by the beams
of a sentence. The plain model is its oracle: in float32 both give the same tokens.

Shapes: B sentences, N beams, R = B x N rows, S source, P target positions in the buffer, T target
so far, L layers, H heads, C channels of a head, D model width, V vocabulary.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import PAD_ID, ComputeType
from transformer.decoding import native
from transformer.decoding.linear import (
    Activation,
    Linear,
    Sublayer,
    concatenate,
    fits_native,
    frozen_copy,
    layer_norm,
    pack,
    pick_compute_type,
    weight_and_bias,
)
from transformer.model import DecoderLayer, EncoderLayer, Transformer

N_NEVER = native.N_NEVER
RUN = 64  # tokens whose highest logit stands for them in the search for the best
GROWTH = 16  # positions that the buffer of the target grows by: one vector of the native kernel


@dataclasses.dataclass(frozen=True, slots=True)
class EngineState:
    """What decoding carries. The buffers are shared: of two ways to go on, take only one."""

    memory_keys: Tensor  # of the source: (L, B, H, C, S)
    memory_values: Tensor  # (L, B, H, S, C)
    mask: Tensor | None  # native: source lengths (B,); else 0 or -inf (B, H, 1, S), None: all seen
    past_keys: Tensor  # of the target: (L, R, H, C, P)
    past_values: Tensor  # (L, R, H, P, C)
    length: int = 0  # T
    n_beams: int = 1

    def repeat(self, n_beams: int) -> "EngineState":
        """N rows for each sentence, one after the other; the source is not copied."""
        pasts = self.past_keys, self.past_values
        keys, values = (past.repeat_interleave(n_beams, 1) for past in pasts)
        return dataclasses.replace(self, past_keys=keys, past_values=values, n_beams=n_beams)

    def select(self, rows: Tensor) -> "EngineState":
        """The named rows, in that order; the N rows of a sentence stay together: (R,) indices."""
        if torch.equal(rows, torch.arange(self.past_keys.size(1))):
            return self
        keys, values = (past.index_select(1, rows) for past in (self.past_keys, self.past_values))
        state = dataclasses.replace(self, past_keys=keys, past_values=values)
        kept = rows[:: self.n_beams] // self.n_beams
        if torch.equal(kept, torch.arange(self.memory_keys.size(1))):
            return state
        return dataclasses.replace(
            state,
            memory_keys=self.memory_keys.index_select(1, kept),
            memory_values=self.memory_values.index_select(1, kept),
            mask=self.mask if self.mask is None else self.mask.index_select(0, kept),
        )

    def with_room(self) -> "EngineState":
        """The same with space for one more target position."""
        if self.length < self.past_keys.size(-1):
            return self
        keys = F.pad(self.past_keys, (0, GROWTH))
        values = F.pad(self.past_values, (0, 0, 0, GROWTH))
        return dataclasses.replace(self, past_keys=keys, past_values=values)

    def longer(self) -> "EngineState":
        """The same after one more target position was written."""
        return dataclasses.replace(self, length=self.length + 1)


class _Layer:
    """The packed maps of an encoder layer, or of a decoder layer, which has two more."""

    def __init__(self, layer: EncoderLayer | DecoderLayer, kind: ComputeType | None) -> None:
        attend, feed = layer.self_attention, layer.feed_forward
        activation: Activation = "relu" if isinstance(feed.activation, nn.ReLU) else "gelu"
        scale = (attend.query.out_features // attend.n_heads) ** -0.5  # of queries, from eq. 1
        inner = concatenate(
            weight_and_bias(attend.query, scale),
            weight_and_bias(attend.key),
            weight_and_bias(attend.value),
        )
        self.self_in = pack(*inner, kind)
        self.self_out = pack(*weight_and_bias(attend.out), kind)
        self.expand = pack(*weight_and_bias(feed.expand), kind, activation)
        self.contract = pack(*weight_and_bias(feed.contract), kind)
        self.self_residual = Sublayer(layer.self_residual)
        self.feed_residual = Sublayer(layer.feed_residual)
        if isinstance(layer, DecoderLayer):
            self.cross_query = pack(*weight_and_bias(layer.cross_attention.query, scale), kind)
            self.cross_out = pack(*weight_and_bias(layer.cross_attention.out), kind)
            self.cross_residual = Sublayer(layer.cross_residual)

    def feed(self, x: Tensor) -> Tensor:
        """The feed-forward sublayer: (rows, D) -> (rows, D)."""
        y = self.contract(self.expand(self.feed_residual.before(x)))
        return self.feed_residual.after(x, y)


class Engine:
    """A model packed for decoding on a CPU; later changes of the model do not reach it."""

    @torch.inference_mode()
    def __init__(
        self, model: Transformer, compute_type: ComputeType = "auto", *, use_native: bool = True
    ) -> None:
        """Packs the weights. `use_native=False` keeps int8 on PyTorch's own kernels."""
        config = self.config = model.config
        self.compute_type = pick_compute_type(compute_type, config)
        self.is_native = self.compute_type == "int8" and use_native and fits_native(config)
        kind = None if self.is_native else self.compute_type
        self._n_heads, self._channels = config.n_heads, config.d_model // config.n_heads
        self._table = model.embedding.weight.detach().to(torch.float32, copy=True)
        self._positions = model.positions(0, config.max_len).detach().float().contiguous()
        self._encoder = [_Layer(cast(EncoderLayer, layer), kind) for layer in model.encoder]
        layers = [cast(DecoderLayer, layer) for layer in model.decoder]
        self._decoder = [_Layer(layer, kind) for layer in layers]
        cross = [layer.cross_attention for layer in layers]
        self._memory = pack(
            *concatenate(*(weight_and_bias(m) for a in cross for m in (a.key, a.value))), kind
        )
        self._output = pack(self._table, torch.zeros(config.vocab_size), kind)
        self._encoder_norm, self._decoder_norm = (
            frozen_copy(model.encoder_norm),
            frozen_copy(model.decoder_norm),
        )
        self._native: tuple[native.NativeStack, native.NativeStack] | None = None
        if self.is_native:
            self._native = (
                self._native_stack(self._encoder, self._memory, self._encoder_norm),
                self._native_stack(self._decoder, self._output, self._decoder_norm),
            )

    def _native_stack(
        self, layers: Sequence[_Layer], output: Linear, norm: nn.Module
    ) -> native.NativeStack:
        maps = "self_in", "self_out", "expand", "contract", "cross_query", "cross_out"
        residuals = "self_residual", "feed_residual", "cross_residual"
        native_layers = [
            native.NativeLayer(
                [getattr(layer, name) for name in maps if hasattr(layer, name)],
                [getattr(layer, name).norm for name in residuals if hasattr(layer, name)],
            )
            for layer in layers
        ]
        last = norm if isinstance(norm, nn.LayerNorm) else native_layers[-1].norms[-1]
        tables = self._table, self._positions
        return native.NativeStack(
            native_layers, tables, cast(native.NativeLinear, output), last, self.config
        )

    def _embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        x = F.embedding(ids, self._table)
        return x.mul_(math.sqrt(self.config.d_model)).add_(positions)

    def encode(self, src: Tensor) -> EngineState:
        """Reads the source, once: (B, S) -> the state that decoding starts from."""
        n_rows, length = src.shape
        self._check(length)
        seen = src != PAD_ID  # (B, S)
        if self._native is not None:
            lengths = seen.sum(1, dtype=torch.int32)
            return _start(*self._native[0].encode(src, lengths, len(self._decoder)), lengths)
        mask = None if seen.all() else seen[:, None, None]
        x = self._embed(src, self._positions[:length]).flatten(0, 1)  # (B S, D)
        for layer in self._encoder:
            merged = layer.self_in(layer.self_residual.before(x))
            query, key, value = self._split(merged, n_rows, 3)
            heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)
            y = layer.self_out(heads.transpose(1, 2).reshape(n_rows * length, -1))
            x = layer.feed(layer.self_residual.after(x, y))
        merged = self._memory(layer_norm(self._encoder_norm, x))
        memory = self._split(merged, n_rows, 2 * len(self._decoder))  # (2 L, B, H, S, C)
        mask = None
        if not seen.all():
            bias = torch.zeros(src.shape).masked_fill_(~seen, -math.inf)
            mask = bias[:, None, None].repeat(1, self._n_heads, 1, 1)  # (B, H, 1, S)
        keys = memory[::2].transpose(3, 4).contiguous()  # (L, B, H, C, S)
        return _start(keys, memory[1::2].contiguous(), mask)

    @property
    def device(self) -> torch.device:
        """Where the engine computes."""
        return self._table.device

    def _check(self, length: int) -> None:
        limit = self.config.max_len
        if length > limit:
            raise ValueError(f"expected at most max_len = {limit} tokens, got {length}")

    def _split(self, x: Tensor, n_rows: int, n_parts: int) -> Tensor:
        """(B S, n D) -> (n, B, H, S, C)."""
        return x.view(n_rows, -1, n_parts, self._n_heads, self._channels).permute(2, 0, 3, 1, 4)

    def decode(self, tgt: Tensor, state: EngineState) -> tuple[Tensor, EngineState]:
        """What may follow the last of the next T target tokens: (R, T) -> (R, 1, V), new state."""
        self._check(state.length + tgt.size(1))
        for ids in tgt.unbind(1):
            state = state.with_room()
            if self._native is not None:
                logits = self._native[1].logits(ids, _cache(state))
            else:
                logits = self._output(self._step(ids, state))
            state = state.longer()
        return logits[:, None], state

    def best(self, ids: Tensor, state: EngineState) -> tuple[Tensor, EngineState]:
        """The likeliest token after one more, no score: (R,) -> (R,), new state.

        Padding and start, the first ids, never follow.
        """
        self._check(state.length + 1)
        state = state.with_room()
        if self._native is not None:
            return self._native[1].best(ids, _cache(state)), state.longer()
        logits = self._output(self._step(ids, state))
        return N_NEVER + fast_argmax(logits[:, N_NEVER:]), state.longer()

    def _step(self, ids: Tensor, state: EngineState) -> Tensor:
        """Reads one token a row and writes its keys and values: (R,) -> (R, D)."""
        n_rows, time = len(ids), state.length
        per_head = n_rows * self._n_heads, self._channels
        x = self._embed(ids, self._positions[time])
        for i, layer in enumerate(self._decoder):
            merged = layer.self_in(layer.self_residual.before(x))
            query, key, value = merged.view(n_rows, 3, self._n_heads, -1).unbind(1)  # (R, H, C)
            state.past_keys[i, ..., time], state.past_values[i, ..., time, :] = key, value
            keys = state.past_keys[i].view(*per_head, -1)[..., : time + 1]  # (R H, C, T)
            values = state.past_values[i].view(per_head[0], -1, self._channels)[:, : time + 1]
            heads = _attend(query.reshape(per_head[0], 1, -1), keys, values, None)
            x = layer.self_residual.after(x, layer.self_out(heads.view(n_rows, -1)))
            query = layer.cross_query(layer.cross_residual.before(x))
            y = layer.cross_out(self._cross_attention(query, state, i))
            x = layer.feed(layer.cross_residual.after(x, y))
        return layer_norm(self._decoder_norm, x)

    def _cross_attention(self, query: Tensor, state: EngineState, i: int) -> Tensor:
        """Attention over the source, for the N beams of a sentence together: (R, D) -> (R, D)."""
        n_heads, n_beams, channels = self._n_heads, state.n_beams, self._channels
        groups = len(query) // n_beams * n_heads  # B H
        query = query.view(-1, n_beams, n_heads, channels).transpose(1, 2)
        keys = state.memory_keys[i].view(groups, channels, -1)
        values = state.memory_values[i].view(groups, -1, channels)
        bias = None if state.mask is None else state.mask.view(groups, 1, -1)
        heads = _attend(query.reshape(groups, n_beams, channels), keys, values, bias)
        heads = heads.view(-1, n_heads, n_beams, channels).transpose(1, 2)
        return heads.reshape(-1, n_heads * channels)


def _start(keys: Tensor, values: Tensor, mask: Tensor | None) -> EngineState:
    """The first state, with an empty buffer for the target; padding with garbage is harmless."""
    past = keys.new_empty(*keys.shape[:4], GROWTH)
    return EngineState(
        keys, values, mask, past, past.transpose(3, 4).clone(memory_format=torch.contiguous_format)
    )


def _attend(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> Tensor:
    """(G, Q, C), (G, C, K), (G, K, C), (G, 1, K) -> (G, Q, C), for G = B x H."""
    scores = torch.bmm(query, keys) if bias is None else torch.baddbmm(bias, query, keys)
    return torch.bmm(scores.softmax(-1), values)


def _cache(state: EngineState) -> native.Cache:
    assert state.mask is not None
    return native.Cache(
        state.past_keys, state.past_values, state.memory_keys, state.memory_values,
        state.mask, state.length,
    )  # fmt: skip


def fast_argmax(logits: Tensor) -> Tensor:
    """argmax over the vocabulary, by way of the highest in each run: (R, V) -> (R,).

    Of equals the first. On a CPU five to ten times as fast as `argmax`, which reads one by one.
    """
    n_runs = logits.size(1) // RUN
    if n_runs == 0:
        return logits.argmax(-1)
    end = n_runs * RUN
    runs = logits[:, :end].view(-1, n_runs, RUN)
    best = torch.cat([runs.amax(-1), logits[:, end:]], dim=1).argmax(-1)  # a run, or a later token
    inside = runs[torch.arange(len(runs), device=runs.device), best.clamp(max=n_runs - 1)]
    return torch.where(best < n_runs, best * RUN + inside.argmax(-1), best - n_runs + end)
