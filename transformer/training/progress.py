"""How fast training goes: what was done since the last report, and what a device could do."""

import time

import torch
from torch import Tensor

from transformer.config import ModelConfig

PRODUCT, REPEATS = 8192, 10  # size and number of the matrix products that measure a device


def training_flops(config: ModelConfig, n_source: float, n_target: float) -> float:
    """Operations of the weights' matrix products in a step over so many tokens.

    Two for each weight and token forwards, four backwards; those of the attention itself, which
    are few in short sentences, are not counted.
    """
    square, feed = config.d_model**2, 2 * config.d_model * config.d_ff
    of_source = config.n_encoder_layers * (4 * square + feed)
    of_source += config.n_decoder_layers * 2 * square  # keys and values of the memory
    of_target = config.n_decoder_layers * (6 * square + feed) + config.vocab_size * config.d_model
    return 6.0 * (n_source * of_source + n_target * of_target)


def matrix_peak(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of large matrix products there, measured in some hundredths of a second.

    0 on a CPU, where measuring would take a while.
    """
    if device.type != "cuda":
        return 0.0
    x = torch.randn(PRODUCT, PRODUCT, device=device).to(dtype)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        x @ x
    start.record()
    for _ in range(REPEATS):
        x @ x
    end.record()
    torch.cuda.synchronize(device)
    return REPEATS * 2.0 * PRODUCT**3 / (start.elapsed_time(end) / 1000)


class Meter:
    """What was trained since the last report; the loss stays on its device until it is read."""

    def __init__(self, config: ModelConfig, device: torch.device) -> None:
        self._config, self._device = config, device
        self.restart()

    def restart(self) -> None:
        """Begins anew, after a report or what is no training."""
        self.loss, self.tokens, self.flops = torch.zeros((), device=self._device), 0.0, 0.0
        self._since = time.monotonic()

    def add(self, loss: Tensor, n_source: float, n_target: float) -> None:
        """Counts a step: its summed loss, and the tokens of all processes."""
        self.loss += loss
        self.tokens += n_target
        self.flops += training_flops(self._config, n_source, n_target)

    def rates(self) -> tuple[float, float]:
        """Target tokens and operations a second."""
        seconds = time.monotonic() - self._since
        return self.tokens / seconds, self.flops / seconds


class PaceWatch:
    """Tells once when training has become slow: most often something else has the processor."""

    FIRST, FALLEN = 4, 1 / 5  # reports that the run begins with; of their best pace

    def __init__(self) -> None:
        self._first: list[float] = []
        self._is_told = False

    def remark(self, pace: float) -> str:
        """What a progress line adds for this pace, in target tokens a second; mostly nothing."""
        if len(self._first) < self.FIRST:
            self._first.append(pace)
            return ""
        if self._is_told or pace > self.FALLEN * max(self._first):
            return ""
        self._is_told = True
        return f"  (slow: {pace / max(self._first):.0%} of the first pace; is the machine busy?)"
