"""A training step measured: this project, a Hugging Face Marian loop, torch.nn.Transformer.

    python -m scripts.benchmark.training --preset small --vocab-size 8000 --threads 2
    python -m scripts.benchmark.training --preset base --batch-tokens 65536 --pad-multiple 8

Models of one shape take steps on the same batches of random sentences, by turns, each in a process
of its own, on a GPU where there is one. This project's step moves its average of the weights too;
Marian is always post-norm. What is not installed is skipped.

Shapes: B batch, T target, L any length, D model width, V vocabulary.
"""

import argparse
import contextlib
import dataclasses
import logging
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.benchmark.copy_model import random_sentences
from scripts.benchmark.driver import Run, open_workers, peak_memory, run_rounds, speed_tables
from scripts.benchmark.tables import environment
from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import PAD_ID, ModelConfig, TrainConfig, UserError, model_config
from transformer.corpus.batching import Batch, collate, plan
from transformer.export.to_huggingface import to_huggingface_model
from transformer.model import SinusoidalPositions, Transformer, causal_mask
from transformer.training import optimizer
from transformer.training.loss import LossModel
from transformer.training.reporting import peak_flops, training_flops
from transformer.training.runtime import attention_kernel, has_fast_bfloat16, keep_freed_memory

CONFIG = TrainConfig()
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Loss = Callable[[Batch], Tensor]  # the mean of the target tokens: -> ()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What all trainers are given."""

    config: ModelConfig
    batch_tokens: int
    steps: int  # of a round
    rounds: int
    threads: int
    bfloat16: bool
    compile: bool = False
    pad_multiple: int = 1

    def batches(self) -> list[list[Batch]]:
        """Draw the batches of each round, and last those to warm up on; targets equal sources."""
        n_shares = self.rounds + 1
        n_batches = n_shares * self.steps
        texts = random_sentences(n_batches * self.batch_tokens // 40 + 200, self.config.vocab_size)
        lengths, rows = np.array([len(ids) + 1 for ids in texts]), np.arange(len(texts))
        drawn = plan((lengths, lengths), rows, self.batch_tokens, 1, 0, 1, self.pad_multiple)
        pairs = [[(texts[i], texts[i]) for i in row] for row in drawn[:n_batches]]
        batches = [collate(row, self.pad_multiple) for row in pairs]
        if DEVICE.type == "cuda":
            batches = [batch.pin_memory() for batch in batches]
        return [batches[start::n_shares] for start in range(n_shares)]


def mean_loss(logits: Tensor, target: Tensor) -> Tensor:
    """Compute the loss from all logits at once: (B, T, V), (B, T) -> ()."""
    flat, smooth = logits.flatten(0, 1), CONFIG.label_smoothing
    return F.cross_entropy(flat, target.flatten(), ignore_index=PAD_ID, label_smoothing=smooth)


def this_project(settings: Settings) -> tuple[nn.Module, Loss]:
    """Return this project's model and its loss, whose logits never exist as a whole."""
    loss_model = LossModel(Transformer(settings.config).to(DEVICE), CONFIG)
    if settings.compile:
        loss_model.compile_layers()

    def loss(batch: Batch) -> Tensor:
        total = loss_model(batch.src, batch.tgt_in, batch.tgt_out, batch.real)
        return cast(Tensor, total / batch.n_target)

    return loss_model.model, loss


def hugging_face(settings: Settings) -> tuple[nn.Module, Loss]:
    """Return a MarianMTModel, which normalises after each sublayer, and its loss."""
    logging.getLogger("transformers").setLevel(logging.ERROR)
    config = dataclasses.replace(settings.config, norm="post")
    model = to_huggingface_model(Transformer(config)).train().to(DEVICE)
    if settings.compile:
        model.compile(dynamic=True)

    def loss(batch: Batch) -> Tensor:
        output = model(batch.src, batch.src != PAD_ID, batch.tgt_in, use_cache=False)
        return mean_loss(output.logits, batch.tgt_out)

    return model, loss


def torch_transformer(settings: Settings) -> tuple[nn.Module, Loss]:
    """Return torch.nn.Transformer with embeddings, positions and output layer, and its loss."""
    config = settings.config
    embedding = nn.Embedding(config.vocab_size, config.d_model)
    nn.init.normal_(embedding.weight, std=config.d_model**-0.5)
    codes, dropout = SinusoidalPositions(config.max_len, config.d_model), nn.Dropout(config.dropout)
    layers = nn.Transformer(
        config.d_model, config.n_heads, config.n_encoder_layers, config.n_decoder_layers,
        config.d_ff, config.dropout, config.activation, batch_first=True,
        norm_first=config.norm == "pre",
    )  # fmt: skip
    for part in layers.modules():  # dropout where this project has it
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = 0.0
        elif isinstance(part, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            part.dropout.p = 0.0
    parts = nn.ModuleList([embedding, codes, layers]).to(DEVICE)
    if settings.compile:
        layers.compile(dynamic=True)

    def embed(ids: Tensor) -> Tensor:
        x = embedding(ids) * math.sqrt(config.d_model)  # (B, L, D)
        return cast(Tensor, dropout(x + codes(0, ids.size(1))))

    def loss(batch: Batch) -> Tensor:
        padding, length = batch.src == PAD_ID, batch.tgt_in.size(1)
        x = layers(
            embed(batch.src), embed(batch.tgt_in), tgt_mask=~causal_mask(length, length, DEVICE),
            src_key_padding_mask=padding, memory_key_padding_mask=padding, tgt_is_causal=True,
        )  # fmt: skip
        return mean_loss(F.linear(x, embedding.weight), batch.tgt_out)

    return parts, loss


TRAINERS: dict[str, Callable[[Settings], tuple[nn.Module, Loss]]] = {
    "this project": this_project,
    "Hugging Face Marian": hugging_face,
    "torch.nn.Transformer": torch_transformer,
}
OURS = next(iter(TRAINERS))


class Trainer:
    """A model in training: `run_round` takes a step on each batch of a round."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.settings, self.batches, self.n_steps = settings, settings.batches(), 0
        torch.manual_seed(1)
        self.model, self.loss = TRAINERS[name](settings)
        self.averaged = Transformer(settings.config).to(DEVICE) if name == OURS else None
        self.adam = optimizer.adam(self.model.parameters())

    def step(self, batch: Batch) -> None:
        """Take one step: forward, loss, backward, clipped gradient, Adam."""
        self.n_steps += 1
        low = self.settings.bfloat16
        kernel: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if self.averaged is not None or DEVICE.type == "cpu":
            kernel = attention_kernel(DEVICE, "bf16" if low else "no")
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=low), kernel:
            loss = self.loss(batch.to(DEVICE))
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CONFIG.clip)
        width = self.settings.config.d_model
        self.adam.param_groups[0]["lr"] = optimizer.learning_rate(self.n_steps, width, CONFIG)
        self.adam.step()
        self.adam.zero_grad()
        if self.averaged is not None:
            optimizer.update_average(self.averaged, self.model, CONFIG.ema, self.n_steps)

    def run_round(self, number: int) -> Run:
        """Time the steps of a round; the outputs are the target ids of each step."""
        started = time.monotonic()
        for batch in self.batches[number]:
            self.step(batch)
        on_gpu = DEVICE.type == "cuda"
        if on_gpu:
            torch.cuda.synchronize()
        seconds = time.monotonic() - started
        targets = (batch.tgt_out for batch in self.batches[number])
        outputs = [ids[ids != PAD_ID].tolist() for ids in targets]
        used = torch.cuda.max_memory_allocated() / 2**20 if on_gpu else peak_memory()
        return Run(outputs, (seconds,), used)


def start_trainer(settings: Settings, name: str) -> Callable[[int], Run]:
    """Make a trainer in its process, warm it up, and return what runs a round."""
    torch.set_num_threads(settings.threads)
    keep_freed_memory()
    trainer = Trainer(name, settings)
    trainer.run_round(settings.rounds)
    return trainer.run_round


def tables(
    rounds: Mapping[str, Sequence[Run]], skipped: Mapping[str, str], peak: float = 0.0
) -> str:
    """Format what each trainer did, and how many times as fast this project is.

    `peak` are the target tokens a second that the device's matrix products allow; 0: not known.
    """
    speeds = [statistics.median(run.tokens_per_second for run in runs) for runs in rounds.values()]
    shares = [f"{speed / peak:.0%}" if peak else "-" for speed in speeds]
    parts = [*speed_tables(rounds, [OURS], {"share of peak": shares})]
    return "\n\n".join([*parts, *(f"Skipped {name}: {why}." for name, why in skipped.items())])


def run(args: argparse.Namespace) -> None:
    """Measure all trainers that are installed, and print the machine and the tables."""
    if min(args.rounds, args.steps, args.threads) < 1:
        raise UserError("expected rounds, steps and threads of at least 1")
    print(environment(), flush=True)
    args.config = from_arguments(ModelConfig, args, base=model_config(args.preset))
    fast = has_fast_bfloat16(DEVICE)
    args.bfloat16 = fast if args.precision == "auto" else args.precision == "bfloat16"
    settings = from_arguments(Settings, args)
    with open_workers(args.trainers, partial(start_trainer, settings)) as (workers, skipped):
        rounds = run_rounds([*workers], lambda number, name: workers[name](number), args.rounds)
    peak = peak_flops(DEVICE, torch.bfloat16 if settings.bfloat16 else torch.float32)
    flops = training_flops(settings.config, 1, 1)  # sources are as long as their targets
    print(f"\n{tables(rounds, skipped, peak / flops)}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--preset", default="small", help="size of the models (default: small)")
    add("--trainers", nargs="+", default=list(TRAINERS), choices=TRAINERS, help="default: all")
    add("--batch-tokens", type=int, default=8192, help="of a step, padding counted; default: 8192")
    add("--rounds", type=int, default=5, help="turns of each (default: 5)")
    add("--steps", type=int, default=3, help="steps of a turn (default: 3)")
    add("--threads", type=int, default=2, help="threads of each (default: 2)")
    add("--compile", action="store_true", help="each by torch.compile")
    add("--pad-multiple", type=int, default=1, help="of lengths (default: 1)")
    add("--precision", choices=("auto", "float32", "bfloat16"), default="auto", help="of products")
    add_arguments(flags, ModelConfig, from_preset=True)
    args = flags.parse_args(argv)
    return run_command(lambda: run(args), "training")


if __name__ == "__main__":
    sys.exit(main())
