"""Load the micro-batches of an epoch, ahead of the steps that train on them.

A micro-batch is a pure function of (seed, epoch, number): it does not matter which worker process
makes it, nor when.
"""

import dataclasses
import os
import signal
from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import DataLoader, Dataset

from transformer.config import TrainConfig, UserError
from transformer.corpus import batching
from transformer.corpus.augmentation import derive_seed, micro_batch
from transformer.corpus.batching import Batch, Indices
from transformer.corpus.prepared import PreparedCorpus

PREFETCH = 4  # micro-batches that each worker process makes ahead
MAX_WORKERS = 12  # worker processes of a GPU
Step = list[tuple[Batch, int]]  # one process's micro-batches of a step, each with a random seed


@dataclasses.dataclass(frozen=True, slots=True)
class MicroBatches(Dataset[Batch]):
    """A dataset of the micro-batches of an epoch, by their number in `plan`, the rows of each.

    `epoch` counts from 0. A pair stays as it is where noise would give it `max_len` tokens.
    """

    data: PreparedCorpus
    plan: Sequence[Indices]
    config: TrainConfig
    max_len: int
    epoch: int

    def seed(self, number: int) -> int:
        """Return the random seed of a micro-batch, for the noise in its text and for dropout."""
        return derive_seed(self.config.seed, self.epoch, number)

    def __getitem__(self, number: int) -> Batch:
        rows = self.plan[number].tolist()
        return micro_batch(self.data, rows, self.config, self.max_len, self.seed(number))


def plan_epoch(
    data: PreparedCorpus, config: TrainConfig, epoch: int, processes: int
) -> list[Indices]:
    """Return the micro-batches of epoch 0, 1, ... for all processes, as indices of corpus rows.

    The first processes x `accumulate` are of one step, and so on. Raises UserError if batches of
    this size cannot be made of the corpus.
    """
    indices = batching.epoch_indices(data.sizes, config.seed, epoch)
    try:
        return batching.plan(
            data.pairs.lengths, indices, config.batch_tokens, config.seed, epoch,
            processes * config.accumulate, config.pad_multiple or 1,
        )  # fmt: skip
    except ValueError as error:
        raise UserError(f"{error}. Change --batch-tokens, or give more text") from error


def n_workers(config: TrainConfig, device: torch.device, processes: int) -> int:
    """Return the number of worker processes that make batches for each training process.

    By default it is 0 on a CPU, where making a batch takes a thousandth of the time of its step,
    and all cores compute steps. For a GPU it is the GPU's share of the cores.
    """
    if config.loader_workers >= 0:
        return config.loader_workers
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 0 if device.type == "cpu" else min(MAX_WORKERS, max(1, (cores or 1) // processes - 1))


def _init_worker(number: int) -> None:
    """Ignore SIGINT, which the training process handles; terminate on SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def load_steps(
    batches: MicroBatches, steps: Sequence[range], device: torch.device, workers: int
) -> Iterator[Step]:
    """Yield the steps, ranges of micro-batch numbers, on a device; `workers` load them ahead."""
    loader = DataLoader(
        batches,
        batch_size=None,
        sampler=[number for step in steps for number in step],
        num_workers=workers,
        prefetch_factor=PREFETCH if workers else None,
        multiprocessing_context="fork" if workers else None,
        worker_init_fn=_init_worker,
        pin_memory=device.type == "cuda",
        generator=torch.Generator(),  # so that workers draw nothing from the global one
    )
    loaded = iter(loader)
    for step in steps:
        yield [(next(loaded).to(device), batches.seed(number)) for number in step]
