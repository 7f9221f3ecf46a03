"""The inference twin of the model for a GPU: one step in static shapes, replayed as a CUDA graph.

Rows, source and target are padded to a few sizes, and the position is a tensor, so that a step is
the same list of kernels each time: captured once for each size, and then launched as one. Written
without a GPU at hand: tested on a CPU only, where the same steps run without a capture. The plain
model is its oracle: in float32 both give the same tokens. Knows tensors; no text, no file.

Shapes: B sentences, N beams, R = B x N rows, S source, P target positions in the buffer, T target,
L layers, H heads, C channels of a head, D model width, V vocabulary; lower case before padding.
"""

import copy
import functools
import math
import threading
from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import BOS_ID, EOS_ID, PAD_ID, ComputeType, UserError
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer
from transformer.slots import FEWEST_TARGET, GraphState, Pool, Shape, Slot, power

N_NEVER = max(PAD_ID, BOS_ID) + 1  # the first ids, padding and start, never follow a token
CHECK = 8  # steps between two looks at which rows have ended: each look waits for the GPU
WARM_UPS = 3  # steps in a slot before its capture, which costs as much as many of them
KEPT = 0.25  # of the GPU's memory, for slots that are not in use
KEPT_ELSEWHERE = 2**28  # bytes

Step = Callable[[Slot], None]
_alone = threading.Lock()  # a process captures one graph at a time, on a stream of its own


def pick_dtype(compute_type: ComputeType, device: torch.device) -> torch.dtype:
    """The type of weights and activations; `auto` is bfloat16 on a GPU, float32 elsewhere.

    A GPU without bfloat16 takes float16 in its place; int8 is a UserError.
    """
    if compute_type == "int8":
        raise UserError(
            f"expected auto, float32 or bfloat16 on {device.type}, got int8; it is for a CPU"
        )
    on_gpu = device.type == "cuda"
    if compute_type == "float32" or (compute_type == "auto" and not on_gpu):
        return torch.float32
    able = not on_gpu or torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if able else torch.float16


class _Map:
    """Linear maps of one input as one matrix; the first is multiplied by a factor."""

    def __init__(self, maps: Iterable[nn.Linear], dtype: torch.dtype, factor: float = 1.0) -> None:
        parts = [(one.weight.detach(), one.bias.detach()) for one in maps]
        parts[0] = parts[0][0] * factor, parts[0][1] * factor
        self._weight = torch.cat([weight for weight, _ in parts]).to(dtype)
        self._bias = torch.cat([bias for _, bias in parts]).to(dtype)

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self._weight, self._bias)


class _Capture:
    """Runs a step on a GPU: the first ones of a slot one kernel at a time, then as a graph."""

    def __init__(self, step: Step, device: torch.device) -> None:
        self._step, self._device = step, device
        self._aside = torch.cuda.Stream(device)

    def __call__(self, slot: Slot) -> None:
        """Launches one step."""
        if slot.launch is None:
            with _alone:
                self._prepare(slot)
        if slot.launch is not None:
            slot.launch()

    def _prepare(self, slot: Slot) -> None:
        """Runs the step aside, or after enough of that records it without running it."""
        if slot.n_steps < WARM_UPS:
            slot.n_steps += 1
            now = torch.cuda.current_stream(self._device)
            self._aside.wait_stream(now)
            with torch.cuda.stream(self._aside):
                self._step(slot)
            now.wait_stream(self._aside)
            return
        graph, mode = torch.cuda.CUDAGraph(), "thread_local"  # what other threads do is no error
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, stream=self._aside, capture_error_mode=mode),
        ):
            self._step(slot)
        slot.launch = graph.replay


class GraphEngine:
    """A model packed for decoding on a GPU; later changes of the model do not reach it."""

    @torch.inference_mode()
    def __init__(self, model: Transformer, compute_type: ComputeType = "auto") -> None:
        """Packs the weights. On another device than a GPU it is slow, and for tests."""
        config = self.config = model.config
        self.device = model.device
        dtype = self.dtype = pick_dtype(compute_type, self.device)
        own = copy.deepcopy(model).eval().to(dtype)
        self._encoder = [cast(EncoderLayer, one) for one in own.encoder]
        self._decoder = [cast(DecoderLayer, one) for one in own.decoder]
        self._encoder_norm, self._decoder_norm = own.encoder_norm, own.decoder_norm
        self._table = own.embedding.weight.detach()
        positions = own.positions(0, config.max_len).detach()
        longest = power(config.max_len, FEWEST_TARGET)
        self._positions = F.pad(positions, (0, 0, 0, longest - config.max_len))
        self._places = torch.arange(longest, device=self.device)
        self._pack(model)
        on_gpu = self.device.type == "cuda"
        room = KEPT * torch.cuda.mem_get_info(self.device)[1] if on_gpu else KEPT_ELSEWHERE
        self._pool = Pool(config, self._table, room)
        self._run: Step = _Capture(self._step, self.device) if on_gpu else self._step

    def _pack(self, model: Transformer) -> None:
        """Merges the maps that read the same input, and puts 1 / sqrt(C) of eq. 1 into queries."""
        factor = (model.config.d_model // model.config.n_heads) ** -0.5
        encoder = [cast(EncoderLayer, one).self_attention for one in model.encoder]
        layers = [cast(DecoderLayer, one) for one in model.decoder]
        cross = [one.cross_attention for one in layers]
        self._encoder_in, self._decoder_in = (
            [_Map((a.query, a.key, a.value), self.dtype, factor) for a in attentions]
            for attentions in (encoder, [one.self_attention for one in layers])
        )
        self._cross_query = [_Map([a.query], self.dtype, factor) for a in cross]
        self._memory = _Map((m for a in cross for m in (a.key, a.value)), self.dtype)

    @torch.inference_mode()
    def encode(self, src: Tensor) -> GraphState:
        """Reads the source, once: (b, s) -> the state that decoding starts from."""
        if src.size(1) > self.config.max_len:
            raise ValueError(
                f"expected at most max_len = {self.config.max_len} tokens, got {src.size(1)}"
            )
        lease = self._pool.lend(Shape.holding(src))
        slot = lease.slot
        padded = slot.read_source(src)  # (B, S)
        x = self._embed(padded, self._positions[: padded.size(1)])  # (B, S, D)
        for i, layer in enumerate(self._encoder):
            x = layer.self_residual(x, functools.partial(self._look_around, i, slot))
            x = layer.feed_residual(x, layer.feed_forward)
        merged = self._split(self._memory(self._encoder_norm(x)), 2 * len(self._decoder))
        slot.memory.copy_(merged.unflatten(0, (-1, 2)))  # (L, 2, B, H, S, C)
        return GraphState(lease, len(src))

    def _embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        x = F.embedding(ids, self._table)
        return torch.add(positions, x, alpha=math.sqrt(self.config.d_model))

    def _split(self, x: Tensor, n_parts: int) -> Tensor:
        """(B, S, n D) -> (n, B, H, S, C)."""
        return x.unflatten(-1, (n_parts, self.config.n_heads, -1)).permute(2, 0, 3, 1, 4)

    def _look_around(self, i: int, slot: Slot, x: Tensor) -> Tensor:
        """Self-attention of the encoder: (B, S, D) -> (B, S, D)."""
        query, key, value = self._split(self._encoder_in[i](x), 3)
        heads = _attend(query, key, value, slot.memory_bias)  # (B, H, S, C)
        return self._encoder[i].self_attention.out(heads.transpose(1, 2).flatten(2))

    @torch.inference_mode()
    def decode(self, tgt: Tensor, state: GraphState) -> tuple[Tensor, GraphState]:
        """What may follow the last of the next T target tokens: (r, T) -> (r, 1, V), new state."""
        for ids in tgt.unbind(1):
            state = self._read(ids, state)
        return state.slot.logits[: state.n_rows, None].clone(), state

    @torch.inference_mode()
    def best(self, ids: Tensor, state: GraphState) -> tuple[Tensor, GraphState]:
        """The likeliest token after one more, no score: (r,) -> (r,), new state.

        Padding and start, the first ids, never follow.
        """
        state = self._read(ids, state)
        return state.slot.best[: state.n_rows].clone(), state

    def _read(self, ids: Tensor, state: GraphState) -> GraphState:
        state = state.with_room()
        state.slot.ids[: state.n_rows] = ids
        state.slot.position.fill_(state.length)
        self._run(state.slot)
        return state.longer(1)

    @torch.inference_mode()
    def greedy(self, src: Tensor, tokens: Tensor, limits: Tensor) -> list[tuple[int, ...]]:
        """Greedy search: the ids of each row after the start mark, a forced prefix included.

        (b, s), the start mark and the prefix (b, 1 + p), most tokens of each row, end mark
        included (b,) -> b tuples. Looks at the outcome every CHECK steps only.
        """
        start, top = tokens.size(1), int(limits.max())
        found = tokens.new_full((len(src), top + 1), EOS_ID)
        found[:, :start] = tokens
        state = self.encode(src)
        for ids in tokens[:, :-1].unbind(1):
            state = self._read(ids, state)
        rows = torch.arange(len(src), device=self.device)  # (r,) which sentence a row searches
        state = _started(state.with_room(), tokens[:, -1], limits)
        while len(rows):
            state = self._go_on(state, top)
            alive = (~state.slot.ended[: len(rows)]).nonzero().flatten()
            if not len(alive) or state.worth_moving(len(alive)):
                chosen = state.slot.tokens[: len(rows), start : state.length + 1]
                found[rows, start : state.length + 1] = chosen
                rows, state = rows[alive], state.select(alive) if len(alive) else state
        return [tuple(row[1 : row.index(EOS_ID, start)]) for row in found.tolist()]

    def _go_on(self, state: GraphState, top: int) -> GraphState:
        """Up to CHECK steps in one slot, without a look at what comes out."""
        state = state.with_room()
        n_steps = min(CHECK, top - state.length, state.slot.shape.target - state.length)
        for _ in range(n_steps):
            self._run(state.slot)
        return state.longer(n_steps)

    def _step(self, slot: Slot) -> None:
        """Reads one token a row, and writes its keys and values and what comes next.

        Looks at no value, so that it can be captured: all of it happens in tensors of the slot.
        """
        x = self._embed(slot.ids, self._positions.index_select(0, slot.position))  # (R, D)
        future = self._places[: slot.shape.target] > slot.position
        bias = x.new_zeros(slot.shape.target).masked_fill_(future, -math.inf)  # (P,)
        for i, layer in enumerate(self._decoder):
            x = layer.self_residual(x, functools.partial(self._look_back, i, slot, bias))
            x = layer.cross_residual(x, functools.partial(self._look_across, i, slot))
            x = layer.feed_residual(x, layer.feed_forward)
        slot.logits.copy_(self._logits(self._decoder_norm(x)))
        slot.best.copy_(slot.logits[:, N_NEVER:].argmax(-1)).add_(N_NEVER)
        slot.position.add_(1)
        goes_on = (slot.position < slot.limits).logical_and_(~slot.ended)
        slot.ids.copy_(torch.where(goes_on, slot.best, EOS_ID))
        slot.ended.logical_or_(slot.ids == EOS_ID)
        slot.tokens.index_copy_(1, slot.position, slot.ids[:, None])

    def _look_back(self, i: int, slot: Slot, bias: Tensor, x: Tensor) -> Tensor:
        """Self-attention over the target so far: (R, D) -> (R, D)."""
        merged = self._decoder_in[i](x).unflatten(-1, (3, self.config.n_heads, -1))
        query, past = merged[:, :1], slot.past[i]  # (R, 1, H, C), (2, R, H, P, C)
        past.index_copy_(3, slot.position, merged[:, 1:].transpose(0, 1).unsqueeze(3))
        heads = _attend(query.transpose(1, 2), past[0], past[1], bias)  # (R, H, 1, C)
        return self._decoder[i].self_attention.out(heads.flatten(1))

    def _look_across(self, i: int, slot: Slot, x: Tensor) -> Tensor:
        """Attention over the source, for the N beams of a sentence together: (R, D) -> (R, D)."""
        heads, key, value = self.config.n_heads, *slot.memory[i]
        query = self._cross_query[i](x).view(-1, slot.shape.n_beams, heads, key.size(-1))
        found = _attend(query.transpose(1, 2), key, value, slot.memory_bias)  # (B, H, N, C)
        return self._decoder[i].cross_attention.out(found.transpose(1, 2).reshape(x.shape))

    def _logits(self, x: Tensor) -> Tensor:
        """Scores in float32, so that bfloat16 makes no ties: (R, D) -> (R, V)."""
        if x.is_cuda and x.dtype != torch.float32:
            return torch.mm(x, self._table.t(), out_dtype=torch.float32)
        return F.linear(x, self._table)


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """(B, H, Q, C), 2 x (B, H, K, C), 0 or -inf (..., K) -> (B, H, Q, C)."""
    bias = bias.expand(query.size(0), query.size(1), query.size(2), -1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)


def _started(state: GraphState, ids: Tensor, limits: Tensor) -> GraphState:
    """The state before a greedy search that goes on after those ids: (r,), (r,)."""
    slot, n = state.slot, state.n_rows
    slot.ids[:n], slot.limits[:n], slot.ended[:n] = ids, limits, False
    slot.position.fill_(state.length)
    return state
