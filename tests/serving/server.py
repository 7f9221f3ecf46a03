"""What the tests of the server share: a sentence, its direction, the command that listens."""

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.processes import environment

TEXT = "La niña dibuja el coche rojo."
ES_EN = {"source": "es", "target": "en"}
# In float32: PyTorch's int8 products of a sentence depend a little on those beside it, and a model
# that has learnt nothing is never sure of its choice.
ON: Any = {"device": "cpu", "compute_type": "float32"}
Call = Callable[..., Any]
Process = tuple["subprocess.Popen[str]", str]


def ask(url: str, **fields: Any) -> Any:
    """The answer to a JSON request."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(fields).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@contextlib.contextmanager
def started(*flags: str | Path, **options: Any) -> Iterator[Process]:
    """The command, listening on a free port, and its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "transformer", "--serve", "--port", "0", *map(str, flags)],
        env=environment(),
        stderr=subprocess.PIPE, text=True, **options,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("translate: http://127.0.0.1:"), line
            yield process, line.split()[-1]
        finally:  # a test that fails waits for no server
            process.kill()
