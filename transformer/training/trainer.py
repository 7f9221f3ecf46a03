"""The training loop: on one process or many, CPU or GPU, resumed exactly after any step.

No random state is saved. The batches of an epoch are a pure function of the seed, and before
each micro-batch the generators are seeded from (seed, epoch, its number), so that dropout, too,
depends only on the position in the data: not on the process that computes it, nor on when
training was stopped.

Shapes: B batch, S source, T target.
"""

import contextlib
import copy
import dataclasses
import logging
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from transformer.config import Direction, ModelConfig, SentencePair, TrainConfig, UserError
from transformer.corpus import batching
from transformer.corpus.prepared import PreparedCorpus
from transformer.model import Transformer
from transformer.training import optimizer, run, runtime, schedule
from transformer.training.loader import MicroBatches, Step, load_steps, n_workers, plan_epoch
from transformer.training.loss import LossModel
from transformer.training.reporting import Reporter
from transformer.training.run import LAST, RunFolder, StopReason, TrainingState
from transformer.training.validation import Validation

logger = logging.getLogger(__name__)


class Trainer:
    """Train one run, with its folder, data, weights and state: `resume`, then `run` to the end."""

    def __init__(
        self, folder: Path, model_config: ModelConfig, config: TrainConfig, data: PreparedCorpus,
        dev: Sequence[SentencePair], directions: Sequence[Direction],
        accelerator: runtime.Accelerator,
    ) -> None:  # fmt: skip
        self.config, self.data, self.accelerator = config, data, accelerator
        self.device, self.world_size = accelerator.device, accelerator.num_processes
        torch.manual_seed(config.seed)
        self.model = Transformer(model_config).to(self.device)
        self.optimizer = optimizer.make_optimizer(
            config.optimizer, self.model, accelerator.mixed_precision
        )
        loss_model = LossModel(self.model, config)
        self.loss_model = accelerator.prepare(loss_model)
        self.averaged = copy.deepcopy(self.model).eval().requires_grad_(False)
        if config.compile:
            loss_model.compile_layers()
        self.validation = Validation(dev, data.tokenizer, directions, config)
        self.state = TrainingState()
        self.steps_per_epoch = 1  # known once an epoch has begun
        self.schedule: TrainConfig | None = None  # with warm-up and cooldown in steps
        self._started = time.monotonic()
        self.stop_signal = ""  # name of the signal that stopped training
        machine = runtime.describe_machine(accelerator)
        self.folder = RunFolder(folder, model_config, config, data, tuple(directions), machine)
        self.reporter = Reporter(self.folder, self.validation, accelerator)

    def resume(self, source: Path | None = None) -> bool:
        """Resume from `source` or else the last checkpoint; return whether there is one.

        Raises UserError for a checkpoint that is broken or of another model.
        """
        state = self.folder.restore(self.model, self.averaged, self.optimizer, source)
        self.state = state or self.state
        if self.accelerator.is_main_process:
            self.folder.truncate_metrics(self.state.step)
        return state is not None

    def run(self) -> StopReason:
        """Train until a limit, a signal or exhausted patience; return the reason for stopping.

        Raises UserError if the loss is not finite, or if the folder cannot be written.
        """
        runtime.keep_freed_memory()
        runtime.enlarge_kernel_cache()
        self.folder.path.mkdir(parents=True, exist_ok=True)
        if not self.folder.has_last:
            self._save_last()  # to fail now, not after an hour, if the folder cannot be written
        self.reporter.start()
        self._started = time.monotonic() - self.state.seconds
        with runtime.collect_signals() as signals:
            reason = run.limit_reached(self.state, self.config)
            while reason is None:
                reason = self._epoch(signals)
        if not self.state.finished:
            self._save_last()
            if reason is not StopReason.SIGNAL:
                self.state = self.reporter.finish(self.state, self.averaged)
                self._save_last()
        self.accelerator.wait_for_everyone()
        why = reason.describe(self.config)
        if reason is StopReason.SIGNAL:
            self.stop_signal = signals[-1] if signals else ""
            why = f"stopped by {self.stop_signal or 'a signal to another process'}"
        logger.info("%s, at step %d", why, self.state.step)
        return reason

    def _epoch(self, signals: Sequence[str]) -> StopReason | None:
        """Train for the rest of the epoch; return why training stops, or None to continue.

        `signals` gets the names of signals while training goes on (see `collect_signals`). Before
        each step it is checked: if any process has one, all stop with `StopReason.SIGNAL`.
        UserError as of `_steps` and `run`.
        """
        for step in self._steps():
            n_source, n_target, seconds, stops = runtime.sum_over_processes(
                self.accelerator,
                sum(batch.n_source for batch, _ in step), sum(batch.n_target for batch, _ in step),
                (time.monotonic() - self._started) / self.world_size, bool(signals),
            )  # fmt: skip
            self.state = dataclasses.replace(self.state, seconds=seconds)
            if stops:
                return StopReason.SIGNAL
            self._resolve_schedule()
            loss = self.forward_backward(step, n_target)
            norm = self.optimizer_step()
            loss += 0.0 * norm  # not finite where the gradient is not
            self.reporter.meter.update(loss, n_source, n_target)
            self.state = self.state.after_step(self.steps_per_epoch)
            if reason := self._after_step():
                return reason
        return None

    def _steps(self) -> Iterator[Step]:
        """Yield this process's steps of the rest of the epoch, loaded ahead by worker processes.

        Sets `steps_per_epoch`. Raises UserError if the state is beyond the epoch's end.
        """
        config, rank, count = self.config, self.accelerator.process_index, self.world_size
        plan = plan_epoch(self.data, config, self.state.epoch, count)
        steps = batching.steps(plan, rank, count, config.accumulate)
        self.steps_per_epoch = len(steps)
        if self.state.position >= self.steps_per_epoch:
            raise UserError(
                f"expected a place within the {self.steps_per_epoch} steps of an epoch of this "
                f"corpus, got {self.state.position}: the checkpoint is of a run with another one"
            )
        batches = MicroBatches(self.data, plan, config, self.model.config.max_len, self.state.epoch)
        workers = n_workers(config, self.device, count)
        return load_steps(batches, steps[self.state.position :], self.device, workers)

    def _resolve_schedule(self) -> None:
        """Resolve the warm-up and cooldown due before the next step.

        With a time limit they depend on the speed; LAST is saved with them, for a resumed run.
        """
        before, n_steps = self.state, self.steps_per_epoch
        self.state = schedule.resolve_schedule(before, self.config, n_steps)
        if self.state != before or self.schedule is None:
            self.schedule = schedule.schedule_in_steps(self.state, self.config, n_steps)
        if self.state != before and self.config.max_minutes:
            self._save_last()

    def forward_backward(self, step: Step, n_target: float) -> Tensor:
        """Accumulate the gradient of the mean loss of a step's `n_target` tokens in all processes.

        Returns the loss of this process as a sum over its tokens: -> ().
        """
        total = torch.zeros((), device=self.device)
        scale = self.world_size / n_target  # gradients are averaged over the processes
        for i, (batch, seed) in enumerate(step, 1):
            torch.manual_seed(seed)
            last = i == len(step)
            sync = contextlib.nullcontext() if last else self.accelerator.no_sync(self.loss_model)
            with sync, runtime.attention_kernel(self.device, self.accelerator.mixed_precision):
                loss = self.loss_model(batch.src, batch.tgt_in, batch.tgt_out, batch.real)
                self.accelerator.backward(loss * scale)
            total += loss.detach()
        return total

    def optimizer_step(self) -> Tensor:
        """Update the weights and their average; return the norm of the gradient before clipping."""
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf)
        number, config = self.state.step + 1, self.schedule or self.config
        rate = optimizer.learning_rate(number, self.model.config.d_model, config)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        optimizer.update_average(self.averaged, self.model, self.config.ema, number)
        return norm

    def _after_step(self) -> StopReason | None:
        """Report, validate and save if due; return why training stops, or None to continue."""
        config, step = self.config, self.state.step
        reason = run.limit_reached(self.state, config)
        if reason or self.reporter.is_due(self.state):
            self._report()
        if step % config.eval_every == 0:
            self.state = self.reporter.validate(self.state, self.averaged)
            if config.average and self.accelerator.is_main_process:
                self.folder.save_step(self.model.state_dict(), self.state)
            reason = run.limit_reached(self.state, config)
        if step % config.save_every == 0 and not reason:
            self._save_last()
        return reason

    def _report(self) -> None:
        rate = self.optimizer.param_groups[0]["lr"]
        self.reporter.report(self.state, rate, self.steps_per_epoch)

    def _save_last(self) -> None:
        """Save the checkpoint to resume from, after a report; UserError for a loss not finite."""
        self._report()
        if self.accelerator.is_main_process:
            training = (self.model, self.optimizer)
            self.folder.save(LAST, self.averaged.state_dict(), self.state, training)
