"""A training run: its state, its limits, its model card, and the folder that it resumes from.

run.json         the settings that the run was started with
metrics.jsonl    a record for each report and each validation
last/            the checkpoint to resume from, with the moments of the optimiser
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

from transformer.checkpoint import locate
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.tensors import weight_shapes
from transformer.config import Direction, ModelConfig, TrainConfig, UserError
from transformer.corpus.prepared import PreparedCorpus
from transformer.files import latest_version, write_text

RUN, LAST, BEST, STEPS = "run.json", "last", "best", "steps"
Tensors = Mapping[str, Tensor]
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, as torch names them
# Settings that may change when a run is resumed: its limits, and how often it reports.
MUTABLE_SETTINGS = (
    "max_steps", "max_epochs", "max_minutes", "cooldown", "patience",
    "save_every", "log_every", "track", "report_to", "loader_workers", "threads",
)  # fmt: skip
LATER_FIELDS: dict[str, Any] = {"warmup": 0, "fall": 0, "end": 0, "limits": "", "probed": 0.0}


@dataclasses.dataclass(frozen=True, slots=True)
class TrainingState:
    """The progress of a run: all that a checkpoint saves besides weights and optimiser.

    `step` optimiser steps are taken, `epoch` passes completed and `position` steps of the present
    pass, in `seconds` of training over all starts. `best` is the best validation score (higher is
    better), `stale` the number of validations since, `validated` the step of the latest one;
    `finished`: a limit was reached and the last weights are validated. `warmup` is in steps, 0 if
    the settings have it. After step `fall` the rate falls, to zero after `end`, as resolved for
    `limits`, a text of `describe_limits`; before, these are empty. `probed` are the seconds of the
    first steps, which are slower.
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    validated: int = 0
    finished: bool = False
    warmup: int = 0
    fall: int = 0
    end: int = 0
    limits: str = ""
    probed: float = 0.0

    def after_step(self, steps_per_epoch: int) -> Self:
        """Return the state one optimiser step further, in the next epoch after its last step."""
        ends, position = divmod(self.position + 1, steps_per_epoch)
        return dataclasses.replace(
            self, step=self.step + 1, epoch=self.epoch + ends, position=position, finished=False
        )

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the state saved in a checkpoint; anything else is a UserError."""
        path = folder / locate.TRAINING_VALUES
        values = LATER_FIELDS | locate.read_json(path)  # states of older versions lack the former
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
                f"expected a training state in {path}, got "
                f"{wrong[0]} {str(values.get(wrong[0]))[:40]}"
            )
        return cls(**values)


class StopReason(enum.Enum):
    """Why training stopped: a signal, or a limit; a value is a format string of `TrainConfig`."""

    STEPS = "reached {max_steps} steps"
    EPOCHS = "reached {max_epochs} epochs"
    MINUTES = "reached {max_minutes:g} minutes"
    COOLDOWN = "the rate has fallen to zero, within {max_minutes:g} minutes"
    PATIENCE = "no better score in {patience} validations"
    SIGNAL = "stopped by a signal"

    def describe(self, config: TrainConfig) -> str:
        """Return the reason in words, with the number of the limit."""
        return self.value.format_map(dataclasses.asdict(config))


def describe_limits(config: TrainConfig) -> str:
    """Return the limits of a run in one text."""
    return f"{config.max_steps} steps, {config.max_epochs} epochs, {config.max_minutes:g} minutes"


def limit_reached(state: TrainingState, config: TrainConfig) -> StopReason | None:
    """Return the limit that is reached, exhausted patience among them, None if none is."""
    is_cooled = state.limits == describe_limits(config) and state.step >= state.end
    reached = {
        StopReason.STEPS: config.max_steps and state.step >= config.max_steps,
        StopReason.EPOCHS: config.max_epochs and state.epoch >= config.max_epochs,
        StopReason.MINUTES: config.max_minutes and state.seconds >= 60 * config.max_minutes,
        StopReason.COOLDOWN: config.max_minutes and is_cooled,
        StopReason.PATIENCE: config.patience and state.stale >= config.patience,
    }
    return next((reason for reason, is_reached in reached.items() if is_reached), None)


def fraction_done(state: TrainingState, config: TrainConfig, steps_per_epoch: int) -> float:
    """Return the fraction of the nearest limit that is used up, 0 to 1; 0 without a limit."""
    epochs = state.epoch + state.position / max(1, steps_per_epoch)
    used = (
        (state.step, config.max_steps),
        (epochs, config.max_epochs),
        (state.seconds / 60, config.max_minutes),
    )
    return min(1.0, max((part / limit for part, limit in used if limit), default=0.0))


def model_card(
    model: ModelConfig, config: TrainConfig, report: Mapping[str, Any],
    directions: Sequence[Direction], facts: Mapping[str, Any],
) -> str:  # fmt: skip
    """Return the README of a checkpoint, in Markdown: what it is and how it was trained.

    `report` is that of its PreparedCorpus, `facts` {title: value} on how it was trained.
    """
    kept = [(source["spec"], source["counts"].get("kept", 0)) for source in report["sources"]]
    data = {Path(spec).name: f"{pairs:,} pairs kept" for spec, pairs in kept}
    shape, settings = dataclasses.asdict(model), dataclasses.asdict(config)
    tables = {"How it was trained": facts, "Training data": data, "Model": shape,
              "Training settings": settings}  # fmt: skip
    card = (
        f"# Translation model {' and '.join(' to '.join(pair) for pair in directions)}\n\n"
        "An encoder-decoder Transformer (Vaswani et al. 2017). Weights in `model.safetensors`,\n"
        "shape in `config.json`, joint SentencePiece vocabulary in `tokenizer.model`.\n"
    )
    for title, values in tables.items():
        rows = "".join(f"| {name} | {value} |\n" for name, value in values.items())
        card += f"\n## {title}\n\n| setting | value |\n|---|---|\n{rows}"
    return card


def check_same_run(folder: Path, settings: Mapping[str, Any]) -> None:
    """Save the settings of a new run, or compare them with those that it was begun with.

    UserError if one that is not in MUTABLE_SETTINGS has changed, or if the saved ones are lost.
    """
    path = folder / RUN
    if not path.exists():
        if latest_version(folder / LAST):
            raise UserError(
                f"expected {path}, the settings that the run was begun with: put it back, or go on "
                f"in another --output with --resume-from {folder / LAST}"
            )
        folder.mkdir(parents=True, exist_ok=True)
        return write_text(path, json.dumps(dict(settings), indent=2) + "\n")
    before = locate.read_json(path)
    changes = [
        f"{name} was {before.get(name)!r} and is {settings.get(name)!r}"
        for name in sorted({*before, *settings} - {*MUTABLE_SETTINGS})
        if before.get(name) != settings.get(name)
    ]
    if changes:
        raise UserError(
            f"expected the settings that the run in {folder} was begun with, but "
            f"{'; '.join(changes)}. Give the same command, or another --output"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class RunFolder:
    """Atomic checkpoints of a run, `machine` {title: value} in the cards; UserError on failure."""

    path: Path
    model_config: ModelConfig
    config: TrainConfig
    data: PreparedCorpus
    directions: tuple[Direction, ...]
    machine: Mapping[str, Any]

    def save(
        self, name: str, weights: Mapping[str, Tensor], state: TrainingState,
        training: tuple[nn.Module, torch.optim.Optimizer] | None = None,
    ) -> None:  # fmt: skip
        """Save `weights`, to translate with, in `name`; `training` (model, optimiser) to resume."""
        facts = {
            "optimiser steps": state.step,
            "of them warm-up": self.config.warmup or state.warmup,
            "passes over the data": state.epoch,
            "minutes of training": round(state.seconds / 60, 1),
            "best validation score": state.best,
            **self.machine,
        }
        card = model_card(self.model_config, self.config, self.data.report, self.directions, facts)
        tensors = _training_tensors(*training) if training else {}
        checkpoint.save(
            self.path / name, weights, self.model_config, self.data.tokenizer, self.directions,
            card, (tensors, dataclasses.asdict(state)),
        )  # fmt: skip

    @property
    def has_last(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return latest_version(self.path / LAST) is not None

    def restore(
        self, model: nn.Module, averaged: nn.Module, optimizer: torch.optim.Optimizer,
        source: Path | None = None,
    ) -> TrainingState | None:  # fmt: skip
        """Load weights and moments of `source`, or else of the last checkpoint; return its state.

        Moments that `source` lacks are zero. A new run has no checkpoint and returns None. A
        broken checkpoint, or a missing one while others exist, is a UserError that names the
        newest intact one.
        """
        folder = source or latest_version(self.path / LAST)
        if folder is None:
            if others := [path for path in (self.path / STEPS, self.path / BEST) if path.exists()]:
                raise UserError(
                    f"expected {self.path / LAST} beside {others[0]} ({self._recovery_hint()})"
                )
            return None
        try:
            weights, state, tensors = self._read(folder)
        except UserError as error:
            raise UserError(f"{error} ({self._recovery_hint()})") from error
        for name, parameter in model.named_parameters():
            parameter.data.copy_(tensors.get(f"weights.{name}", weights[name]))
            moments = {m: tensors.get(f"{m}.{name}", torch.zeros_like(parameter)) for m in MOMENTS}
            moments = {m: moment.to(parameter.device) for m, moment in moments.items()}
            step = torch.tensor(float(state.step), device=parameter.device)
            optimizer.state[parameter] = {"step": step, **moments}
        averaged.load_state_dict(weights)
        return state if latest_version(self.path / BEST) else dataclasses.replace(state, best=None)

    def _read(self, folder: Path) -> tuple[Tensors, TrainingState, Tensors]:
        """Return a checkpoint's weights to translate with, its state and its training tensors.

        These are empty if it cannot be resumed. UserError if the model or vocabulary is another.
        """
        loaded = checkpoint.load(folder)
        own = self.model_config, self.data.tokenizer.model, self.directions
        if (loaded.model.config, loaded.tokenizer.model, loaded.directions) != own:
            raise UserError(f"expected the model and the vocabulary of this run in {folder}")
        weights, state = loaded.model.state_dict(), TrainingState.read(loaded.folder)
        is_last = loaded.folder.name in (LAST, f".{LAST}.old")
        if not (is_last or (loaded.folder / locate.TRAINING_STATE).exists()):
            return weights, state, {}
        shapes = [
            (f"{kind}.{name}", shape)
            for kind in ("weights", *MOMENTS)
            for name, shape in weight_shapes(self.model_config)
        ]
        return weights, state, checkpoint.load_training(loaded.folder, shapes)[0]

    def _recovery_hint(self) -> str:
        """Return advice for a broken checkpoint: how to resume from the newest intact one."""
        intact = []
        for folder in (*(self.path / STEPS).glob("step-*"), self.path / BEST):
            with contextlib.suppress(UserError):
                intact.append((self._read(folder)[1].step, folder))
        if not intact:
            return f"no other checkpoint of {self.path} is whole: name another --output"
        step, folder = max(intact)
        return f"go on with --resume-from {folder}, the newest whole one, of step {step}"

    def truncate_metrics(self, step: int) -> None:
        """Drop the records after `step`, from which the run resumes: it repeats those steps."""
        if not (self.path / locate.METRICS).exists():
            return
        kept = [record for record in locate.read_metrics(self.path) if record["step"] <= step]
        text = "".join(json.dumps(record) + "\n" for record in kept)
        write_text(self.path / locate.METRICS, text)

    def save_step(self, weights: Mapping[str, Tensor], state: TrainingState) -> None:
        """Save the weights of this step for averaging; delete all but the last few of these."""
        self.save(f"{STEPS}/step-{state.step:08}", weights, state)
        for old in self.step_checkpoints(state.step)[: -self.config.average]:
            shutil.rmtree(old)

    def step_checkpoints(self, step: int) -> list[Path]:
        """Return the checkpoints to average, oldest first, none later than `step`."""
        folders = sorted((self.path / STEPS).glob(f"step-{8 * '[0-9]'}"))
        return [path for path in folders if int(path.name.removeprefix("step-")) <= step]


def _training_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return `weights.NAME`, `exp_avg.NAME` and `exp_avg_sq.NAME`, 0 if missing, of parameters."""
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        state = optimizer.state.get(parameter, {})
        tensors[f"weights.{name}"] = parameter
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = state.get(moment, torch.zeros_like(parameter))
    return tensors
