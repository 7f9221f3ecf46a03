"""Lines through the command: hostile ones, all and in order; a million, interrupted once."""

import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.benchmark.copy_model import copy_model
from scripts.fuzz.attacks import ODD, draw_texts
from scripts.fuzz.checks import Check, Options, Process, resident_mib, start_python
from transformer.checkpoint.locate import VOCABULARY, find_checkpoint
from transformer.checkpoint.tensors import read_vocabulary
from transformer.checkpoint.weights import save
from transformer.config import ModelConfig

N_HOSTILE, N_MANY = 20_000, 1_000_000
MAX_MIB = 600  # for the hostile lines
NUMBERED = 10  # every so manieth line has a number that must come out in its place
NOT_UTF8 = (b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\0")


def run(options: Options) -> Iterator[Check]:
    """Translate hostile lines by the released model, many lines by one that copies its source."""
    yield from _hostile(options)
    yield from _many(options)


def _translate(source: Path, target: Path, *flags: str | Path) -> Process:
    words = ("-i", source, "-o", target, "--from", "es", "--to", "en", *flags)
    log = target.with_suffix(".log").open("w")
    return start_python("transformer", *words, stderr=log, stdout=subprocess.DEVNULL)


def _wait(process: Process, samples: list[float]) -> int:
    """Return the exit code; append the MiB that the process holds from time to time."""
    while process.poll() is None:
        samples.append(resident_mib(process))
        time.sleep(0.2)
    return process.returncode


def _hostile(options: Options) -> Iterator[Check]:
    n, rng, samples = options.count(N_HOSTILE), random.Random(options.seed), list[float]()
    odd = [line.encode() for line in draw_texts(n, options.seed)]
    lines = [
        f"Tengo {i + 1000} libros rojos.".encode() if i % NUMBERED == 0
        else line + rng.choice(NOT_UTF8) if i % 97 == 0
        else rng.choice(ODD).encode() * 3000 if i % 1999 == 0
        else line
        for i, line in enumerate((odd * (n // len(odd) + 1))[:n])
    ]  # fmt: skip
    source, target = options.folder / "hostile.txt", options.folder / "hostile.out"
    source.write_bytes(b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines))
    code = _wait(_translate(source, target, "--errors", "replace"), samples)
    out = target.read_bytes().split(b"\n")[:-1] if target.exists() else []
    seen = f"{len(out)} out, exit code {code}"
    yield Check("hostile lines: as many out", n, abs(len(out) - n) + code, seen)
    numbers = [re.sub(rb"\D", b"", line) for line in out[::NUMBERED]]
    wrong = [number for i, number in enumerate(numbers) if number != b"%d" % (i * NUMBERED + 1000)]
    yield Check("hostile lines: in order", len(numbers), len(wrong), f"{wrong[:3] or ''}")
    held = max(samples, default=0)
    seen = f"{held:.0f} MiB"
    yield Check(f"hostile lines: within {MAX_MIB} MiB", len(samples), int(held > MAX_MIB), seen)


def _save_copy_model(folder: Path) -> list[str]:
    """Save a small model that gives its source back; return the words that are one piece each."""
    tokenizer = read_vocabulary(find_checkpoint("es-en") / VOCABULARY)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, d_model=128, n_heads=2, d_ff=64, max_len=64,
        n_encoder_layers=1, n_decoder_layers=1,
    )  # fmt: skip
    weights = copy_model(config).state_dict()
    save(folder, weights, config, tokenizer, [("es", "en")], "# Copies\n")
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    return [piece[1:] for piece in pieces if piece[0] == "▁" and piece[1:].isalpha()]


def _many(options: Options) -> Iterator[Check]:
    n, rng, folder = options.count(N_MANY), random.Random(options.seed), options.folder
    source, target, part = folder / "many.txt", folder / "many.out", folder / "many.out.part"
    words = _save_copy_model(folder / "copying")
    text = "".join(f"{rng.choice(words)} {rng.choice(words)}\n" for _ in range(n))
    source.write_text(text, encoding="utf-8")
    model = ("--model", folder / "copying", "--no-guard", "--compute-type", "float32")
    samples, process = list[float](), _translate(source, target, *model)
    while process.poll() is None and not (part.exists() and part.stat().st_size > len(text) // 2):
        samples.append(resident_mib(process))
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, first = process.wait(), len(samples)
    n_kept = part.read_bytes().count(b"\n") if part.exists() else 0
    seen = f"exit code {code}, {n_kept:,} lines kept"
    yield Check("many lines: Ctrl-C keeps them", n, int(code != 130 or not 0 < n_kept < n), seen)
    code = _wait(_translate(source, target, *model, "--resume"), samples)
    pairs = zip(text.splitlines(), target.read_text(encoding="utf-8").splitlines(), strict=False)
    n_wrong = n - sum(line == copied for line, copied in pairs)
    seen = f"exit code {code}, {n_wrong:,} not in their place"
    yield Check("many lines: --resume completes them, in order", n, n_wrong + code, seen)
    n_bad = _grows(samples[:first]) + _grows(samples[first:])
    seen = f"{max(samples):.0f} MiB at most"
    yield Check("many lines: constant memory", len(samples), n_bad, seen)


def _grows(samples: Sequence[float]) -> bool:
    """Return whether the second half holds over a tenth more than the first, behind the start."""
    steady = samples[len(samples) // 10 :]
    half = len(steady) // 2
    return half > 0 and max(steady[half:]) > 1.1 * max(steady[:half])
