"""Where the time of a training step goes: by kind of operation, and as a share of the peak.

The kind of an operation is that of the module around it; a backward operation has the kind of the
forward operation that it is the gradient of (torch numbers both alike). Knows our own loop only.

Shapes: B batch, S source, T target, D model width, F feed-forward width, V vocabulary.
"""

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from bench_tables import markdown
from torch import nn
from torch.profiler import ProfilerActivity, record_function
from trainers import Ours

from transformer.attention import MultiHeadAttention
from transformer.batching import Batch
from transformer.config import PAD_ID, ModelConfig
from transformer.layers import Dropout, FeedForward

PREFIX = "kind: "
LINEAR, PROJECTION, COPIES = "linear maps", "output projection", "copies and casts"
ATTENTION, LOSS, UPDATE, REST = "attention", "softmax and loss", "optimiser", "the rest"
MODULES: Mapping[type[nn.Module], str] = {
    MultiHeadAttention: ATTENTION,
    Dropout: "dropout",
    nn.LayerNorm: "layer norm",
    nn.Embedding: "embedding",
    FeedForward: "activation and biases",
}
LARGE = [2048, 8192]  # side of a matrix for the peak, on a CPU and on a GPU
PRODUCTS = {"aten::mm", "aten::addmm", "aten::linear", "aten::mkldnn_linear", "aten::addmm_"}
COPYING = {"aten::copy_", "aten::_to_copy", "aten::clone", "aten::contiguous", "aten::cat"}


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """What some steps took."""

    kinds: Mapping[str, float]  # the share of each kind, of all operations
    seconds: float  # of a step, without a profiler: the median
    flops: float  # of a step: the mean
    peak: float  # operations a second of a large matrix product in the same precision
    precision: str

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.flops / self.seconds


def step_flops(config: ModelConfig, batch: Batch) -> int:
    """Floating-point operations of a step's matrix products, forwards and backwards.

    A product of (a, b) and (b, c) counts 2abc, and twice that on the way back. Each of B x S
    source positions meets four projections of D x D and two of D x F in each encoder layer, and the
    keys and values of each decoder layer; each of B x T target positions six projections and the
    feed-forward; attention counts 4D for each pair of a query and a key; the output D x V for
    each target token that is not padding. After Chowdhery et al. 2022, appendix B; padding
    is computed, so it counts, and what is not a product does not.
    """
    (rows, n_src), n_tgt = batch.src.shape, batch.tgt_in.size(1)
    width, feed = config.d_model, config.d_ff
    encoder = n_src * (8 * width**2 + 4 * width * feed) + 4 * n_src**2 * width
    decoder = n_tgt * (12 * width**2 + 4 * width * feed) + 4 * n_src * width**2
    decoder += 4 * n_tgt * (n_tgt + n_src) * width
    layers = config.n_encoder_layers * encoder + config.n_decoder_layers * decoder
    n_targets = int((batch.tgt_out != PAD_ID).sum())
    return 3 * (rows * layers + 2 * n_targets * width * config.vocab_size)


def peak(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of the best of a few large square products."""
    size = LARGE[device.type == "cuda"]
    one, other, out = (torch.ones(size, size, dtype=dtype, device=device) for _ in range(3))
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        torch.mm(one, other, out=out)
        out[0, 0].item()  # a GPU is waited for
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def _enter(kind: str, open_scopes: list[Any]) -> None:
    open_scopes.append(record_function(PREFIX + kind))
    open_scopes[-1].__enter__()


def _watch(module: nn.Module, kind: str, open_scopes: list[Any]) -> list[Any]:
    """Marks all that a module does forwards."""

    def leave(*_: object) -> None:
        open_scopes.pop().__exit__(None, None, None)

    return [
        module.register_forward_pre_hook(lambda *_: _enter(kind, open_scopes)),
        module.register_forward_hook(leave),
    ]


@contextlib.contextmanager
def marked(loss_model: Any) -> Iterator[None]:
    """Marks the modules of the network, and what stands around it as the loss."""
    open_scopes: list[Any] = []
    hooks: list[Any] = _watch(loss_model, LOSS, open_scopes)
    for module in loss_model.model.modules():
        kind = next((k for one, k in MODULES.items() if isinstance(module, one)), None)
        if kind:
            hooks += _watch(module, kind, open_scopes)
    read: Callable[..., Any] = loss_model.read

    def network(*given: Any) -> Any:
        with record_function(PREFIX + REST):
            return read(*given)

    loss_model.read = network
    try:
        yield
    finally:
        loss_model.read = read
        for hook in hooks:
            hook.remove()


def _scope(event: Any) -> str | None:
    """The innermost mark around an operation."""
    while event is not None:
        if event.name.startswith(PREFIX):
            return str(event.name.removeprefix(PREFIX))
        event = event.cpu_parent
    return None


def _gradient_of(event: Any) -> int | None:
    """The number of the forward operation whose gradient this is part of."""
    while event is not None:
        if event.name.startswith("autograd::engine") and event.sequence_nr >= 0:
            return int(event.sequence_nr)
        event = event.cpu_parent
    return None


def kinds_of(events: Any, on_gpu: bool) -> dict[str, float]:
    """The share of the time that each kind has."""
    scopes: dict[int, str] = {}  # of forward operations, the innermost ones last
    for event in events:
        if event.sequence_nr >= 0 and (scope := _scope(event)) is not None:
            scopes[event.sequence_nr] = scope
    total: dict[str, float] = {}
    for event in events:
        if event.device_type.name != "CPU":
            continue
        seconds = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        kind = _kind(event, scopes)
        total[kind] = total.get(kind, 0.0) + seconds
    whole = sum(total.values()) or 1.0
    ranked = sorted(total.items(), key=lambda item: -item[1])
    return {kind: seconds / whole for kind, seconds in ranked}


def _kind(event: Any, scopes: Mapping[int, str]) -> str:
    scope = _scope(event)
    if scope is None:
        number = _gradient_of(event)
        scope = REST if number is None else scopes.get(number, REST)
        if number is None and event.name.startswith(("aten::", "Optimizer")):
            scope = UPDATE  # what is neither forwards nor backwards
    if event.name in PRODUCTS:
        return PROJECTION if scope == LOSS else LINEAR
    return COPIES if event.name in COPYING else scope


def profile(ours: Ours, first: int, n_steps: int) -> Profile:
    """Takes each step twice: once to be timed, once under torch's profiler."""
    trainer, batches = ours.trainer, [ours.task.batch(first + i) for i in range(n_steps)]
    seconds = []
    ours.step(first)
    for number in range(first, first + n_steps):
        start = time.perf_counter()
        float(ours.step(number))
        seconds.append(time.perf_counter() - start)
    on_gpu = ours.device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with (
        marked(trainer.accelerator.unwrap_model(trainer.loss_model)),
        torch.profiler.profile(activities=activities, acc_events=True) as watched,
    ):
        for number in range(first, first + n_steps):
            float(ours.step(number))
    low = trainer.accelerator.mixed_precision == "bf16"
    return Profile(
        kinds=kinds_of(watched.events(), on_gpu),
        seconds=statistics.median(seconds),
        flops=statistics.mean(step_flops(trainer.model.config, batch) for batch in batches),
        peak=peak(ours.device, torch.bfloat16 if low else torch.float32),
        precision="bfloat16" if low else "float32",
    )


def told(found: Profile) -> str:
    """The table of the kinds, and the share of the peak."""
    rows = [[kind, f"{100 * share:.1f} %"] for kind, share in found.kinds.items()]
    share = 100 * found.rate / found.peak
    return (
        f"{markdown(('where the time goes', 'share'), rows)}\n\n"
        f"A step of {found.seconds:.2f} s has {found.flops / 1e9:,.0f} GFLOP: "
        f"{found.rate / 1e9:,.0f} GFLOP/s, {share:.0f} % of the {found.peak / 1e9:,.0f} GFLOP/s "
        f"of a large matrix product in {found.precision}."
    )
