"""Many sentences at once: sorted by length, cut into batches, one batch a processor core.

Two cores that each search a batch of their own are faster than two that share one product. Knows
ids and a model; no text.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from transformer.batching import source_batch
from transformer.config import DecodeConfig
from transformer.decoding import Decodable, Hypothesis, search

FEWEST = 8  # rows that are computed together, where there are so many for each core

Ids = Sequence[int]


def _batches(sources: Sequence[Ids], config: DecodeConfig, n_workers: int) -> Iterator[list[int]]:
    """The places of the sources, the longest first, in batches of `batch_tokens` at most.

    For several workers each batch is two thirds of a fair share of the rest, so that the last are
    small and no core waits long for another.
    """
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    fair = -(-len(order) // n_workers)
    while order:
        fits = config.batch_tokens // ((len(sources[order[0]]) + 1) * config.beam_size)
        rest = max(FEWEST, 2 * len(order) // (3 * n_workers)) if n_workers > 1 else fair
        size = max(1, min(fits, fair, rest))
        yield order[:size]
        order = order[size:]


def search_all(
    model: Decodable, sources: Sequence[Ids], config: DecodeConfig
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first, in the order of the sources.

    On a CPU there are as many batches at work as `torch.get_num_threads()` says.
    """
    n_threads = torch.get_num_threads()
    n_workers = n_threads if model.device.type == "cpu" else 1
    batches = list(_batches(sources, config, n_workers))

    def work(rows: list[int]) -> list[list[Hypothesis]]:
        src = source_batch([sources[i] for i in rows]).to(model.device)
        return search(model, src, config)

    if len(batches) < 2 or n_workers < 2:
        found = [work(rows) for rows in batches]
    else:
        try:
            with ThreadPoolExecutor(
                n_workers, initializer=torch.set_num_threads, initargs=(1,)
            ) as pool:
                found = list(pool.map(work, batches))
        finally:
            torch.set_num_threads(n_threads)  # a thread's own number is every later thread's too
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for rows, hypotheses in zip(batches, found, strict=True):
        for row, own in zip(rows, hypotheses, strict=True):
            results[row] = own
    return results
