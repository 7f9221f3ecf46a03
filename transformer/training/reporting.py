"""What a training run reports: progress lines, records, validations and the best checkpoint."""

import collections
import copy
import dataclasses
import json
import logging
import math
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoint import weights
from transformer.checkpoint.locate import METRICS
from transformer.config import ModelConfig, UserError
from transformer.files import append_text
from transformer.model import Transformer
from transformer.training.run import BEST, LAST, RunFolder, TrainingState, fraction_done
from transformer.training.runtime import Accelerator, sum_over_processes
from transformer.training.validation import Validation

PEAK_SIZE, PEAK_REPEATS = 8192, 10  # size and number of the matrix products that measure a device
REPORT_SECONDS = 10.0  # between progress lines, unless --log-every counts steps
logger = logging.getLogger(__name__)


def training_flops(config: ModelConfig, n_source: float, n_target: float) -> float:
    """Return the floating-point operations of a step over so many source and target tokens.

    Only matrix products with weights count: two operations for each weight and token in the forward
    pass, four in the backward pass. Attention's own products are few in short sentences.
    """
    projection, feed_forward = config.d_model**2, 2 * config.d_model * config.d_ff
    source_weights = config.n_encoder_layers * (4 * projection + feed_forward)
    source_weights += config.n_decoder_layers * 2 * projection  # keys and values of the memory
    target_weights = config.n_decoder_layers * (6 * projection + feed_forward)
    target_weights += config.vocab_size * config.d_model
    return 6.0 * (n_source * source_weights + n_target * target_weights)


def peak_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Measure the floating-point operations a second of large matrix products; 0 without CUDA."""
    if device.type != "cuda":
        return 0.0
    x = torch.randn(PEAK_SIZE, PEAK_SIZE, device=device).to(dtype)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        x @ x
    start.record()
    for _ in range(PEAK_REPEATS):
        x @ x
    end.record()
    torch.cuda.synchronize(device)
    return PEAK_REPEATS * 2.0 * PEAK_SIZE**3 / (start.elapsed_time(end) / 1000)


class Meter:
    """Sum `loss`, a tensor on its device, target `tokens` and `flops` since the last report."""

    def __init__(self, config: ModelConfig, device: torch.device) -> None:
        self._config, self._device = config, device
        self.reset()

    def reset(self) -> None:
        """Start again, after a report or an interruption of training such as a validation."""
        self.loss, self.tokens, self.flops = torch.zeros((), device=self._device), 0.0, 0.0
        self._since = time.monotonic()

    def update(self, loss: Tensor, n_source: float, n_target: float) -> None:
        """Add a step: its loss, a sum over this process, and the tokens of all processes."""
        self.loss += loss
        self.tokens += n_target
        self.flops += training_flops(self._config, n_source, n_target)

    def rates(self) -> tuple[float, float]:
        """Return target tokens and floating-point operations a second since the last report."""
        seconds = time.monotonic() - self._since
        return self.tokens / seconds, self.flops / seconds


class SlowdownWarning:
    """Warn once if one report is at most 1/5 as fast as the best of the first 4: a busy machine."""

    N_FIRST, THRESHOLD = 4, 1 / 5  # first reports; fraction of their best speed

    def __init__(self) -> None:
        self._n_reports, self._best = 0, 0.0

    def suffix(self, speed: float) -> str:
        """Return the end of each report's line, mostly "", by its target tokens a second."""
        self._n_reports += 1
        if self._n_reports <= self.N_FIRST:
            self._best = max(self._best, speed)
        elif speed <= self.THRESHOLD * self._best:
            fraction, self._best = speed / self._best, 0.0  # no second warning
            return f"  (slow: {fraction:.0%} of the first pace; is the machine busy?)"
        return ""


class TimeLeft:
    """Estimate how long a run still takes, by its pace over the last minute."""

    WINDOW = 60.0  # seconds

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[float, float]] = collections.deque()

    def estimate(self, seconds: float, share: float) -> float | None:
        """Return the seconds left when `share` of the run was done after `seconds` of training.

        Returns None if the pace is not known yet, or if there is no limit.
        """
        self._seen.append((seconds, share))
        while len(self._seen) > 2 and seconds - self._seen[1][0] >= self.WINDOW:
            self._seen.popleft()
        since, before = self._seen[0]
        if seconds <= since or share <= before:
            return None
        return (1 - share) * (seconds - since) / (share - before)


def format_duration(seconds: float) -> str:
    """Return hours, minutes and seconds as h:mm:ss."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"


def progress_line(record: Mapping[str, Any], seconds_left: float | None) -> str:
    """Return a "train" record of `metrics.jsonl` as a line, with the time left unless None."""
    left = f", {format_duration(seconds_left)} left" if seconds_left is not None else ""
    share = f" ({record['share_of_peak']:.0%} of the peak)" if "share_of_peak" in record else ""
    return (
        f"step {record['step']:>6}  epoch {record['epoch']:.2f}  loss {record['loss']:.3f}  "
        f"lr {record['lr']:.2e}  {record['tokens_per_second']:,.0f} target tokens/s{share}  "
        f"{format_duration(record['seconds'])}{left}"
    )


def validation_line(step: int, name: str, scores: Mapping[str, float]) -> str:
    """Return a validation as a line of the log: its name, the loss, and BLEU if there is any."""
    parts = [
        f"{key.replace('bleu', 'BLEU')} {score:.{3 if key == 'loss' else 1}f}"
        for key, score in scores.items()
    ]
    return f"step {step:>6}  {name}: {'  '.join(parts)}"


def describe_best(single: TrainingState, state: TrainingState, metric: str) -> str:
    """Return which weights a finished run keeps in `best`, and why.

    `single` is the state before the mean of the last checkpoints was validated, `state` the one
    after. Validations are compared by `metric`, "BLEU" or "loss".
    """
    if state.best is None or single.best is None:
        return (
            f"the last weights, of step {state.step}: without --dev there is nothing to choose by"
        )
    best, before = (
        f"BLEU {score:.1f}" if metric == "BLEU" else f"loss {-score:.3f}"
        for score in (state.best, single.best)
    )
    if state.best > single.best:
        return f"the mean of the last checkpoints, {best}; the best single one has {before}"
    return f"the weights of step {state.best_step}, the best in validation: {best}"


class Reporter:
    """Measure, validate and log a run; only its main process writes.

    Methods that change the training state take the present state and return the next one.
    """

    def __init__(self, folder: RunFolder, validation: Validation, accelerator: Accelerator) -> None:
        self.folder, self.validation, self.accelerator = folder, validation, accelerator
        self.meter = Meter(folder.model_config, accelerator.device)  # since the last report
        self._slowdown = SlowdownWarning()
        self._peak = 0.0  # operations a second of the device's matrix products
        self._next_report = 0.0  # second of training, with --log-every 0
        self._time_left = TimeLeft()

    def start(self) -> None:
        """Measure the peak of the device, then start the meter."""
        is_bfloat16 = self.accelerator.mixed_precision == "bf16"
        dtype = torch.bfloat16 if is_bfloat16 else torch.float32
        self._peak = peak_flops(self.accelerator.device, dtype)
        self.meter.reset()

    def is_due(self, state: TrainingState) -> bool:
        """Whether a report is due: by steps or seconds, or before a validation or a save."""
        config, step = self.folder.config, state.step
        times = (config.log_every or step + 1, config.eval_every, config.save_every)
        is_time = not config.log_every and state.seconds >= self._next_report
        return is_time or any(step % every == 0 for every in times)

    def report(self, state: TrainingState, learning_rate: float, steps_per_epoch: int) -> None:
        """Log and record the steps since the last report; UserError if the loss is not finite."""
        if not self.meter.tokens:
            return
        (loss,) = sum_over_processes(self.accelerator, float(self.meter.loss))
        if not math.isfinite(loss):
            raise UserError(
                f"expected a finite loss, got {loss} in the steps up to {state.step}. The "
                f"checkpoint in {self.folder.path / LAST} is from before and intact; "
                "lower --lr-scale or raise --warmup"
            )
        speed, flops = self.meter.rates()
        epoch, seconds = state.epoch + state.position / steps_per_epoch, round(state.seconds, 1)
        record = {
            "event": "train", "step": state.step, "epoch": round(epoch, 3),
            "loss": loss / self.meter.tokens, "lr": learning_rate, "tokens_per_second": speed,
            "seconds": seconds,
        }  # fmt: skip
        if self._peak:
            record["share_of_peak"] = flops / self.accelerator.num_processes / self._peak
        share = fraction_done(state, self.folder.config, steps_per_epoch)
        left = self._time_left.estimate(state.seconds, share)
        self._log(record, progress_line(record, left) + self._slowdown.suffix(speed))
        self._next_report = state.seconds + REPORT_SECONDS
        self.meter.reset()

    def _log(self, record: Mapping[str, Any], line: str) -> None:
        if self.accelerator.is_main_process:
            logger.info("%s", line)
            append_text(self.folder.path / METRICS, json.dumps(dict(record)) + "\n")
            kind = "train" if record["event"] == "train" else "eval"
            numbers = {f"{kind}/{k}": v for k, v in record.items() if isinstance(v, float)}
            self.accelerator.log(numbers, step=record["step"])

    def validate(
        self, state: TrainingState, model: Transformer, name: str = "validation"
    ) -> TrainingState:
        """Score a model on the development set, and save it if it is the best so far.

        Returns the state with the outcome; without a development set, unchanged. `name` is the
        event in the record. UserError if all pairs are too long for the model, or if a file cannot
        be written.
        """
        if not self.validation:
            return state
        score, is_main = 0.0, self.accelerator.is_main_process
        if is_main:
            scores = self.validation.scores(model)
            score = scores.get("bleu", -scores["loss"])
            record = {"event": name, "step": state.step, **scores}
            record["seconds"] = round(state.seconds, 1)
            self._log(record, validation_line(state.step, name, scores))
            for source, translation in self.validation.examples:
                logger.info("%s%s -> %s", " " * 13, source, translation)
        (score,) = sum_over_processes(self.accelerator, score)
        is_best = state.best is None or score > state.best
        state = dataclasses.replace(state, validated=state.step, stale=state.stale + 1)
        if is_best:
            state = dataclasses.replace(state, best=score, best_step=state.step, stale=0)
            if is_main:
                self.folder.save(BEST, model.state_dict(), state)
        self.meter.reset()
        return state

    def finish(self, state: TrainingState, averaged: Transformer) -> TrainingState:
        """Validate `averaged` and, if several, the mean of the step checkpoints; finish the state.

        BEST is the best so far; without a development set it is `averaged`.
        """
        if state.validated != state.step:
            state = self.validate(state, averaged)
        single, folder = state, self.folder  # before a mean is tried
        self.accelerator.wait_for_everyone()
        kept = folder.step_checkpoints(state.step) if folder.config.average else []
        if len(kept) > 1 and self.validation:
            mean, shape = copy.deepcopy(averaged), folder.model_config
            mean.load_state_dict(
                weights.average_weights(weights.load_weights(path, shape) for path in kept)
            )
            state = self.validate(state, mean, f"average of {len(kept)}")
            state = dataclasses.replace(state, stale=single.stale)  # patience stays used up
        if not self.validation and self.accelerator.is_main_process:
            folder.save(BEST, averaged.state_dict(), state)
        metric = "BLEU" if any(self.validation.to_translate.values()) else "loss"
        logger.info("kept in %s: %s", folder.path / BEST, describe_best(single, state, metric))
        return dataclasses.replace(state, finished=True)
