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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

from transformer.config import ComputeType, DecodeConfig, Direction, UserError
from transformer.documents.worker import IDLE_TIMEOUT, WorkerProcess, receive_requests
from transformer.explain.alignment import Trace
from transformer.serving.errors import RequestError
from transformer.translation.directions import Directions

PATIENCE = 120.0  # seconds by the clock, on a busy machine, with the start of the process


class AttentionMaps:
    """Attention maps from one process, which gets one sentence after the other."""

    def __init__(self, directions: Directions) -> None:
        self._models = (*directions.folders.items(),), directions.device, directions.compute_type
        self._process = WorkerProcess("transformer.serving.attention_maps")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="maps")

    async def trace(
        self, langs: Direction, sentence: str, prefix: Sequence[int], decode: DecodeConfig
    ) -> Trace:
        """Translate a sentence, beginning with the ids of `prefix`; its maps are NumPy arrays.

        UserError for what the model cannot take at once, RequestError 503 if the process fails.
        """
        job = pickle.dumps((self._models, langs, sentence, tuple(prefix), decode))
        reply = await asyncio.wrap_future(self._thread.submit(self._process.request, job, PATIENCE))
        if reply is None:
            raise RequestError(503, "no attention maps could be made: try again later", 5.0)
        result: Trace | UserError = pickle.loads(reply)
        if isinstance(result, UserError):
            raise result
        return result

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


def _reply(job: bytes) -> Trace | UserError:
    """Return what `AttentionMaps.trace`, which has pickled the job, returns or raises."""
    from transformer.explain.trace import trace  # and with it torch

    models, langs, *arguments = pickle.loads(job)
    try:
        traced = trace(_load(*models).unguarded(langs), *arguments)
    except UserError as error:
        return error
    maps = {kind: getattr(traced, kind).numpy() for kind in ("encoder", "decoder", "cross")}
    return dataclasses.replace(traced, **maps)


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
