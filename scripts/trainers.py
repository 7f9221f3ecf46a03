"""Every training loop behind one method: this project's own, and a plain one for each rival.

All begin with the same weights and get the same batches, seeds and learning rates, from files
that `write_task` made. Knows steps; not time, nor other processes.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import rivals
import torch
from rivals import compute_type, family
from torch import Tensor, nn
from training_rivals import Rival, hugging_face, joey, torch_transformer

from transformer import optim
from transformer.batching import Batch, TokenPairs
from transformer.config import PAD_ID, TrainConfig, UserError
from transformer.corpus import Prepared
from transformer.examples import seed_of
from transformer.launch import Accelerator, make_accelerator
from transformer.model import Transformer
from transformer.tokenizer import Tokenizer
from transformer.training import Trainer

BATCHES, TOKENIZER = "batches.pt", "tokenizer.model"
OURS = "this project"
RIVALS: Mapping[str, Callable[[Transformer, float], Rival]] = {
    "Hugging Face": hugging_face,
    "torch.nn.Transformer": torch_transformer,
    "JoeyNMT": joey,
}
NAMES = tuple(f"{one} {kind}" for one in (OURS, *RIVALS) for kind in ("float32", "bfloat16"))
PRECISIONS: Mapping[str, Literal["float32", "bfloat16"]] = {
    "float32": "float32",
    "bfloat16": "bfloat16",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """What is to be learnt, and how: the batches in their order, on a device."""

    config: TrainConfig
    batches: Sequence[Batch]

    def batch(self, number: int) -> Batch:
        """That of a step; after the last one they begin again."""
        return self.batches[number % len(self.batches)]

    def seed(self, number: int) -> int:
        """That of the dropout of a step."""
        return seed_of(self.config.seed, number)


class TrainsSteps(Protocol):
    """A training loop that is ready."""

    task: Task
    ways: tuple[str, ...]  # to compute attention; the first is used until another is chosen
    device: torch.device

    def choose(self, way: str) -> None:
        """Takes another way."""

    def step(self, number: int) -> Tensor:
        """Learns from the batch of a step, counted from 0: -> its loss in nats, summed, ()."""


def n_targets(batch: Batch) -> int:
    """Target tokens without padding."""
    return int((batch.tgt_out != PAD_ID).sum())


def write_task(
    folder: Path,
    model: Transformer,
    config: TrainConfig,
    tokenizer: Tokenizer,
    batches: list[Batch],
) -> None:
    """Leaves in a folder what all loops begin with."""
    rivals.write_weights(model, folder, [])
    (folder / TOKENIZER).write_bytes(tokenizer.model)
    rows = [[batch.src, batch.tgt_in, batch.tgt_out] for batch in batches]
    torch.save({"config": dataclasses.asdict(config), "batches": rows}, folder / BATCHES)


def open_trainer(name: str, folder: Path) -> TrainsSteps:
    """The named loop with the weights of a folder; UserError where it cannot be had."""
    contents = torch.load(folder / BATCHES, weights_only=True)
    precision = PRECISIONS[compute_type(name)]
    config = dataclasses.replace(TrainConfig(**contents["config"]), precision=precision)
    accelerator = make_accelerator(config, folder)
    batches = [Batch(*rows).to(accelerator.device) for rows in contents["batches"]]
    task = Task(config, batches)
    model = rivals.read_weights(folder)
    if family(name) == OURS:
        return Ours(model, task, folder, accelerator)
    if model.config.positions != "sinusoidal":
        raise UserError("it is built with --positions sinusoidal only")
    return Plain(model, task, RIVALS[family(name)], accelerator)


class Ours:
    """The step that training takes, of the class that takes it there."""

    ways: tuple[str, ...] = ("as in training",)

    def __init__(
        self, model: Transformer, task: Task, folder: Path, accelerator: Accelerator
    ) -> None:
        tokenizer = Tokenizer.load(folder / TOKENIZER)
        nothing = Prepared(TokenPairs([], []), (), tokenizer, {})
        self.task, self.device = task, accelerator.device
        self.trainer = Trainer(
            folder / "run", model.config, task.config, nothing, [], [("es", "en")], accelerator
        )
        for each in (self.trainer.model, self.trainer.averaged):
            each.load_state_dict(model.state_dict())

    def choose(self, way: str) -> None:
        """There is one."""

    def step(self, number: int) -> Tensor:
        """With the schedule, the clipping and the average of the weights."""
        batch = self.task.batch(number)
        self.trainer.place = dataclasses.replace(self.trainer.place, step=number)
        return self.trainer.update([batch], [self.task.seed(number)], n_targets(batch))


class Plain:
    """A plain loop: autocast, AdamW without decay, clipping, and the same schedule."""

    def __init__(
        self,
        model: Transformer,
        task: Task,
        build: Callable[[Transformer, float], Rival],
        accelerator: Accelerator,
    ) -> None:
        self.task, self.device, self.width = task, accelerator.device, model.config.d_model
        self.rival = build(model, task.config.label_smoothing)
        self.rival.model.to(self.device).train()
        self.ways = tuple(self.rival.ways)
        self._way = self.rival.ways[self.ways[0]]
        self._low = accelerator.mixed_precision == "bf16"
        self._trained = [p for p in self.rival.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self._trained, lr=0.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
        )

    def choose(self, way: str) -> None:
        """Its own option, or the kernel that torch is told to take."""
        self._way = self.rival.ways[way]

    def step(self, number: int) -> Tensor:
        """As a user writes it."""
        batch, config = self.task.batch(number), self.task.config
        torch.manual_seed(self.task.seed(number))
        low = torch.autocast(self.device.type, torch.bfloat16) if self._low else None
        with low or contextlib.nullcontext(), self._way():
            loss = self.rival.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self._trained, config.clip or math.inf)
        rate = optim.learning_rate(number + 1, self.width, config.warmup, config.lr_scale)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach() * n_targets(batch)
