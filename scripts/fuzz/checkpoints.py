"""One flipped bit in any file of a checkpoint: refused by one line."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.fuzz.checks import Check, Options, message_fault, start_python
from scripts.fuzz.training import TrainingRun
from transformer.checkpoint.locate import CHECKSUMMED, CHECKSUMS, find_checkpoint
from transformer.checkpoint.tensors import open_checkpoint
from transformer.checkpoint.weights import load_training
from transformer.config import UserError

N_FLIPS, COMMAND_EVERY = 1000, 50  # the command is tried at every so manieth flip


def run(options: Options) -> Iterator[Check]:
    """Flip bits of a released model, and of the last checkpoint of a run with its state."""
    rng, released = random.Random(options.seed), options.folder / "released"
    shutil.copytree(find_checkpoint("es-en"), released)
    training = TrainingRun(options.folder / "run", options.folder)
    training.finish()
    folders = released, training.run / "last"
    paths = [folder / name for folder in folders for name in (*CHECKSUMMED, CHECKSUMS)]
    paths = [path for path in paths if path.exists()]
    accepted, unclear, n = list[str](), list[str](), options.count(N_FLIPS)
    for number in range(n):
        path = paths[number % len(paths)]
        place, bit = rng.randrange(path.stat().st_size), 1 << rng.randrange(8)
        _flip(path, place, bit)
        where = f"{path.parent.name}/{path.name} at {place}"
        try:
            _read(path.parent)
            accepted.append(where)
        except UserError as error:
            if "\n" in str(error):
                unclear.append(where)
        if number % COMMAND_EVERY == 0:
            code, message = _translate(path.parent)
            if code != 2 or message_fault(message):
                unclear.append(f"{where}: {code}, {message_fault(message)}")
        _flip(path, place, bit)
    kinds = ", ".join(sorted({path.name for path in paths}))
    yield Check("flipped bits: refused", n, len(accepted), accepted[0] if accepted else kinds)
    yield Check("flipped bits: refused in one line", n, len(unclear), unclear[0] if unclear else "")
    code, message = _translate(released)
    yield Check("unflipped again: read", 1, int(code != 0), message.strip())


def _flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ bit]))


def _read(folder: Path) -> None:
    open_checkpoint(folder).stored_weights()
    if (folder / "training.json").exists():
        load_training(folder)


def _translate(folder: Path) -> tuple[int, str]:
    process = start_python("transformer", "--model", folder, "Hola.",
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    _, message = process.communicate()
    return process.returncode, message
