"""One flipped bit in any file of a checkpoint: refused by one line."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.fuzz.checks import Check, Options, start, told
from scripts.fuzz.training import finished
from transformer.checkpoint.locate import SUMMED, SUMS, find
from transformer.checkpoint.tensors import open_checkpoint
from transformer.checkpoint.weights import load_training
from transformer.config import UserError

N_FLIPS, BY_COMMAND = 1000, 50  # every so manieth also by the command


def run(options: Options) -> Iterator[Check]:
    """A released model, and the last checkpoint of a run with all that it goes on from."""
    chance = random.Random(options.seed)
    released = options.folder / "released"
    shutil.copytree(find("es-en"), released)
    trained = finished(options.folder / "run", options.folder) / "last"
    files = [folder / name for folder in (released, trained) for name in (*SUMMED, SUMS)]
    files = [path for path in files if path.exists()]
    silent, untold = list[str](), list[str]()
    n = options.count(N_FLIPS)
    for number in range(n):
        path = files[number % len(files)]
        place = chance.randrange(path.stat().st_size)
        bit = 1 << chance.randrange(8)
        _flip(path, place, bit)
        where = f"{path.parent.name}/{path.name} at {place}"
        try:
            _read(path.parent)
            silent.append(where)
        except UserError as error:
            if "\n" in str(error):
                untold.append(where)
        if number % BY_COMMAND == 0:
            code, said = _translated(path.parent)
            if code != 2 or told(said):
                untold.append(f"{where}: {code}, {told(said)}")
        _flip(path, place, bit)
    kinds = ", ".join(sorted({path.name for path in files}))
    yield Check("flipped bits: refused", n, len(silent), silent[0] if silent else kinds)
    yield Check("flipped bits: refused in one line", n, len(untold), untold[0] if untold else "")
    code, said = _translated(released)
    yield Check("unflipped again: read", 1, int(code != 0), said.strip())


def _flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ bit]))


def _read(folder: Path) -> None:
    for _ in open_checkpoint(folder).weights():
        pass
    if (folder / "training.json").exists():
        load_training(folder)


def _translated(folder: Path) -> tuple[int, str]:
    process = start(["-m", "transformer", "--model", folder, "Hola."],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    _, said = process.communicate()
    return process.returncode, said
