"""Training that is killed, in the middle of a save, too, or meets a full disk, and goes on."""

import contextlib
import itertools
import json
import multiprocessing as mp
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.fuzz.checks import ROOT, TRACEBACK, Check, Options
from transformer.checkpoint.locate import STATE, STATE_VALUES, WEIGHTS
from transformer.command import run_command

N_KILLS, N_IN_SAVE, N_FULL = 50, 10, 10
KILLS_OF_A_RUN, N_STEPS = 5, 60
SPACE = 2**25  # bytes of the small disk
SETTINGS = {
    "d-model": 64, "n-heads": 2, "n-encoder-layers": 1, "n-decoder-layers": 1, "d-ff": 128,
    "vocab-size": 500, "max-len": 200, "batch-tokens": 600, "warmup": 10, "max-steps": N_STEPS,
    "ema": 0.9, "log-every": 1, "eval-every": 1000, "save-every": 4, "average": 0,
    "precision": "float32",
}  # fmt: skip


def run_training(flags: list[str], log: Path) -> None:
    """All that the command does, in a process of its own that says it to a log."""
    from scripts import train  # what it imports is there already

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.exit(run_command(lambda: sys.exit(train.main(flags)), "train"))


class Training:
    """Runs with the same settings, in a process that may be killed; what it said is in `log`."""

    def __init__(self, run: Path, folder: Path) -> None:
        """The corpus lies in the folder, made once."""
        corpus = folder / "corpus.tsv"
        if not corpus.exists():
            lines = (ROOT / "data" / "train.tsv").read_text(encoding="utf-8").splitlines(True)
            corpus.write_text("".join(lines[:500]), encoding="utf-8")
        self.run, self.log = run, folder / f"{run.name}.log"
        flags = SETTINGS | {"train": corpus, "cache": folder / "cache", "output": run}
        self._flags = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        # Processes that have the imports behind them: a fork of one begins at once.
        self._context = mp.get_context("forkserver")
        self._context.set_forkserver_preload(["scripts.train", "matplotlib.pyplot"])

    def start(self) -> "mp.process.BaseProcess":
        process = self._context.Process(target=run_training, args=(self._flags, self.log))
        process.start()
        return process

    def finish(self) -> None:
        process = self.start()
        process.join()
        if process.exitcode:
            raise RuntimeError(f"expected a run to its end, got: {self.log.read_text()[-500:]}")

    def n_records(self) -> int:
        path = self.run / "metrics.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def state(self) -> tuple[bytes, ...]:
        """All that decides how it goes on."""
        last = self.run / "last"
        place = json.loads((last / STATE_VALUES).read_text())
        numbers = json.dumps([place[name] for name in ("step", "epoch", "position")]).encode()
        return (last / WEIGHTS).read_bytes(), (last / STATE).read_bytes(), numbers

    @property
    def half_written(self) -> bool:
        return (self.run / ".last.tmp").exists()

    def killed(self, after: int, delay: float, in_save: bool) -> bool:
        """Kills it behind so many records, in a save if asked; whether it came to that."""
        process = self.start()
        while process.is_alive():
            if self.n_records() > after and (self.half_written or not in_save):
                break
            time.sleep(0.0005)
        time.sleep(delay)
        process.kill()
        process.join()
        return self.half_written if in_save else process.exitcode == -9


def finished(run: Path, folder: Path) -> Path:
    """The folder of a run to its end."""
    Training(run, folder).finish()
    return run


def run(options: Options) -> Iterator[Check]:
    """A run that is left alone, then others that must end like it."""
    folder = options.folder
    straight = Training(folder / "straight", folder)
    straight.finish()
    wanted, chance = straight.state(), random.Random(options.seed)
    for n, in_save in ((N_KILLS, False), (N_IN_SAVE, True)):
        yield _killed(folder, options.count(n), in_save, wanted, chance)
    with _small_disk(folder / "small") as (place, kind):
        yield _on_full_disk(folder, place, kind, options.count(N_FULL), wanted, chance)


def _killed(
    folder: Path, n: int, in_save: bool, wanted: tuple[bytes, ...], chance: random.Random
) -> Check:
    name = "kill -9 during a save" if in_save else "kill -9"
    bad, steps = list[str](), list[int]()
    for number in itertools.count():
        if len(steps) >= n:
            break
        training = Training(folder / f"{name} {number}", folder)
        for _ in range(min(KILLS_OF_A_RUN, n - len(steps))):
            after = training.n_records() + chance.randrange(-1, 15)
            if training.killed(after, chance.uniform(0, 0.003 if in_save else 0.1), in_save):
                steps.append(training.n_records())
        training.finish()
        if training.state() != wanted or training.half_written:
            bad.append(training.run.name)
    told = ", ".join(bad) or f"behind {min(steps)} to {max(steps)} of {N_STEPS} steps"
    return Check(f"{name}: goes on, ends bit for bit alike", len(steps), len(bad), told)


def _on_full_disk(
    folder: Path, place: Path, kind: str, n: int, wanted: tuple[bytes, ...], chance: random.Random
) -> Check:
    bad = list[str]()
    for number in range(n):
        training = Training(place / f"full-{number}", folder)
        moment, process = chance.randint(1, 45), training.start()
        while process.is_alive() and training.n_records() < moment:
            time.sleep(0.001)
        if kind == "limit":
            resource.prlimit(process.pid or 0, resource.RLIMIT_FSIZE, (0, 0))
        else:
            _fill(place / "ballast")
        process.join()
        said = training.log.read_text()
        lines = [line for line in said.splitlines() if line.startswith("train: ")]
        (place / "ballast").unlink(missing_ok=True)
        if process.exitcode != 2 or len(lines) != 1 or TRACEBACK in said:
            bad.append(f"exit code {process.exitcode}, {len(lines)} lines: {said[-200:]}")
        training.finish()
        if training.state() != wanted:
            bad.append(f"full-{number} ends otherwise")
        subprocess.run(["rm", "-r", training.run], check=True)
    told = "; ".join(bad) or lines[0]
    return Check(f"disk full ({kind}): one line, then likewise", n, len(bad), told)


def _fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096) > 0:
            pass


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[tuple[Path, str]]:
    """A disk in memory; where none may be mounted, no file may grow (file size limit)."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        yield place, "limit"
        return
    try:
        yield place, "tmpfs"
    finally:
        subprocess.run(["umount", str(place)], check=True)
