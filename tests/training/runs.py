"""What the tests of training share: a small run, its corpus, and what it left behind."""

import itertools
import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.state import AcceleratorState, GradientState

from scripts.fuzz.training import run_training
from tests.processes import ROOT
from transformer.checkpoint import locate
from transformer.checkpoint import weights as checkpoint
from transformer.corpus.batching import Chunks, TokenPairs
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training.trainer import Trainer

SCRIPT = ROOT / "scripts" / "train.py"
LANGS = ("es", "en")
SIZES = {"d_model": 16, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 32}
MODEL = {**SIZES, "vocab_size": 350, "max_len": 64, "dropout": 0.1}
SETTINGS = {
    "batch_tokens": 640, "accumulate": 2, "warmup": 4, "sample_alpha": 0.2, "ema": 0.9, "seed": 3,
    "log_every": 1, "eval_every": 100, "save_every": 5, "average": 0, "eval_pairs": 0,
    "precision": "float32", "optimizer": "adam", "schedule": "paper",
}  # fmt: skip
N_PAIRS, N_STEPS = 100, 14
Start = Callable[..., Trainer]
Pairs = list[tuple[str, str]]


def reset_accelerator() -> None:
    """Lets the next Accelerator choose its precision anew."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


def chunks(rows: Sequence[Sequence[int]]) -> Chunks:
    """The layout of an Arrow column."""
    return [(np.cumsum([0, *map(len, rows)]), np.concatenate([np.array(row) for row in rows]))]


def prepare_pairs(
    pairs: Pairs, tokenizer: Tokenizer, kind: Callable[..., TokenPairs] = TokenPairs
) -> PreparedCorpus:
    """A corpus that lies in memory."""
    src, tgt = (tokenizer.encode_batch(side) for side in zip(*pairs, strict=True))
    return PreparedCorpus(
        pairs=kind(chunks(src), chunks(tgt)),
        sizes=((len(pairs), 1.0),),
        tokenizer=tokenizer,
        report={"sources": [{"spec": "phrases.tsv", "counts": {"kept": len(pairs)}}]},
    )


class Interrupting(TokenPairs):
    """Sends signals to this process when a pair is read for the n-th time."""

    def __init__(self, *sides: Chunks, at: int, signals: Sequence[signal.Signals]) -> None:
        super().__init__(*sides)
        self.left, self.signals = at, signals

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        self.left -= 1
        if self.left == 0:
            for number in self.signals:
                signal.raise_signal(number)
        return super().__getitem__(index)


def state(folder: Path) -> dict[str, Any]:
    """All that decides how a run goes on: weights, moments, average, place."""
    last = folder / "last"
    place = json.loads((last / "training.json").read_text())
    files = {name: (last / name).read_bytes() for name in (locate.WEIGHTS, locate.TRAINING_STATE)}
    return files | {name: place[name] for name in ("step", "epoch", "position")}


def trained_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Weights under training and moments, by name."""
    return checkpoint.load_training(folder / "last")[0]


def averaged_gradients(folder: Path) -> dict[str, torch.Tensor]:
    """Adam's first moments: unlike the weights they do not blow up a gradient that is nearly 0.

    Such are those of the keys' biases: they shift all scores of a query, to no effect.
    """
    return {name: t for name, t in trained_tensors(folder).items() if name.startswith("exp_avg.")}


def command(corpus: Path, output: Path, **changes: object) -> list[str]:
    """The flags of a small run; a setting that is None is left open."""
    values = {**MODEL, **SETTINGS, "train": corpus / "phrases.tsv", "cache": corpus / "cache",
              "output": output, **changes}  # fmt: skip
    values = {name: value for name, value in values.items() if value is not None}
    flags = ((f"--{name.replace('_', '-')}", str(value)) for name, value in values.items())
    return list(itertools.chain(*flags))


def start_process(flags: list[str], log: Path) -> BaseProcess:
    """scripts/train.py in a process of its own, which has the imports behind it; it writes a log.

    It is forked of one that has nothing else, so that it begins at once.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["scripts.fuzz.training", "scripts.train"])
    process = context.Process(target=run_training, args=(flags, log))
    process.start()
    return process


def wait_for_records(process: BaseProcess, folder: Path, number: int) -> None:
    """Until a run has reported so often; fails when it ends before."""
    path = folder / "metrics.jsonl"
    while not path.is_file() or path.read_bytes().count(b"\n") < number:
        assert process.is_alive()
        time.sleep(0.002)
