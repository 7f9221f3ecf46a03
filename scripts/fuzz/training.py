"""Training that is killed, in the middle of a save, too, or meets a full disk, and goes on."""

import contextlib
import itertools
import json
import multiprocessing
import multiprocessing.process
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.fuzz.checks import ROOT, TRACEBACK, Check, Options
from transformer.checkpoint.locate import TRAINING_STATE, TRAINING_VALUES, WEIGHTS
from transformer.command import run_command

N_KILLS, N_IN_SAVE, N_FULL = 50, 10, 10
KILLS_OF_A_RUN, N_STEPS = 5, 60
DISK_BYTES = 2**25  # of the small disk
SETTINGS = {
    "d-model": 64, "n-heads": 2, "n-encoder-layers": 1, "n-decoder-layers": 1, "d-ff": 128,
    "vocab-size": 500, "max-len": 200, "batch-tokens": 600, "warmup": 10, "max-steps": N_STEPS,
    "ema": 0.9, "log-every": 1, "eval-every": 1000, "save-every": 4, "average": 0,
    "precision": "float32", "loader-workers": 2,
}  # fmt: skip


def run_training(flags: list[str], log: Path) -> None:
    """Run the command in a process of its own whose output goes to a log."""
    from scripts import train  # what it imports is there already

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.exit(run_command(lambda: sys.exit(train.main(flags)), "train"))


class TrainingRun:
    """A run that is started, killed and continued with the same settings; it writes to `log`."""

    def __init__(self, run: Path, folder: Path, **settings: object) -> None:
        """Prepare a run in the folder `run`; the corpus, log and cache lie in `folder`."""
        corpus = folder / "corpus.tsv"
        if not corpus.exists():
            lines = (ROOT / "data" / "train.tsv").read_text(encoding="utf-8").splitlines(True)
            corpus.write_text("".join(lines[:500]), encoding="utf-8")
        self.run, self.log = run, folder / f"{run.name}.log"
        flags = SETTINGS | settings
        flags |= {"train": corpus, "cache": folder / "cache", "output": run}
        self._flags = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        # A fork of a process that has the imports behind it begins at once.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["scripts.train", "matplotlib.pyplot"])

    def start(self) -> multiprocessing.process.BaseProcess:
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
        """Return all that decides how the run goes on."""
        last = self.run / "last"
        values = json.loads((last / TRAINING_VALUES).read_text())
        numbers = json.dumps([values[name] for name in ("step", "epoch", "position")]).encode()
        return (last / WEIGHTS).read_bytes(), (last / TRAINING_STATE).read_bytes(), numbers

    @property
    def is_saving(self) -> bool:
        """Whether a save was begun and has not ended."""
        return (self.run / ".last.tmp").exists()

    def start_and_kill(self, after: int, delay: float, in_save: bool) -> bool:
        """Kill it behind so many records, in a save if asked; return whether it came to that."""
        process = self.start()
        while process.is_alive():
            if self.n_records() > after and (self.is_saving or not in_save):
                break
            time.sleep(0.0005)
        time.sleep(delay)
        process.kill()
        process.join()
        return self.is_saving if in_save else process.exitcode == -9


def run(options: Options) -> Iterator[Check]:
    """Let a run train undisturbed, without loader workers, then others that must end like it."""
    folder, rng = options.folder, random.Random(options.seed)
    undisturbed = TrainingRun(folder / "undisturbed", folder, **{"loader-workers": 0})
    undisturbed.finish()
    expected = undisturbed.state()
    for n, in_save in ((N_KILLS, False), (N_IN_SAVE, True)):
        yield _check_kills(folder, options.count(n), in_save, expected, rng)
    with _small_disk(folder / "small") as kind:
        yield _check_full_disk(folder / "small", kind, options.count(N_FULL), expected, rng)


def _check_kills(
    folder: Path, n: int, in_save: bool, expected: tuple[bytes, ...], rng: random.Random
) -> Check:
    name = "kill -9 during a save" if in_save else "kill -9"
    bad, steps = list[str](), list[int]()
    for number in itertools.count():
        if len(steps) >= n:
            break
        training = TrainingRun(folder / f"{name} {number}", folder)
        for _ in range(min(KILLS_OF_A_RUN, n - len(steps))):
            after = training.n_records() + rng.randrange(-1, 15)
            if training.start_and_kill(after, rng.uniform(0, 0.003 if in_save else 0.1), in_save):
                steps.append(training.n_records())
        training.finish()
        if training.state() != expected or training.is_saving:
            bad.append(training.run.name)
    seen = ", ".join(bad) or f"behind {min(steps)} to {max(steps)} of {N_STEPS} steps"
    return Check(f"{name}: goes on, ends bit for bit alike", len(steps), len(bad), seen)


def _check_full_disk(
    folder: Path, kind: str, n: int, expected: tuple[bytes, ...], rng: random.Random
) -> Check:
    bad, ballast = list[str](), folder / "ballast"
    for number in range(n):
        training = TrainingRun(folder / f"full-{number}", folder)
        after, process = rng.randint(1, 45), training.start()
        while process.is_alive() and training.n_records() < after:
            time.sleep(0.001)
        if kind == "limit":
            resource.prlimit(process.pid or 0, resource.RLIMIT_FSIZE, (0, 0))
        else:
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(b"\0" * 4096) > 0:
                    pass
        process.join()
        log = training.log.read_text()
        lines = [line for line in log.splitlines() if line.startswith("train: ")]
        ballast.unlink(missing_ok=True)
        if process.exitcode != 2 or len(lines) != 1 or TRACEBACK in log:
            bad.append(f"exit code {process.exitcode}, {len(lines)} lines: {log[-200:]}")
        training.finish()
        if training.state() != expected:
            bad.append(f"full-{number} ends otherwise")
        subprocess.run(["rm", "-r", training.run], check=True)
    seen = "; ".join(bad) or lines[0]
    return Check(f"disk full ({kind}): one line, then likewise", n, len(bad), seen)


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[str]:
    """Mount a disk in memory ("tmpfs"); where that may not be, no file may grow ("limit")."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        yield "limit"
        return
    try:
        yield "tmpfs"
    finally:
        subprocess.run(["umount", str(folder)], check=True)
