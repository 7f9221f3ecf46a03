"""Attention maps, computed in a process of their own that loads PyTorch and the plain models.

The process ends after a while without work, so that the server is small again.
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
from transformer.documents.worker import IDLE_TIMEOUT, WorkerProcess, receive_requests
from transformer.explain.alignment import AlignedTranslation
from transformer.serving.errors import RequestError
from transformer.translation.directions import Directions

PATIENCE = 120.0  # seconds by the clock, on a busy machine, with the start of the process
KINDS = ("encoder", "decoder", "cross")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedTranslation(AlignedTranslation):
    """A translation with the fields of `explain.trace.Trace`, its maps as numpy arrays.

    `steps` has the likeliest (piece, probability) of each target piece. The maps are (layers,
    heads, rows, columns): of source pieces, target pieces, and in `cross` target by source pieces.
    """

    steps: Sequence[Sequence[tuple[str, float]]]
    encoder: Any
    decoder: Any
    cross: Any

    @property
    def n_numbers(self) -> int:
        """The size of all maps together."""
        return sum(getattr(self, kind).size for kind in KINDS)


class AttentionMaps:
    """Attention maps from one process, which gets one sentence after the other."""

    def __init__(self, directions: Directions) -> None:
        self._models = (*directions.folders.items(),), directions.device, directions.compute_type
        self._process = WorkerProcess("transformer.serving.attention_maps")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="maps")

    async def trace(
        self, langs: Direction, sentence: str, prefix: Sequence[int], decode: DecodeConfig
    ) -> TracedTranslation:
        """Translate a sentence, beginning with the ids of `prefix`, and return its maps.

        UserError for what the model cannot take at once, RequestError 503 if the process fails.
        """
        job = pickle.dumps((self._models, langs, sentence, tuple(prefix), decode))
        reply = await asyncio.wrap_future(self._thread.submit(self._process.request, job, PATIENCE))
        if reply is None:
            raise RequestError(503, "no attention maps could be made: try again later", 5.0)
        result = pickle.loads(reply)
        if isinstance(result, UserError):
            raise result
        return TracedTranslation(**result)

    def release_idle(self) -> None:
        """Reap the process if it has exited."""
        self._thread.submit(self._process.reap)

    def close(self) -> None:
        """End the process when its present job is done."""
        self._thread.shutdown(cancel_futures=True)
        self._process.kill()


@functools.lru_cache(maxsize=1)
def _load(
    folders: Sequence[tuple[Direction, Path]], device: str, compute_type: ComputeType
) -> Directions:
    return Directions(dict(folders), device, compute_type, guard=False)


def _reply(job: bytes) -> Mapping[str, Any] | UserError:
    """Return the fields of a `TracedTranslation`, or the error; `job` is pickled by `trace`."""
    from transformer.explain.trace import trace  # and with it torch

    models, langs, *arguments = pickle.loads(job)
    try:
        traced = trace(_load(*models).unguarded(langs), *arguments)
    except UserError as error:
        return error
    fields = {field.name: getattr(traced, field.name) for field in dataclasses.fields(traced)}
    fields["steps"] = [[(c.piece, c.probability) for c in choices] for choices in traced.steps]
    return fields | {kind: fields[kind].numpy() for kind in KINDS}


def main(connection: Connection) -> None:
    """Send the pickled `_reply` to each job, until the other side closes or idles a minute."""
    import torch

    torch.set_num_threads(1)  # a sentence is small: on a busy machine two wait for each other
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    for job in receive_requests(connection, IDLE_TIMEOUT):
        connection.send_bytes(pickle.dumps(_reply(job)))


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
    os._exit(0)
