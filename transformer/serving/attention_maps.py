"""Attention maps, computed by a process of its own: it loads PyTorch and the plain models.

It ends when none have been asked for in a while, so that the server is small again.
"""

import asyncio
import dataclasses
import functools
import os
import pickle
import signal
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from transformer.config import ComputeType, DecodeConfig, Direction, UserError
from transformer.documents.worker import IDLE, Process, jobs
from transformer.explain.alignment import AlignedTranslation
from transformer.serving.authorization import RequestError
from transformer.translation.directions import Directions

PATIENCE = 120.0  # seconds by the clock, on a busy machine, with the start of the process
KINDS = ("encoder", "decoder", "cross")


@dataclasses.dataclass(frozen=True, kw_only=True)
class MappedTranslation(AlignedTranslation):
    """A sentence's translation with what `Trace` has, without torch: arrays of float32."""

    steps: Sequence[Sequence[tuple[str, float]]]  # T x likeliest pieces and their probabilities
    encoder: Any
    decoder: Any
    cross: Any

    @property
    def n_numbers(self) -> int:
        """Of all maps."""
        return sum(getattr(self, kind).size for kind in KINDS)


class AttentionMaps:
    """Asks the process, for one sentence after the other."""

    def __init__(self, directions: Directions) -> None:
        self._opened = (*directions.folders.items(),), directions.device, directions.compute_type
        self._process = Process("transformer.serving.attention_maps")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="maps")

    async def of(
        self, langs: Direction, sentence: str, prefix: Sequence[int], decode: DecodeConfig
    ) -> MappedTranslation:
        """One sentence translated, after a forced prefix if there is one, and looked into.

        UserError for what the model cannot take at once, RequestError where the process fails.
        """
        job = pickle.dumps((self._opened, langs, sentence, tuple(prefix), decode))
        reply = await asyncio.wrap_future(self._thread.submit(self._process.ask, job, PATIENCE))
        if reply is None:
            raise RequestError(503, "no attention maps could be made: try again later", 5.0)
        made = pickle.loads(reply)
        if isinstance(made, UserError):
            raise made
        return MappedTranslation(**made)

    def tidy(self) -> None:
        """Forgets the process if it has ended itself."""
        self._thread.submit(self._process.tidy)

    def close(self) -> None:
        """Ends the process, after what it does."""
        self._thread.shutdown(cancel_futures=True)
        self._process.end()


@functools.lru_cache(maxsize=1)
def _directions(
    folders: Sequence[tuple[Direction, Path]], device: str, compute_type: ComputeType
) -> Directions:
    return Directions(dict(folders), device, compute_type, guard=False)


def _reply(job: bytes) -> Mapping[str, Any] | UserError:
    from transformer.explain.trace import trace  # and with it torch

    opened, langs, *asked = pickle.loads(job)
    try:
        traced = trace(_directions(*opened).unguarded(langs), *asked)
    except UserError as error:
        return error
    fields = {field.name: getattr(traced, field.name) for field in dataclasses.fields(traced)}
    fields["steps"] = [[(c.piece, c.probability) for c in choices] for choices in traced.steps]
    return fields | {kind: fields[kind].numpy() for kind in KINDS}


def main(connection: Connection) -> None:
    """Answers until the other side closes or is silent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    for job in jobs(connection, IDLE):
        connection.send_bytes(pickle.dumps(_reply(job)))


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
    os._exit(0)
