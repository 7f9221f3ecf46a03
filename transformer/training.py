"""The training loop, on Accelerate: one process or many, CPU or GPU, stopped and gone on exactly.

Nothing here remembers a random state. The batches of an epoch are a pure function of the
seed, and before each micro-batch the generators are seeded from (seed, epoch, its number), so
that the dropout, too, depends on the place in the data alone: not on the process that computes
it, nor on when training was stopped. The only module that imports `accelerate`.
"""

import contextlib
import copy
import ctypes
import dataclasses
import datetime
import json
import logging
import math
import random
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import accelerate
import numpy as np
import torch
from accelerate.utils import InitProcessGroupKwargs
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer import batching, checkpoint, optim
from transformer.batching import Batch
from transformer.config import PAD_ID, ModelConfig, TrainConfig, UserError
from transformer.corpus import Prepared
from transformer.evaluate import bleu
from transformer.loss import cross_entropy
from transformer.model import Transformer
from transformer.progress import (
    METRICS,
    Place,
    append,
    differences,
    limit_reached,
    model_card,
    progress_line,
    read_metrics,
    share_done,
)
from transformer.sources import Languages, Pair
from transformer.translate import Translator

logger = logging.getLogger(__name__)
RUN, STEPS = "run.json", "steps"
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, as torch names them
# What may differ between two starts of one run: limits, and how often it reports.
FREE = ("max_steps", "max_epochs", "max_minutes", "save_every", "log_every", "patience", "track")


class LossModel(nn.Module):
    """Model and loss as one module, so that only two numbers leave the accelerated forward."""

    def __init__(self, model: nn.Module, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        """(B, S), (B, T), (B, T) -> (): the summed loss."""
        logits = self.model(src, tgt_in)
        return cross_entropy(logits, tgt_out, PAD_ID, self.label_smoothing)[0]


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether matrix products in bfloat16 are faster there than in float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities() if device.type == "cpu" else {}
    return bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))


def attention_kernel(device: torch.device, dtype: str) -> contextlib.AbstractContextManager[None]:
    """On a CPU the fused attention is slow backwards in bfloat16; the written-out one is not."""
    if device.type == "cpu" and dtype == "bf16":
        return sdpa_kernel(SDPBackend.MATH)
    return contextlib.nullcontext()


def make_accelerator(config: TrainConfig) -> accelerate.Accelerator:
    """The processes and devices that this was launched on, in the precision asked for."""
    wait = InitProcessGroupKwargs(timeout=datetime.timedelta(hours=24))
    probe = accelerate.PartialState(timeout=wait.timeout)
    wanted = config.precision == "bfloat16"
    if config.precision == "auto":
        wanted = has_fast_bfloat16(probe.device)
    return accelerate.Accelerator(
        mixed_precision="bf16" if wanted else "no",
        log_with="tensorboard" if config.track else None,
        project_dir=None,
        kwargs_handlers=[wait],
    )


def seed_of(*numbers: int) -> int:
    """One 63-bit seed out of several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def keep_freed_memory() -> None:
    """Lets glibc reuse large blocks: fresh pages for every big tensor cost more than the sums."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-4, 0)  # M_MMAP_MAX: no mapping of its own for a block
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: nothing goes back to the system


class StopRequest:
    """Notes SIGINT and SIGTERM instead of dying; a second one does what it always did."""

    def __init__(self) -> None:
        self.reason = ""

    def __enter__(self) -> "StopRequest":
        self._before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.reason = signal.Signals(number).name
        signal.signal(number, self._before[signal.Signals(number)])

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class Trainer:
    """One run: its folder, its data, its weights and its place; `run` trains to the end."""

    def __init__(
        self,
        folder: Path,
        model_config: ModelConfig,
        config: TrainConfig,
        data: Prepared,
        dev: Sequence[Pair],
        langs: Languages,
        accelerator: accelerate.Accelerator | None = None,
    ) -> None:
        self.folder, self.config, self.data, self.langs = folder, config, data, langs
        self.model_config, self.dev = model_config, dev
        self.accelerator = accelerator or make_accelerator(config)
        self.device = self.accelerator.device
        torch.manual_seed(config.seed)
        self.model = Transformer(model_config).to(self.device)
        body = torch.compile(self.model, dynamic=True) if config.compile else self.model
        self.optimizer = optim.adam(self.model.parameters())
        self.loss_model = self.accelerator.prepare(LossModel(body, config.label_smoothing))
        self.averaged = copy.deepcopy(self.model).eval().requires_grad_(False)
        self.place = Place()
        self.turns = 1  # optimiser steps of an epoch, known once one has begun
        self._dev = [(data.tokenizer.encode(src), data.tokenizer.encode(tgt)) for src, tgt in dev]

    # Resume and save

    def resume(self) -> bool:
        """Goes on from the folder's last checkpoint, where there is one."""
        if checkpoint.existing(self.folder / "last") is None:
            return False
        tensors, values = checkpoint.load_training(self.folder / "last")
        for name, parameter in self.model.named_parameters():
            parameter.data.copy_(tensors[f"weights.{name}"])
            moments = {m: tensors[f"{m}.{name}"].to(self.device) for m in MOMENTS}
            step = torch.tensor(float(values["step"]), device=self.device)
            self.optimizer.state[parameter] = {"step": step, **moments}
        self.averaged.load_state_dict(checkpoint.load_weights(self.folder / "last"))
        self.place = Place(**values)
        self._forget_later_metrics()
        return True

    def _forget_later_metrics(self) -> None:
        """Drops records of steps that will be done again."""
        if self.accelerator.is_main_process:
            kept = [r for r in read_metrics(self.folder) if r["step"] <= self.place.step]
            text = "".join(json.dumps(record) + "\n" for record in kept)
            checkpoint.write_text(self.folder / METRICS, text)

    def _save(self, name: str, weights: Mapping[str, Tensor], resumable: bool = False) -> None:
        """Writes a checkpoint of the run; only the main process does."""
        if not self.accelerator.is_main_process:
            return
        facts = {
            "steps": self.place.step,
            "passes over the data": round(self.place.epoch + self.place.position / self.turns, 2),
            "minutes of training": round(self.place.seconds / 60, 1),
            "processes and device": f"{self.accelerator.num_processes} x {self.device.type}",
            "precision": {"no": "float32"}.get(self.accelerator.mixed_precision, "bfloat16"),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "best validation score": self.place.best,
        }
        checkpoint.save(
            self.folder / name,
            weights,
            self.model_config,
            self.data.tokenizer,
            self.langs,
            model_card(self.model_config, self.config, self.data.report, self.langs, facts),
            self._training_state() if resumable else None,
        )

    def _training_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What `resume` goes on from: weights, both moments of Adam, and the place."""
        tensors: dict[str, Tensor] = {}
        for name, parameter in self.model.named_parameters():
            state = self.optimizer.state.get(parameter) or dict.fromkeys(
                MOMENTS, torch.zeros_like(parameter)
            )
            tensors[f"weights.{name}"] = parameter
            tensors |= {f"{moment}.{name}": state[moment] for moment in MOMENTS}
        return tensors, dataclasses.asdict(self.place)

    # One step

    def _micro_batch(self, rows: Sequence[int], seed: int) -> Batch:
        pairs = [self.data.pairs[int(i)] for i in rows]
        if self.config.sample_alpha:
            pairs = [self._resample(pair, random.Random(f"{seed} {i}")) for i, pair in enumerate(pairs)]
        return batching.collate(pairs).to(self.device)

    def _resample(
        self, pair: tuple[list[int], list[int]], rng: random.Random
    ) -> tuple[list[int], list[int]]:
        """Another segmentation of both sides, where it does not get too long for the model."""
        tokenizer, alpha = self.data.tokenizer, self.config.sample_alpha
        new = [tokenizer.sample(tokenizer.decode(ids), alpha, rng) for ids in pair]
        limit = self.model_config.max_len - 1
        src, tgt = (n if len(n) <= limit else o for n, o in zip(new, pair, strict=True))
        return src, tgt

    def _sum(self, *numbers: float) -> list[float]:
        """The sums over all processes."""
        together = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        return [float(x) for x in self.accelerator.reduce(together, "sum")]

    def _step(self, batches: Sequence[Batch], seeds: Sequence[int], n_tokens: float) -> Tensor:
        """One optimiser step over micro-batches of `n_tokens` in all processes: -> loss sum."""
        total = torch.zeros((), device=self.device)
        scale = self.accelerator.num_processes / n_tokens  # gradients get averaged over processes
        for i, (batch, seed) in enumerate(zip(batches, seeds, strict=True)):
            torch.manual_seed(seed)
            last = i == len(batches) - 1
            quiet = contextlib.nullcontext() if last else self.accelerator.no_sync(self.loss_model)
            with quiet, attention_kernel(self.device, self.accelerator.mixed_precision):
                loss = self.loss_model(batch.src, batch.tgt_in, batch.tgt_out)
                self.accelerator.backward(loss * scale)
            total += loss.detach()
        limit = self.config.clip or math.inf
        total += 0.0 * nn.utils.clip_grad_norm_(self.model.parameters(), limit)  # NaN shows in both
        step = self.place.step + 1
        rate = optim.learning_rate(
            step, self.model_config.d_model, self.config.warmup, self.config.lr_scale
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._move_average(step)
        return total

    @torch.no_grad()
    def _move_average(self, step: int) -> None:
        """Exponential moving average, with a smaller decay at the start."""
        decay = min(self.config.ema, step / (step + 9)) if self.config.ema else 0.0
        torch._foreach_lerp_(
            list(self.averaged.parameters()), list(self.model.parameters()), 1.0 - decay
        )

    # The loop

    def _plan(self) -> list[batching.Indices]:
        """The batches of the epoch under way, those of all processes."""
        config, epoch = self.config, self.place.epoch
        indices = batching.epoch_indices(self.data.sizes, config.seed, epoch)
        group = self.accelerator.num_processes * config.accumulate
        lengths = self.data.pairs.lengths
        try:
            return batching.plan(lengths, indices, config.batch_tokens, config.seed, epoch, group)
        except ValueError as error:
            raise UserError(f"{error}. Change --batch-tokens or --max-len, or give more text") from error

    def run(self) -> str:
        """Trains until a limit, a signal or patience ends it; returns which."""
        keep_freed_memory()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic() - self.place.seconds
        self._count()
        with StopRequest() as stop:
            ended = limit_reached(self.place, self.config)
            while not ended:
                ended = self._epoch(stop)
        interrupted = ended.startswith("stopped")
        if not self.place.finished:
            self._save("last", self.averaged.state_dict(), resumable=True)
            if not interrupted:
                self._finish()
        self.accelerator.wait_for_everyone()
        logger.info("%s, at step %d", ended, self.place.step)
        return ended

    def _epoch(self, stop: StopRequest) -> str:
        """The rest of the epoch under way; returns what ended training, if anything did."""
        plan, seed, epoch = self._plan(), self.config.seed, self.place.epoch
        rank, world_size = self.accelerator.process_index, self.accelerator.num_processes
        turns = batching.steps(plan, rank, world_size, self.config.accumulate)
        self.turns = len(turns)
        for turn in turns[self.place.position :]:
            seeds = [seed_of(seed, epoch, i) for i in turn]
            batches = [self._micro_batch(plan[i], s) for i, s in zip(turn, seeds, strict=True)]
            mine = sum(int((batch.tgt_out != PAD_ID).sum()) for batch in batches)
            seconds = (time.monotonic() - self._started) / world_size
            n_tokens, seconds, stops = self._sum(mine, seconds, bool(stop.reason))
            self.place = dataclasses.replace(self.place, seconds=seconds)
            if stops:
                return f"stopped by {stop.reason or 'a signal to another process'}"
            self._loss += self._step(batches, seeds, n_tokens)
            self._tokens += n_tokens
            step, position = self.place.step + 1, self.place.position + 1
            self.place = dataclasses.replace(
                self.place, step=step, position=position, finished=False
            )
            if position == len(turns):
                self.place = dataclasses.replace(self.place, epoch=epoch + 1, position=0)
            ended = self._after_step()
            if ended:
                return ended
        return ""

    def _after_step(self) -> str:
        """Reports, validates and saves where it is time to; returns what ends training."""
        config, step = self.config, self.place.step
        if step % config.log_every == 0 or not step % config.eval_every or not step % config.save_every:
            self._report()
        if step % config.eval_every == 0:
            self._validate()
            self._keep_for_average()
        ended = limit_reached(self.place, config)
        if step % config.save_every == 0 and not ended:
            self._save("last", self.averaged.state_dict(), resumable=True)
        return ended

    def _count(self) -> None:
        """Starts a new stretch of reporting."""
        self._loss, self._tokens = torch.zeros((), device=self.device), 0.0
        self._since = time.monotonic()

    def _report(self) -> None:
        """A line and a record of the steps since the last one; a loss that is not finite ends all."""
        (loss,) = self._sum(float(self._loss))
        place, config = self.place, self.config
        if not math.isfinite(loss):
            raise UserError(
                f"expected a finite loss, got {loss} before step {place.step}. The checkpoint in "
                f"{self.folder / 'last'} is from before; lower --lr-scale or raise --warmup"
            )
        record = {
            "event": "train",
            "step": place.step,
            "epoch": round(place.epoch + place.position / self.turns, 3),
            "loss": loss / self._tokens,
            "lr": self.optimizer.param_groups[0]["lr"],
            "tokens_per_second": self._tokens / (time.monotonic() - self._since),
            "seconds": round(place.seconds, 1),
        }
        done = share_done(place, config, self.turns)
        left = place.seconds * (1 - done) / done if done else None
        self._record(record, progress_line(record, left))
        self._count()

    def _record(self, record: Mapping[str, Any], line: str) -> None:
        if not self.accelerator.is_main_process:
            return
        logger.info("%s", line)
        append(self.folder, record)
        numbers = {k: v for k, v in record.items() if isinstance(v, float)}
        self.accelerator.log(numbers, step=self.place.step)

    # Validation

    def _scores(self, model: Transformer) -> dict[str, float]:
        """Loss in nats a token on the development pairs, and BLEU on the first of them."""
        lengths = tuple(np.array([len(ids) + 1 for ids in side]) for side in zip(*self._dev, strict=True))
        total = n_tokens = 0.0
        every = np.arange(len(self._dev))
        budget = max(self.config.batch_tokens, int(sum(lengths).max()))
        with torch.inference_mode():
            for rows in batching.plan((lengths[0], lengths[1]), every, budget, 0, 0):
                batch = batching.collate([self._dev[i] for i in rows]).to(self.device)
                loss, n = cross_entropy(model(batch.src, batch.tgt_in), batch.tgt_out, PAD_ID)
                total, n_tokens = total + float(loss), n_tokens + float(n)
        scores = {"loss": total / n_tokens}
        if self.config.eval_pairs:
            src, tgt = zip(*self.dev[: self.config.eval_pairs], strict=True)
            translator = Translator(model, self.data.tokenizer, self.langs, name="validation")
            scores["bleu"] = bleu([t.text for t in translator.translate(src)], tgt)
        return scores

    def _validate(self, model: Transformer | None = None, name: str = "validation") -> None:
        """Scores the averaged weights, or others, and keeps them if they are the best so far."""
        if not self._dev:
            return
        model = model or self.averaged
        place, better, score = self.place, False, 0.0
        if self.accelerator.is_main_process:
            scores = self._scores(model)
            score = scores.get("bleu", -scores["loss"])
            text = "  ".join(f"{key} {value:.3f}" for key, value in scores.items())
            record = {"event": name, "step": place.step, **scores, "seconds": round(place.seconds, 1)}
            self._record(record, f"step {place.step:>6}  {name}: {text}")
        (score,) = self._sum(score if self.accelerator.is_main_process else 0.0)
        better = place.best is None or score > place.best
        found = {"best": score, "best_step": place.step, "stale": 0} if better else {}
        kept = {"stale": place.stale + 1} if not better else {}
        self.place = dataclasses.replace(place, validated=place.step, **found, **kept)
        if better:
            self._save("best", model.state_dict())
        self._count()

    def _keep_for_average(self) -> None:
        """Keeps the weights of this step beside those of the last few."""
        if not self.config.average or not self.accelerator.is_main_process:
            return
        self._save(f"{STEPS}/step-{self.place.step:08}", self.model.state_dict())
        for old in self._kept_steps()[: -self.config.average]:
            shutil.rmtree(old)

    def _kept_steps(self) -> list[Path]:
        """Checkpoints kept for averaging, the oldest first, none later than the place."""
        found = sorted((self.folder / STEPS).glob("step-*"))
        return [path for path in found if int(path.name[5:]) <= self.place.step]

    def _finish(self) -> None:
        """The last word: validates the end, tries the average of the last checkpoints, saves."""
        if self.place.validated != self.place.step:
            self._validate()
        kept = self._kept_steps()[-self.config.average :] if self.config.average else []
        if len(kept) > 1 and self._dev:
            mean = copy.deepcopy(self.averaged)
            mean.load_state_dict(checkpoint.average(kept))
            self._validate(mean, f"average of {len(kept)}")
        if not self._dev:
            self._save("best", self.averaged.state_dict())
        self.place = dataclasses.replace(self.place, finished=True)
        self._save("last", self.averaged.state_dict(), resumable=True)


def check_same_run(folder: Path, settings: Mapping[str, Any]) -> None:
    """Notes what a run is made of, or compares with what was noted; a difference is a UserError."""
    path = folder / RUN
    if path.is_file():
        found = differences(json.loads(path.read_text(encoding="utf-8")), settings, FREE)
        if found:
            raise UserError(
                f"expected the settings that the run in {folder} was begun with, but "
                f"{'; '.join(found)}. Give the same command, or another --output"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint.write_text(path, json.dumps(dict(settings), indent=2) + "\n")
