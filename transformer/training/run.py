"""The folder of a training run: what is saved in it, what is kept, and how one goes on from it.

run.json         the settings that the run was begun with
metrics.jsonl    a record for each report and each validation
last/            the checkpoint to go on from
best/            the checkpoint to translate with
steps/           the weights of the last few validations, to be averaged
"""

import dataclasses
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.locate import METRICS, read_metrics
from transformer.config import Direction, ModelConfig, TrainConfig, UserError
from transformer.corpus.prepare import PreparedCorpus
from transformer.training.progress import Place, differences, model_card

RUN, LAST, BEST, STEPS = "run.json", "last", "best", "steps"
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, as torch names them
# What may differ between two starts of one run: its limits, and how often it speaks.
FREE = (
    "max_steps", "max_epochs", "max_minutes", "cooldown", "patience",
    "save_every", "log_every", "track",
)  # fmt: skip


def begun_with(folder: Path, name: str) -> Any:
    """A setting that the run of a folder was begun with; None where there is no run yet."""
    path = folder / RUN
    return json.loads(path.read_text(encoding="utf-8")).get(name) if path.is_file() else None


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
        place: Place,
        training: tuple[nn.Module, torch.optim.Optimizer] | None = None,
    ) -> None:
        """Writes a checkpoint; with model and optimiser it is one to go on from."""
        facts = {
            "optimiser steps": place.step,
            "passes over the data": place.epoch,
            "minutes of training": round(place.seconds / 60, 1),
            "best validation score": place.best,
            **self.machine,
        }
        card = model_card(self.model_config, self.config, self.data.report, self.directions, facts)
        state = (_tensors(*training), dataclasses.asdict(place)) if training else None
        checkpoint.save(
            self.path / name,
            weights,
            self.model_config,
            self.data.tokenizer,
            self.directions,
            card,
            state,
        )

    def restore(
        self, model: nn.Module, averaged: nn.Module, optimizer: torch.optim.Optimizer
    ) -> Place | None:
        """Puts weights and moments back as the last checkpoint holds them, where there is one."""
        if checkpoint.existing(self.path / LAST) is None:
            return None
        tensors, values = checkpoint.load_training(self.path / LAST)
        place = Place(**values)
        for name, parameter in model.named_parameters():
            parameter.data.copy_(tensors[f"weights.{name}"])
            moments = {m: tensors[f"{m}.{name}"].to(parameter.device) for m in MOMENTS}
            step = torch.tensor(float(place.step), device=parameter.device)
            optimizer.state[parameter] = {"step": step, **moments}
        averaged.load_state_dict(checkpoint.load_weights(self.path / LAST))
        return place

    def forget_after(self, step: int) -> None:
        """Drops the records of steps that will be done again."""
        kept = [record for record in read_metrics(self.path) if record["step"] <= step]
        text = "".join(json.dumps(record) + "\n" for record in kept)
        checkpoint.write_text(self.path / METRICS, text)

    def keep(self, weights: Mapping[str, Tensor], place: Place) -> None:
        """Keeps the weights of this step beside those of the last few."""
        self.save(f"{STEPS}/step-{place.step:08}", weights, place)
        for old in self.kept(place.step)[: -self.config.average]:
            shutil.rmtree(old)

    def kept(self, step: int) -> list[Path]:
        """The checkpoints kept for averaging, oldest first, none later than the step."""
        found = sorted((self.path / STEPS).glob("step-*"))
        return [path for path in found if int(path.name.removeprefix("step-")) <= step]


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The weights under training and both moments of Adam, by parameter name."""
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        state = optimizer.state.get(parameter, {})
        tensors[f"weights.{name}"] = parameter
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = state.get(moment, torch.zeros_like(parameter))
    return tensors
