"""Lines through the command: hostile ones, all and in order; a million, interrupted once."""

import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.benchmark.copy_model import copy_model
from scripts.fuzz.attacks import ODD, texts
from scripts.fuzz.checks import Check, Options, resident, start
from transformer.checkpoint.locate import VOCABULARY, find
from transformer.checkpoint.tensors import read_vocabulary
from transformer.checkpoint.weights import save
from transformer.config import ModelConfig

N_HOSTILE, N_MANY = 20_000, 1_000_000
MIB = 600  # that the hostile lines may take
EACH = 10  # every so manieth line has a number that must come out in its place
STRAY = (b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\0")  # no UTF-8


def run(options: Options) -> Iterator[Check]:
    """Hostile lines with the released model, many lines with one that copies its source."""
    yield from _hostile(options)
    yield from _many(options)


def _translate(source: Path, target: Path, *flags: str | Path) -> "subprocess.Popen[str]":
    words = ["-m", "transformer", "-i", source, "-o", target, "--from", "es", "--to", "en", *flags]
    log = target.with_suffix(".log").open("w")
    return start(words, stderr=log, stdout=subprocess.DEVNULL)


def _watched(process: "subprocess.Popen[str]", seen: list[float]) -> int:
    """The exit code, and the MiB that it held from time to time."""
    while process.poll() is None:
        seen.append(resident(process))
        time.sleep(0.2)
    return process.returncode


def _hostile(options: Options) -> Iterator[Check]:
    n, chance = options.count(N_HOSTILE), random.Random(options.seed)
    odd = [line.encode() for line in texts(n, options.seed)]
    lines = [
        f"Tengo {i + 1000} libros rojos.".encode() if i % EACH == 0
        else line + chance.choice(STRAY) if i % 97 == 0
        else chance.choice(ODD).encode() * 3000 if i % 1999 == 0
        else line
        for i, line in enumerate((odd * (n // len(odd) + 1))[:n])
    ]  # fmt: skip
    source, target = options.folder / "hostile.txt", options.folder / "hostile.out"
    source.write_bytes(b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines))
    seen: list[float] = []
    code = _watched(_translate(source, target, "--errors", "replace"), seen)
    out = target.read_bytes().split(b"\n")[:-1] if target.exists() else []
    yield Check(
        "hostile lines: as many out",
        n,
        abs(len(out) - n) + code,
        f"{len(out)} out, exit code {code}",
    )
    numbers = [(i, re.sub(rb"\D", b"", line)) for i, line in enumerate(out) if i % EACH == 0]
    wrong = [line for i, line in numbers if line != str(i + 1000).encode()]
    yield Check(
        "hostile lines: in order", len(numbers), len(wrong), f"{wrong[:3]}" if wrong else ""
    )
    held = max(seen, default=0)
    yield Check(f"hostile lines: within {MIB} MiB", len(seen), int(held > MIB), f"{held:.0f} MiB")


def _copying(folder: Path) -> list[str]:
    """Saves a small model that gives its source back; the words that are one piece each."""
    tokenizer = read_vocabulary(find("es-en") / VOCABULARY)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, d_model=128, n_heads=2, d_ff=64, max_len=64,
        n_encoder_layers=1, n_decoder_layers=1,
    )  # fmt: skip
    weights = copy_model(config).state_dict()
    save(folder, weights, config, tokenizer, [("es", "en")], "# Copies\n")
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    return [piece[1:] for piece in pieces if piece[0] == "▁" and piece[1:].isalpha()]


def _many(options: Options) -> Iterator[Check]:
    n, chance = options.count(N_MANY), random.Random(options.seed)
    source, target = options.folder / "many.txt", options.folder / "many.out"
    copying, part = options.folder / "copying", options.folder / "many.out.part"
    words = _copying(copying)
    text = "".join(f"{chance.choice(words)} {chance.choice(words)}\n" for _ in range(n))
    source.write_text(text, encoding="utf-8")
    model = ("--model", copying, "--no-guard", "--compute-type", "float32")
    seen, process = list[float](), _translate(source, target, *model)
    while process.poll() is None and not (part.exists() and part.stat().st_size > len(text) // 2):
        seen.append(resident(process))
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, first = process.wait(), len(seen)
    n_kept = part.read_bytes().count(b"\n") if part.exists() else 0
    told = f"exit code {code}, {n_kept:,} lines kept"
    yield Check("many lines: Ctrl-C keeps them", n, int(code != 130 or not 0 < n_kept < n), told)
    code = _watched(_translate(source, target, *model, "--resume"), seen)
    pairs = zip(text.splitlines(), target.read_text(encoding="utf-8").splitlines(), strict=False)
    n_right = sum(line == copied for line, copied in pairs)
    told = f"exit code {code}, {n - n_right:,} not in their place"
    yield Check("many lines: --resume completes them, in order", n, n - n_right + code, told)
    n_bad = sum(map(_grows, (seen[:first], seen[first:])))
    yield Check("many lines: constant memory", len(seen), n_bad, f"{max(seen):.0f} MiB at most")


def _grows(seen: Sequence[float]) -> bool:
    """Whether the second half holds over a tenth more than the first, behind the start."""
    settled = seen[len(seen) // 10 :]
    half = len(settled) // 2
    return half > 0 and max(settled[half:]) > 1.1 * max(settled[:half])
