"""The training loop: one process or many, CPU or GPU, stopped at any step and gone on exactly.

Nothing here remembers a random state. The batches of an epoch are a pure function of the
seed, and before each micro-batch the generators are seeded from (seed, epoch, its number), so
that the dropout, too, depends on the place in the data alone: not on the process that computes
it, nor on when training was stopped.

Shapes: B batch, S source, T target.
"""

import contextlib
import copy
import dataclasses
import json
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.checkpoint import weights
from transformer.checkpoint.locate import METRICS
from transformer.config import Direction, ModelConfig, SentencePair, TrainConfig, UserError
from transformer.corpus import batching
from transformer.corpus.prepared import PreparedCorpus
from transformer.files import append_text
from transformer.model import Transformer
from transformer.training import optimizer, run, runtime, schedule
from transformer.training.loader import MicroBatches, Step, load, n_workers
from transformer.training.loss import LossModel
from transformer.training.progress import Meter, PaceWatch, matrix_peak
from transformer.training.run import BEST, LAST, Ending, RunFolder, TrainingState
from transformer.training.validation import Validation

REPORT_SECONDS = 10.0  # between progress lines, unless --log-every counts steps
logger = logging.getLogger(__name__)


class Trainer:
    """One run: its folder, data, weights and state. `resume`, then `run` to the end."""

    def __init__(
        self,
        folder: Path,
        model_config: ModelConfig,
        config: TrainConfig,
        data: PreparedCorpus,
        dev: Sequence[SentencePair],
        directions: Sequence[Direction],
        accelerator: runtime.Accelerator,
    ) -> None:
        self.config, self.data, self.accelerator = config, data, accelerator
        self.device, self.world_size = accelerator.device, accelerator.num_processes
        torch.manual_seed(config.seed)
        self.model = Transformer(model_config).to(self.device)
        self.optimizer = optimizer.optimizer(
            config.optimizer, self.model, accelerator.mixed_precision
        )
        loss_model = LossModel(self.model, config)
        self.loss_model = accelerator.prepare(loss_model)
        self.averaged = copy.deepcopy(self.model).eval().requires_grad_(False)
        if config.compile:
            loss_model.compile_layers()
        self.validation = Validation(dev, data.tokenizer, directions, config)
        self.state = TrainingState()
        self.turns = 1  # optimiser steps of an epoch, known once one has begun
        self.schedule: TrainConfig | None = None  # warm-up and cooldown in steps, once decided
        self._started = time.monotonic()
        self.meter = Meter(model_config, self.device)  # since the last report
        self._pace_watch = PaceWatch()
        self._peak = 0.0  # of the device's matrix products, operations a second
        self._next_report = 0.0  # second of training of the next progress line, with --log-every 0
        self._time_left: run.TimeLeft | None = None
        self.stop_signal = ""  # that ended training
        machine = {
            "processes and device": f"{self.world_size} x {self.device.type}",
            "threads of a process": torch.get_num_threads(),
            "precision": "bfloat16" if accelerator.mixed_precision == "bf16" else "float32",
            "torch": torch.__version__,
        }
        self.folder = RunFolder(folder, model_config, config, data, tuple(directions), machine)

    def resume(self, source: Path | None = None) -> bool:
        """Goes on from the checkpoint named, or the folder's last one, where there is one."""
        state = self.folder.restore(self.model, self.averaged, self.optimizer, source)
        self.state = state or self.state
        if self.accelerator.is_main_process:
            self.folder.forget_after(self.state.step)
        return state is not None

    def run(self) -> Ending:
        """Trains until a limit, a signal or patience ends it; returns which."""
        runtime.keep_freed_memory()
        runtime.remember_shapes()
        self.folder.path.mkdir(parents=True, exist_ok=True)
        if not self.folder.has_last:
            self._save_last()  # what cannot be written shows now, not after an hour
        low = self.accelerator.mixed_precision == "bf16"
        self._peak = matrix_peak(self.device, torch.bfloat16 if low else torch.float32)
        self._started = time.monotonic() - self.state.seconds
        self.meter.restart()
        with runtime.StopRequest() as stop:
            ending = run.limit_reached(self.state, self.config)
            while ending is None:
                ending = self._epoch(stop)
        if not self.state.finished:
            self._save_last()
            if ending is not Ending.STOPPED:
                self._finish()
        self.accelerator.wait_for_everyone()
        why = ending.describe(self.config)
        if ending is Ending.STOPPED:
            self.stop_signal = stop.reason
            why = f"stopped by {stop.reason or 'a signal to another process'}"
        logger.info("%s, at step %d", why, self.state.step)
        return ending

    def _plan(self) -> list[batching.Indices]:
        """The batches of the epoch under way, those of all processes."""
        config, epoch = self.config, self.state.epoch
        indices = batching.epoch_indices(self.data.sizes, config.seed, epoch)
        group = self.world_size * config.accumulate
        lengths = self.data.pairs.lengths
        try:
            return batching.plan(
                lengths, indices, config.batch_tokens, config.seed, epoch, group,
                config.pad_multiple or 1,
            )  # fmt: skip
        except ValueError as error:
            raise UserError(f"{error}. Change --batch-tokens, or give more text") from error

    def _epoch(self, stop: runtime.StopRequest) -> Ending | None:
        """The rest of the epoch under way; returns what ended training, if anything did."""
        for step in self._steps():
            n_source, n_target, seconds, stops = self._sum(
                step.n_source, step.n_target, self._seconds() / self.world_size, bool(stop.reason)
            )
            self.state = dataclasses.replace(self.state, seconds=seconds)
            if stops:
                self._report()  # so that a loss which is not finite is never saved
                return Ending.STOPPED
            self._decide()
            self.meter.add(self.update(step, n_target), n_source, n_target)
            self._advance()
            if ending := self._after_step():
                return ending
        return None

    def _steps(self) -> Iterator[Step]:
        """What this process reads in the rest of the epoch, made ahead by worker processes."""
        plan, config = self._plan(), self.config
        rank, count = self.accelerator.process_index, self.world_size
        turns = batching.steps(plan, rank, count, config.accumulate)
        self.turns = len(turns)
        if self.state.position >= self.turns:
            raise UserError(
                f"expected a place within the {self.turns} steps of an epoch of this corpus, got "
                f"{self.state.position}: the checkpoint is of a run with another one"
            )
        batches = MicroBatches(self.data, plan, config, self.model.config.max_len, self.state.epoch)
        workers = n_workers(config, self.device, count)
        return load(batches, turns[self.state.position :], self.device, workers)

    def _seconds(self) -> float:
        """Of training, all starts together."""
        return time.monotonic() - self._started

    def _decide(self) -> None:
        """Settles what is to be settled before the next step, and saves what the pace decided."""
        before = self.state
        self.state = schedule.decided(before, self.config, self.turns)
        if self.state != before or self.schedule is None:
            self.schedule = schedule.in_steps(self.state, self.config, self.turns)
        if self.state != before and self.config.max_minutes:
            self._report()  # a loss that is not finite is never saved
            self._save_last()

    def _advance(self) -> None:
        """One step further, and into the next epoch after its last one."""
        ends, position = divmod(self.state.position + 1, self.turns)
        self.state = dataclasses.replace(
            self.state, step=self.state.step + 1, epoch=self.state.epoch + ends, position=position,
            finished=False,
        )  # fmt: skip

    def _sum(self, *numbers: float) -> list[float]:
        """The sums over all processes."""
        if self.world_size == 1:
            return list(numbers)
        together = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        return [float(x) for x in self.accelerator.reduce(together, "sum")]

    def update(self, step: Step, n_target: float) -> Tensor:
        """One optimiser step over the `n_target` of all processes: -> this process's loss sum."""
        total = torch.zeros((), device=self.device)
        scale = self.world_size / n_target  # gradients are averaged over the processes
        for i, (batch, seed) in enumerate(zip(step.batches, step.seeds, strict=True)):
            torch.manual_seed(seed)
            last = i == len(step.batches) - 1
            alone = contextlib.nullcontext() if last else self.accelerator.no_sync(self.loss_model)
            with alone, runtime.attention_kernel(self.device, self.accelerator.mixed_precision):
                loss = self.loss_model(batch.src, batch.tgt_in, batch.tgt_out, batch.real)
                self.accelerator.backward(loss * scale)
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf)
        number = self.state.step + 1
        config = self.schedule or self.config
        rate = optimizer.learning_rate(number, self.model.config.d_model, config)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        optimizer.move_average(self.averaged, self.model, self.config.ema, number)
        return total + 0.0 * norm  # so that a gradient which is not finite shows in the loss

    def _after_step(self) -> Ending | None:
        """Reports, validates and saves where it is time to; returns what ends training."""
        config, step = self.config, self.state.step
        ending = run.limit_reached(self.state, config)
        times = (config.log_every or step + 1, config.eval_every, config.save_every)
        is_time = not config.log_every and self.state.seconds >= self._next_report
        if ending or is_time or any(step % every == 0 for every in times):
            self._report()
        if step % config.eval_every == 0:
            self._validate(self.averaged)
            if config.average and self.accelerator.is_main_process:
                self.folder.keep(self.model.state_dict(), self.state)
            ending = run.limit_reached(self.state, config)
        if step % config.save_every == 0 and not ending:
            self._save_last()
        return ending

    def _save_last(self) -> None:
        if self.accelerator.is_main_process:
            training = (self.model, self.optimizer)
            self.folder.save(LAST, self.averaged.state_dict(), self.state, training)

    def _report(self) -> None:
        """A line and a record of the steps since the last; a loss that is not finite ends all."""
        if not self.meter.tokens:
            return
        (loss,) = self._sum(float(self.meter.loss))
        state = self.state
        if not math.isfinite(loss):
            raise UserError(
                f"expected a finite loss, got {loss} in the steps up to {state.step}. The "
                f"checkpoint in {self.folder.path / LAST} is from before and intact; "
                "lower --lr-scale or raise --warmup"
            )
        pace, flops = self.meter.rates()
        record = {
            "event": "train",
            "step": state.step,
            "epoch": round(state.epoch + state.position / self.turns, 3),
            "loss": loss / self.meter.tokens,
            "lr": self.optimizer.param_groups[0]["lr"],
            "tokens_per_second": pace,
            "seconds": round(state.seconds, 1),
        }
        if self._peak:
            record["share_of_peak"] = flops / self.world_size / self._peak
        share = run.share_done(state, self.config, self.turns)
        self._time_left = self._time_left or run.TimeLeft(state.seconds, share)
        left = self._time_left.estimate(state.seconds, share)
        self._tell(record, run.progress_line(record, left) + self._pace_watch.remark(pace))
        self._next_report = state.seconds + REPORT_SECONDS
        self.meter.restart()

    def _tell(self, record: Mapping[str, Any], line: str) -> None:
        if self.accelerator.is_main_process:
            logger.info("%s", line)
            append_text(self.folder.path / METRICS, json.dumps(dict(record)) + "\n")
            kind = "train" if record["event"] == "train" else "eval"
            numbers = {f"{kind}/{k}": v for k, v in record.items() if isinstance(v, float)}
            self.accelerator.log(numbers, step=self.state.step)

    def _validate(self, model: Transformer, name: str = "validation") -> None:
        """Scores weights on the development set and keeps them if they are the best so far."""
        if not self.validation:
            return
        state, score = self.state, 0.0
        if self.accelerator.is_main_process:
            scores = self.validation.scores(model)
            score = scores.get("bleu", -scores["loss"])
            seconds = round(state.seconds, 1)
            record = {"event": name, "step": state.step, **scores, "seconds": seconds}
            self._tell(record, run.validation_line(state.step, name, scores))
            for source, translation in self.validation.examples:
                logger.info("%s%s -> %s", " " * 13, source, translation)
        (score,) = self._sum(score)
        self.state = dataclasses.replace(state, validated=state.step, stale=state.stale + 1)
        if state.best is None or score > state.best:
            self.state = dataclasses.replace(self.state, best=score, best_step=state.step, stale=0)
            if self.accelerator.is_main_process:
                self.folder.save(BEST, model.state_dict(), self.state)
        self.meter.restart()

    def _finish(self) -> None:
        """The last word: validates the end, tries the average of the last checkpoints, saves."""
        if self.state.validated != self.state.step:
            self._validate(self.averaged)
        single = self.state  # before an average is tried
        self.accelerator.wait_for_everyone()
        kept = self.folder.kept(self.state.step) if self.config.average else []
        if len(kept) > 1 and self.validation:
            mean = copy.deepcopy(self.averaged)
            shape = self.model.config
            mean.load_state_dict(weights.mean(weights.load_weights(path, shape) for path in kept))
            stale = self.state.stale
            self._validate(mean, f"average of {len(kept)}")
            self.state = dataclasses.replace(self.state, stale=stale)  # patience stays used up
        if not self.validation and self.accelerator.is_main_process:
            self.folder.save(BEST, self.averaged.state_dict(), self.state)
        metric = "BLEU" if self.validation.has_translations else "loss"
        kept_weights = run.describe_best(single, self.state, metric)
        logger.info("kept in %s: %s", self.folder.path / BEST, kept_weights)
        self.state = dataclasses.replace(self.state, finished=True)
        self._save_last()
