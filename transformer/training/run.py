"""A training run: its state and limits, its records and card, what it saves, how it goes on.

run.json         the settings that the run was begun with
metrics.jsonl    a record for each report and each validation
last/            the checkpoint to go on from, with the moments of the optimiser
best/            the checkpoint to translate with
steps/           the weights of the last few validations, to be averaged
.lock            the process that trains there
"""

import contextlib
import dataclasses
import enum
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Self

import torch
from torch import Tensor, nn

from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import METRICS, STATE, STATE_VALUES, read_json, read_metrics
from transformer.checkpoint.tensors import weight_shapes
from transformer.config import Direction, ModelConfig, TrainConfig, UserError
from transformer.corpus.prepared import PreparedCorpus
from transformer.files import existing, write_text

RUN, LAST, BEST, STEPS = "run.json", "last", "best", "steps"
Tensors = Mapping[str, Tensor]
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, as torch names them
# What may differ between two starts of one run: its limits, and how often it speaks.
FREE = (
    "max_steps", "max_epochs", "max_minutes", "cooldown", "patience",
    "save_every", "log_every", "track", "report_to", "loader_workers", "threads",
)  # fmt: skip
DECIDED = {"warmup": 0, "fall": 0, "end": 0, "limits": "", "probed": 0.0}


@dataclasses.dataclass(frozen=True, slots=True)
class TrainingState:
    """Where training stands: all that a run remembers beside weights and optimiser."""

    step: int = 0  # optimiser steps done
    epoch: int = 0  # passes done
    position: int = 0  # steps done of the pass under way
    seconds: float = 0.0  # of training, all starts together
    best: float | None = None  # validation score, higher is better
    best_step: int = 0
    stale: int = 0  # validations since the best one
    validated: int = 0  # step of the latest validation
    finished: bool = False  # a limit was reached and the last word said
    warmup: int = 0  # steps of it, decided where the settings leave it open
    fall: int = 0  # step after which the rate falls, decided
    end: int = 0  # last step, after which it would be zero
    limits: str = ""  # for which that was decided
    probed: float = 0.0  # seconds that the first steps took, which tell little of the pace

    def after_step(self, steps_per_epoch: int) -> Self:
        """Return the state one optimiser step further, in the next epoch after its last step."""
        ends, position = divmod(self.position + 1, steps_per_epoch)
        return dataclasses.replace(
            self, step=self.step + 1, epoch=self.epoch + ends, position=position, finished=False
        )

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The state that a checkpoint was saved with; anything else is a UserError."""
        path = folder / STATE_VALUES
        values = {**DECIDED, **read_json(path)}  # which older states do not have
        kinds: dict[str, Any] = {
            field.name: type(field.default) for field in dataclasses.fields(cls)
        }
        kinds |= {"seconds": (int, float), "best": (int, float, NoneType)}
        wrong = sorted(kinds.keys() ^ values.keys()) or [
            name for name, value in values.items()
            if not isinstance(value, kinds[name])
            or isinstance(value, bool) != (name == "finished")
            or not (isinstance(value, str | NoneType)
                    or (-(2**63) if name == "best" else 0) <= value < 2**63)
        ]  # fmt: skip
        if wrong:
            raise UserError(
                f"expected where training stands in {path}, got "
                f"{wrong[0]} {str(values.get(wrong[0]))[:40]}"
            )
        return cls(**values)


class Ending(enum.Enum):
    """Why training ends: the limit that is reached, in words for `TrainConfig`, or a signal."""

    STEPS = "reached {max_steps} steps"
    EPOCHS = "reached {max_epochs} epochs"
    MINUTES = "reached {max_minutes:g} minutes"
    FALLEN = "the rate has fallen to zero, within {max_minutes:g} minutes"
    PATIENCE = "no better score in {patience} validations"
    STOPPED = "stopped by a signal"

    def describe(self, config: TrainConfig) -> str:
        """The same with the limit's number."""
        return self.value.format_map(dataclasses.asdict(config))


def limits_of(config: TrainConfig) -> str:
    """The limits of a run in one text."""
    return f"{config.max_steps} steps, {config.max_epochs} epochs, {config.max_minutes:g} minutes"


def limit_reached(state: TrainingState, config: TrainConfig) -> Ending | None:
    """Which limit ends training here; None where none does."""
    has_fallen = state.limits == limits_of(config) and state.step >= state.end
    reached = {
        Ending.STEPS: config.max_steps and state.step >= config.max_steps,
        Ending.EPOCHS: config.max_epochs and state.epoch >= config.max_epochs,
        Ending.MINUTES: config.max_minutes and state.seconds >= 60 * config.max_minutes,
        Ending.FALLEN: config.max_minutes and has_fallen,
        Ending.PATIENCE: config.patience and state.stale >= config.patience,
    }
    return next((ending for ending, is_reached in reached.items() if is_reached), None)


def share_done(state: TrainingState, config: TrainConfig, steps_per_epoch: int) -> float:
    """How much of the nearest limit is used up, 0 to 1."""
    epochs = state.epoch + state.position / max(1, steps_per_epoch)
    done = state.step, epochs, state.seconds / 60
    limits = config.max_steps, config.max_epochs, config.max_minutes
    parts = (part / limit for part, limit in zip(done, limits, strict=True) if limit)
    return min(1.0, max(parts, default=0.0))


def _table(title: str, values: Mapping[str, Any]) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in values.items())
    return f"## {title}\n\n| setting | value |\n|---|---|\n{rows}\n"


def model_card(
    model: ModelConfig,
    config: TrainConfig,
    report: Mapping[str, Any],
    directions: Sequence[Direction],
    facts: Mapping[str, Any],
) -> str:
    """The README of a checkpoint, in Markdown: what it is and how it was trained."""
    kept = [(source["spec"], source["counts"].get("kept", 0)) for source in report["sources"]]
    data = {Path(spec).name: f"{pairs:,} pairs kept" for spec, pairs in kept}
    shape, settings = dataclasses.asdict(model), dataclasses.asdict(config)
    tables = {"How it was trained": facts, "Training data": data, "Model": shape,
              "Training settings": settings}  # fmt: skip
    return "\n".join([
        f"# Translation model {' and '.join(' to '.join(pair) for pair in directions)}\n",
        "An encoder-decoder Transformer (Vaswani et al. 2017). Weights in `model.safetensors`,",
        "shape in `config.json`, joint SentencePiece vocabulary in `tokenizer.model`.\n",
        *(_table(title, values) for title, values in tables.items()),
    ])  # fmt: skip


def check_same_run(folder: Path, settings: Mapping[str, Any]) -> None:
    """Notes what a run is made of, or compares with what was noted; a difference is a UserError."""
    path = folder / RUN
    if not path.exists():
        if existing(folder / LAST):
            raise UserError(
                f"expected {path}, the settings that the run was begun with: put it back, or go on "
                f"in another --output with --resume-from {folder / LAST}"
            )
        folder.mkdir(parents=True, exist_ok=True)
        return write_text(path, json.dumps(dict(settings), indent=2) + "\n")
    before = read_json(path)
    changes = [
        f"{name} was {before.get(name)!r} and is {settings.get(name)!r}"
        for name in sorted({*before, *settings} - {*FREE})
        if before.get(name) != settings.get(name)
    ]
    if changes:
        raise UserError(
            f"expected the settings that the run in {folder} was begun with, but "
            f"{'; '.join(changes)}. Give the same command, or another --output"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class RunFolder:
    """Saves and restores; all that it writes appears whole or not at all."""

    path: Path
    model_config: ModelConfig
    config: TrainConfig
    data: PreparedCorpus
    directions: tuple[Direction, ...]
    machine: Mapping[str, Any]

    def save(
        self,
        name: str,
        weights: Mapping[str, Tensor],
        state: TrainingState,
        training: tuple[nn.Module, torch.optim.Optimizer] | None = None,
    ) -> None:
        """Writes a checkpoint; with model and optimiser it is one to go on from."""
        facts = {
            "optimiser steps": state.step,
            "of them warm-up": self.config.warmup or state.warmup,
            "passes over the data": state.epoch,
            "minutes of training": round(state.seconds / 60, 1),
            "best validation score": state.best,
            **self.machine,
        }
        card = model_card(self.model_config, self.config, self.data.report, self.directions, facts)
        tensors = _tensors(*training) if training else {}
        checkpoint.save(
            self.path / name, weights, self.model_config, self.data.tokenizer, self.directions,
            card, (tensors, dataclasses.asdict(state)),
        )  # fmt: skip

    @property
    def has_last(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return existing(self.path / LAST) is not None

    def restore(
        self,
        model: nn.Module,
        averaged: nn.Module,
        optimizer: torch.optim.Optimizer,
        source: Path | None = None,
    ) -> TrainingState | None:
        """Puts weights and moments back as the last checkpoint holds them, where there is one.

        Or as `source` holds them, the moments zero where it has none. A checkpoint that is
        broken, or gone while others are there, is a UserError, which names the newest one of the
        run that is whole.
        """
        folder = source or existing(self.path / LAST)
        if folder is None:
            if others := [path for path in (self.path / STEPS, self.path / BEST) if path.exists()]:
                raise UserError(
                    f"expected {self.path / LAST} beside {others[0]} ({self._way_out()})"
                )
            return None
        try:
            opened, state, tensors = self._read(folder)
        except UserError as error:
            raise UserError(f"{error} ({self._way_out()})") from error
        for name, parameter in model.named_parameters():
            parameter.data.copy_(tensors.get(f"weights.{name}", opened[name]))
            moments = {m: tensors.get(f"{m}.{name}", torch.zeros_like(parameter)) for m in MOMENTS}
            moments = {m: moment.to(parameter.device) for m, moment in moments.items()}
            step = torch.tensor(float(state.step), device=parameter.device)
            optimizer.state[parameter] = {"step": step, **moments}
        averaged.load_state_dict(opened)
        return state if existing(self.path / BEST) else dataclasses.replace(state, best=None)

    def _read(self, folder: Path) -> tuple[Tensors, TrainingState, Tensors]:
        """Weights and state of a checkpoint of this run's model; of `last` the moments, too."""
        opened = checkpoint.load(folder)
        mine = self.model_config, self.data.tokenizer.model, self.directions
        if (opened.model.config, opened.tokenizer.model, opened.directions) != mine:
            raise UserError(f"expected the model and the vocabulary of this run in {folder}")
        weights, state = opened.model.state_dict(), TrainingState.read(opened.folder)
        is_last = opened.folder.name in (LAST, f".{LAST}.old")
        if not (is_last or (opened.folder / STATE).exists()):
            return weights, state, {}
        shapes = [
            (f"{kind}.{name}", shape)
            for kind in ("weights", *MOMENTS)
            for name, shape in weight_shapes(self.model_config)
        ]
        return weights, state, checkpoint.load_training(opened.folder, shapes)[0]

    def _way_out(self) -> str:
        """What to do about a broken checkpoint: take the newest other one that is whole."""
        whole = []
        for folder in (*(self.path / STEPS).glob("step-*"), self.path / BEST):
            with contextlib.suppress(UserError):
                whole.append((self._read(folder)[1].step, folder))
        if not whole:
            return f"no other checkpoint of {self.path} is whole: name another --output"
        step, folder = max(whole)
        return f"go on with --resume-from {folder}, the newest whole one, of step {step}"

    def forget_after(self, step: int) -> None:
        """Drops the records of steps that will be done again."""
        if not (self.path / METRICS).exists():
            return
        kept = [record for record in read_metrics(self.path) if record["step"] <= step]
        text = "".join(json.dumps(record) + "\n" for record in kept)
        write_text(self.path / METRICS, text)

    def keep(self, weights: Mapping[str, Tensor], state: TrainingState) -> None:
        """Keeps the weights of this step beside those of the last few."""
        self.save(f"{STEPS}/step-{state.step:08}", weights, state)
        for old in self.kept(state.step)[: -self.config.average]:
            shutil.rmtree(old)

    def kept(self, step: int) -> list[Path]:
        """The checkpoints kept for averaging, oldest first, none later than the step."""
        folders = sorted((self.path / STEPS).glob(f"step-{8 * '[0-9]'}"))
        return [path for path in folders if int(path.name.removeprefix("step-")) <= step]


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The weights under training and both moments of Adam, by parameter name."""
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        state = optimizer.state.get(parameter, {})
        tensors[f"weights.{name}"] = parameter
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = state.get(moment, torch.zeros_like(parameter))
    return tensors
