"""The buffers of the GPU engine: padded to a few sizes, kept at their addresses, lent and reused.

A captured graph reads and writes the memory that it was captured on. So a state of decoding
borrows a slot, its graph included, and gives it back when nobody holds the state any more. Knows
tensors and sizes; not what is computed in them.

Shapes: B sentences, N beams, R = B x N rows, S source, P target positions in the buffer, T target
so far, L layers, H heads, C channels of a head, V vocabulary. B, S and P are padded.
"""

import dataclasses
import math
import threading
import weakref
from collections.abc import Callable

import torch
from torch import Tensor

from transformer.config import EOS_ID, PAD_ID, ModelConfig

FEWEST_SOURCE, FEWEST_TARGET = 8, 32  # the least sizes of S and P


def bucket(n: int, least: int = 1) -> int:
    """The size that n is padded to: a power of two or, from 24 on, three quarters of one."""
    size = max(least, 1 << (n - 1).bit_length())
    three_quarters = size // 4 * 3
    return three_quarters if size >= 32 and max(n, least) <= three_quarters else size


def power(n: int, least: int) -> int:
    """The power of two that n is padded to."""
    return max(least, 1 << (n - 1).bit_length())


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """The padded sizes that a graph is captured for."""

    n_sentences: int  # B
    n_beams: int  # N
    source: int  # S
    target: int  # P

    @classmethod
    def holding(cls, src: Tensor) -> "Shape":
        """The sizes for a source, and for a target about as long: (B, S)."""
        n, length = src.shape
        return cls(bucket(n), 1, bucket(length, FEWEST_SOURCE), power(length, FEWEST_TARGET))


class Slot:
    """The tensors of one shape, and how to launch a step on them.

    They start at 0: what is masked must be finite, as 0 times infinity is not 0.
    """

    def __init__(self, shape: Shape, config: ModelConfig, like: Tensor) -> None:
        """On the device and in the type of a tensor."""
        n_rows, n_layers = shape.n_sentences * shape.n_beams, config.n_decoder_layers
        heads, channels = config.n_heads, config.d_model // config.n_heads
        n, source, target = shape.n_sentences, shape.source, shape.target
        self.shape = shape
        self.memory = like.new_zeros(n_layers, 2, n, heads, source, channels)  # keys, values
        self.memory_bias = like.new_zeros(n, 1, 1, source)  # 0, or -inf where padding stands
        self.past = like.new_zeros(n_layers, 2, n_rows, heads, target, channels)
        self.logits = like.new_zeros(n_rows, config.vocab_size, dtype=torch.float32)
        self.position = like.new_zeros(1, dtype=torch.long)  # of the token that is read next
        self.ids = like.new_zeros(n_rows, dtype=torch.long)  # (R,) that token
        self.best = torch.zeros_like(self.ids)  # (R,) the likeliest after it
        self.limits = torch.zeros_like(self.ids)  # (R,) most tokens of a greedy search
        self.ended = torch.zeros_like(self.ids, dtype=torch.bool)  # (R,)
        self.tokens = self.ids.new_zeros(n_rows, target + 1)  # what a greedy search has chosen
        self.launch: Callable[[], None] | None = None  # a captured step
        self.n_steps = 0  # before the capture

    @property
    def n_bytes(self) -> int:
        """Of the tensors."""
        return sum(one.nbytes for one in vars(self).values() if isinstance(one, Tensor))

    def read_source(self, src: Tensor) -> Tensor:
        """The source padded to the sizes here, its mask written: (b, s) -> (B, S)."""
        room = self.shape.source - src.size(1), self.shape.n_sentences - len(src)
        padded = torch.nn.functional.pad(src, (0, room[0], 0, room[1]), value=PAD_ID)
        padded[len(src) :, 0] = EOS_ID  # a row that sees nothing would not be finite
        self.memory_bias.zero_().masked_fill_((padded == PAD_ID)[:, None, None], -math.inf)
        return padded

    def take(self, old: "Slot", rows: Tensor, sentences: Tensor, length: int) -> None:
        """Copies rows, and what they stand for, from a slot of another shape."""
        n, n_sentences = len(rows), len(sentences)
        self.memory[:, :, :n_sentences] = old.memory[:, :, sentences]
        self.memory_bias[:n_sentences] = old.memory_bias[sentences]
        self.past[:, :, :n, :, :length] = old.past[:, :, rows, :, :length]
        self.tokens[:n, : length + 1] = old.tokens[rows, : length + 1]
        self.ids[:n], self.limits[:n] = old.ids[rows], old.limits[rows]
        self.ended[:n] = old.ended[rows]
        self.position.fill_(length)

    def reorder(self, rows: Tensor, sentences: Tensor, length: int) -> None:
        """Gathers rows in place; nothing of a greedy search."""
        n, n_sentences = len(rows), len(sentences)
        if not torch.equal(sentences, torch.arange(n_sentences, device=rows.device)):
            self.memory[:, :, :n_sentences] = self.memory[:, :, sentences]
            self.memory_bias[:n_sentences] = self.memory_bias[sentences]
        self.past[:, :, :n, :, :length] = self.past[:, :, rows, :, :length]


class Pool:
    """Lends slots; keeps those that nobody uses, the longest unused go first."""

    def __init__(self, config: ModelConfig, like: Tensor, room: float) -> None:
        """`room` is in bytes, for the slots that are not in use."""
        self.config, self._like, self._room = config, like, room
        self._free, self._lock = list[Slot](), threading.RLock()

    def lend(self, shape: Shape) -> "Lease":
        """A slot of that shape with an empty past."""
        with self._lock:
            slot = next((one for one in reversed(self._free) if one.shape == shape), None)
            if slot is not None:
                self._free.remove(slot)
        if slot is None:
            slot = Slot(shape, self.config, self._like)
        slot.past.zero_()  # what an overflow left there would spread, masked or not
        return Lease(slot, self)

    def give_back(self, slot: Slot) -> None:
        """Keeps a slot, and drops others if there is no room."""
        with self._lock:
            self._free.append(slot)
            while sum(one.n_bytes for one in self._free) > self._room:
                del self._free[0]


class Lease:
    """The use of a slot, until the last state that holds it is gone."""

    def __init__(self, slot: Slot, pool: Pool) -> None:
        self.slot, self.pool = slot, pool
        weakref.finalize(self, pool.give_back, slot).atexit = False


@dataclasses.dataclass(frozen=True, slots=True)
class GraphState:
    """What decoding carries. The buffers are shared: of two ways to go on, take only one."""

    lease: Lease
    n_rows: int  # those that are no padding
    length: int = 0  # T

    @property
    def slot(self) -> Slot:
        """The buffers."""
        return self.lease.slot

    @torch.inference_mode()
    def repeat(self, n_beams: int) -> "GraphState":
        """N rows for each sentence, one after the other; the source is not copied for each."""
        sentences = torch.arange(self.n_rows, device=self.slot.ids.device)
        rows = sentences.repeat_interleave(n_beams)
        return self._moved(dataclasses.replace(self.slot.shape, n_beams=n_beams), rows, sentences)

    @torch.inference_mode()
    def select(self, rows: Tensor) -> "GraphState":
        """The named rows, in that order; the N rows of a sentence stay together: (R,) indices.

        Moves to a smaller slot when half of the sentences would do, else gathers in place.
        """
        shape = self.slot.shape
        sentences = rows[:: shape.n_beams] // shape.n_beams
        if self.worth_moving(len(sentences)):
            smaller = dataclasses.replace(shape, n_sentences=bucket(len(sentences)))
            return self._moved(smaller, rows, sentences)
        self.slot.reorder(rows, sentences, self.length)
        return dataclasses.replace(self, n_rows=len(rows))

    def worth_moving(self, n_sentences: int) -> bool:
        """Whether so few sentences fit into half of the slot."""
        return 2 * bucket(n_sentences) <= self.slot.shape.n_sentences

    @torch.inference_mode()
    def with_room(self) -> "GraphState":
        """The same with space for one more target position."""
        shape, longest = self.slot.shape, self.lease.pool.config.max_len
        if self.length >= longest:
            raise ValueError(f"expected at most max_len = {longest} target tokens, got more")
        if self.length < shape.target:
            return self
        rows = torch.arange(self.n_rows, device=self.slot.ids.device)
        longer = dataclasses.replace(shape, target=2 * shape.target)
        return self._moved(longer, rows, rows[:: shape.n_beams] // shape.n_beams)

    def longer(self, n_steps: int) -> "GraphState":
        """The same after so many more target positions were written."""
        return dataclasses.replace(self, length=self.length + n_steps)

    def _moved(self, shape: Shape, rows: Tensor, sentences: Tensor) -> "GraphState":
        lease = self.lease.pool.lend(shape)
        lease.slot.take(self.slot, rows, sentences, self.length)
        return GraphState(lease, len(rows), self.length)
