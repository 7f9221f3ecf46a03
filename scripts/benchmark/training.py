"""A training step measured: this project, a Hugging Face Marian loop, torch.nn.Transformer.

    python -m scripts.benchmark.training --preset small --vocab-size 8000 --threads 2
    python -m scripts.benchmark.training --preset base --batch-tokens 65536 --pad-multiple 8

Models of one shape take steps on the same batches of random sentences, by turns, each in a process
of its own, on a GPU where there is one. This project's step moves its average of the weights too;
Marian is always post-norm. What is not installed is left out, with a word.

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
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.benchmark.copy_model import sentences
from scripts.benchmark.rounds import Say, ratio, take_turns
from scripts.benchmark.tables import markdown, report
from scripts.benchmark.workers import Member, Run, open_all, peak_mib
from transformer.command import Parser, add_arguments, from_arguments, run_command
from transformer.config import PAD_ID, ModelConfig, TrainConfig, UserError, model_config
from transformer.corpus.batching import Batch, collate, plan
from transformer.export.to_huggingface import huggingface_model
from transformer.model import SinusoidalPositions, Transformer, causal_mask
from transformer.training import optimizer
from transformer.training.loss import LossModel
from transformer.training.reporting import peak_flops, training_flops
from transformer.training.runtime import attention_kernel, has_fast_bfloat16, keep_freed_memory

HEADS = ("trainer", "target tokens/s", "least", "most", "ms/step", "share of peak", "MiB")
CONFIG = TrainConfig()
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Loss = Callable[[Batch], Tensor]  # the mean of the target tokens: -> ()


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What all trainers are given."""

    config: ModelConfig
    batch_tokens: int
    n_batches: int  # of a round, each a step
    n_rounds: int
    threads: int
    bfloat16: bool
    compile: bool = False
    multiple: int = 1  # that lengths are padded to

    def shares(self) -> list[list[Batch]]:
        """The batches of each round, and last those to warm up on; targets are as their sources."""
        n_shares = self.n_rounds + 1
        n_needed = n_shares * self.n_batches
        texts = sentences(n_needed * self.batch_tokens // 40 + 200, self.config.vocab_size)
        lengths = np.array([len(ids) + 1 for ids in texts])
        every = np.arange(len(texts))
        rows = plan((lengths, lengths), every, self.batch_tokens, 1, 0, 1, self.multiple)
        pairs = [[(texts[i], texts[i]) for i in row] for row in rows[:n_needed]]
        batches = [collate(row, self.multiple) for row in pairs]
        if DEVICE.type == "cuda":
            batches = [batch.pin_memory() for batch in batches]
        return [batches[start::n_shares] for start in range(n_shares)]


def mean_loss(logits: Tensor, target: Tensor) -> Tensor:
    """The loss as its users write it: (B, T, V), (B, T) -> ()."""
    flat, smooth = logits.flatten(0, 1), CONFIG.label_smoothing
    return F.cross_entropy(flat, target.flatten(), ignore_index=PAD_ID, label_smoothing=smooth)


def this_project(settings: Settings) -> tuple[nn.Module, Loss]:
    """The model and its loss, whose logits never exist as a whole."""
    loss_model = LossModel(Transformer(settings.config).to(DEVICE), CONFIG)
    if settings.compile:
        loss_model.compile_layers()

    def loss(batch: Batch) -> Tensor:
        total = loss_model(batch.src, batch.tgt_in, batch.tgt_out, batch.real)
        return cast(Tensor, total / batch.n_target)

    return loss_model.model, loss


def hugging_face(settings: Settings) -> tuple[nn.Module, Loss]:
    """MarianMTModel, which normalises after each sublayer."""
    logging.getLogger("transformers").setLevel(logging.ERROR)
    config = dataclasses.replace(settings.config, norm="post")
    model = huggingface_model(Transformer(config)).train().to(DEVICE)
    if settings.compile:
        model.compile(dynamic=True)

    def loss(batch: Batch) -> Tensor:
        output = model(batch.src, batch.src != PAD_ID, batch.tgt_in, use_cache=False)
        return mean_loss(output.logits, batch.tgt_out)

    return model, loss


def torch_transformer(settings: Settings) -> tuple[nn.Module, Loss]:
    """torch.nn.Transformer with what it leaves to its user: embeddings, positions, output."""
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


class Loop:
    """A model on its way: `round` takes a step on each of some batches."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.settings, self.shares, self.n_done = settings, settings.shares(), 0
        torch.manual_seed(1)
        self.model, self.loss = TRAINERS[name](settings)
        self.averaged = Transformer(settings.config).to(DEVICE) if name == OURS else None
        self.adam = optimizer.adam(self.model.parameters())

    def step(self, batch: Batch) -> None:
        """One step: forward, loss, backward, clipped gradient, Adam."""
        self.n_done += 1
        low = self.settings.bfloat16
        ours = self.averaged is not None
        kernel: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if ours or DEVICE.type == "cpu":
            kernel = attention_kernel(DEVICE, "bf16" if low else "no")
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=low), kernel:
            loss = self.loss(batch.to(DEVICE))
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CONFIG.clip)
        width = self.settings.config.d_model
        self.adam.param_groups[0]["lr"] = optimizer.learning_rate(self.n_done, width, CONFIG)
        self.adam.step()
        self.adam.zero_grad()
        if self.averaged is not None:
            optimizer.update_average(self.averaged, self.model, CONFIG.ema, self.n_done)

    def round(self, batches: Sequence[Batch]) -> Run:
        """Steps on all of them, timed; the outputs are the target ids of each step."""
        started = time.monotonic()
        for batch in batches:
            self.step(batch)
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.monotonic() - started
        outputs = [batch.tgt_out[batch.tgt_out != PAD_ID].tolist() for batch in batches]
        used = torch.cuda.max_memory_allocated() / 2**20 if DEVICE.type == "cuda" else peak_mib()
        return Run(outputs, (seconds,), round(used))


_own: dict[str, Loop] = {}  # in the process of a trainer


def open_loop(name: str, settings: Settings) -> None:
    """Makes the loop and warms it up; the first call in a process."""
    torch.set_num_threads(settings.threads)
    keep_freed_memory()
    _own["loop"] = Loop(name, settings)
    do_round(settings.n_rounds)


def do_round(number: int) -> Run:
    """The round of that number."""
    loop = _own["loop"]
    return loop.round(loop.shares[number])


def run(given: argparse.Namespace, say: Say) -> str:
    """Measures all that are installed; gives the table."""
    if min(given.rounds, given.steps, given.threads) < 1:
        raise UserError("expected rounds, steps and threads of at least 1")
    config = from_arguments(ModelConfig, given, base=model_config(given.preset))
    low = given.precision == "bfloat16" or (given.precision == "auto" and has_fast_bfloat16(DEVICE))
    settings = Settings(config, given.batch_tokens, given.steps, given.rounds, given.threads, low,
                        given.compile, given.pad_multiple)  # fmt: skip
    members, skipped = open_all(
        given.trainers, lambda name: Member(name, open_loop, name, settings), say
    )
    by_name = {member.name: member for member in members}

    def turn(number: int, name: str) -> Run:
        return by_name[name].tell(do_round, number).result()

    try:
        rounds = take_turns([*by_name], turn, given.rounds, say)
    finally:
        for member in members:
            member.close()
    peak = peak_flops(DEVICE, torch.bfloat16 if low else torch.float32)
    flops = training_flops(config, 1, 1)  # sources are as long as their targets
    return tables(rounds, skipped, peak / flops)


def tables(rounds: dict[str, list[Run]], skipped: dict[str, str], most: float = 0.0) -> str:
    """What each did, and how many times as fast this project is: the median of the rounds.

    `most` are the target tokens a second that the device's matrix products allow; 0: not known.
    """
    rows, said = [], [""]
    speeds = {name: [turn.speed for turn in done] for name, done in rounds.items()}
    for name, done in rounds.items():
        ms, mib = statistics.median(turn.ms for turn in done), max(turn.peak_mib for turn in done)
        own = statistics.median(speeds[name]), min(speeds[name]), max(speeds[name])
        share = f"{own[0] / most:.0%}" if most else "-"
        rows.append([name, *(f"{x:,.0f}" for x in (*own, ms)), share, f"{mib:,.0f}"])
        if name != OURS and OURS in rounds:
            times = ratio(speeds[OURS], speeds[name])
            said.append(f"{OURS} is {times:.2f} times as fast as {name}.")
    said += [f"Left out {name}: {why}." for name, why in skipped.items()]
    return "\n".join([markdown(HEADS, rows), *said])


def parser() -> argparse.ArgumentParser:
    """Which model, which trainers, how much of what."""
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
    return flags


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    args = parser().parse_args(argv)
    return run_command(lambda: report(lambda say: run(args, say)), "training")


if __name__ == "__main__":
    sys.exit(main())
