"""The self-test of a released model: its translations are those of its release.

`selftest.json` holds golden sentences with their translations by greedy search in float32, and a
small test set with its BLEU. `write` makes it at the release, `run` checks it.
"""

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.checkpoint.locate import SELFTEST, find_checkpoint, read_config, read_json
from transformer.config import ComputeType, DecodeConfig, Direction, SentencePair, UserError
from transformer.evaluation.metrics import bleu
from transformer.files import write_text
from transformer.translation.translator import Translator

MAX_MEGABYTES = 60.0  # of a released folder
TOLERANCE = 0.5  # BLEU that 8-bit and 16-bit numbers may cost
GREEDY = DecodeConfig(scores=False)
GOLDEN = {
    "es": (
        "Buenos días.", "¿Dónde está la biblioteca?", "Tengo hambre y no hay nada en la nevera.",
        "Mi hermana vive en Madrid desde hace dos años.", "No sé qué hacer.",
        "¿Cuánto cuesta este libro?", "Ayer llovió todo el día, así que nos quedamos en casa.",
        "Si tuviera tiempo, iría contigo.", "El tren sale a las ocho.", "¡Feliz cumpleaños!",
    ),
    "en": (
        "Good morning.", "Where is the library?", "I'm hungry and there is nothing in the fridge.",
        "My sister has lived in Madrid for two years.", "I don't know what to do.",
        "How much does this book cost?", "It rained all day yesterday, so we stayed at home.",
        "If I had time, I would go with you.", "The train leaves at eight o'clock.",
        "Happy birthday!",
    ),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check of a self-test: whether it passed, and what was measured."""

    name: str
    passed: bool
    detail: str


def write(folder: Path, pairs: Mapping[Direction, Sequence[SentencePair]], name: str) -> None:
    """Write selftest.json into a checkpoint, from its own translations in float32.

    `pairs`, by direction, are of a test set `name`. UserError if loading or writing fails.
    """
    parts = {"-".join(langs): _golden(folder, langs, pairs[langs], name) for langs in pairs}
    values = parts if len(parts) > 1 else next(iter(parts.values()))
    write_text(folder / SELFTEST, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def _golden(
    folder: Path, langs: Direction, pairs: Sequence[SentencePair], name: str
) -> dict[str, Any]:
    translator = Translator.load(folder, "cpu", "float32", langs)
    golden = GOLDEN.get(translator.src_lang, ())
    sources, references = [src for src, _ in pairs], [tgt for _, tgt in pairs]
    outputs = _outputs(translator, (*golden, *sources))
    return {
        "golden": [list(pair) for pair in zip(golden, outputs, strict=False)],
        "test": {
            "name": name,
            "pairs": [list(pair) for pair in pairs],
            "bleu": round(bleu(outputs[len(golden) :], references), 2),
        },
    }


def run(
    folder: str | Path, device: str, compute_type: ComputeType, langs: Direction | None = None
) -> Iterator[Check]:
    """Yield the checks of a released model as they are made; UserError if it has no self-test.

    `langs` is one of the model's directions; None: its first.
    """
    path = find_checkpoint(folder)
    langs = langs or read_config(path)[1][0]
    golden, test = _read(path / SELFTEST, langs)
    megabytes = sum(file.stat().st_size for file in path.iterdir() if file.is_file()) / 1e6
    detail = f"{megabytes:.1f} MB, at most {MAX_MEGABYTES:.0f}"
    yield Check(name="size", passed=megabytes <= MAX_MEGABYTES, detail=detail)
    start = time.perf_counter()
    translator = Translator.load(path, device, compute_type, langs)
    seconds = time.perf_counter() - start
    engine = translator.decoder.compute_type
    yield Check(
        name="load", passed=True, detail=f"{seconds:.2f} s, {engine} on {translator.device}"
    )
    exact = engine == "float32" and translator.device == "cpu"
    outputs = _outputs(translator, [source for source, _ in golden])
    pairs = zip(golden, outputs, strict=True)
    wrong = [
        f"{source!r} gave {out!r}, not {want!r}" for (source, want), out in pairs if out != want
    ]
    n_equal = len(golden) - len(wrong)
    # What rounding may change is a word here and there; garbage is alike nowhere.
    minimum = len(golden) if exact else len(golden) // 2
    detail = "; ".join([f"{n_equal} of {len(golden)} alike, at least {minimum}", *wrong])
    yield Check(name="golden sentences", passed=n_equal >= minimum, detail=detail)
    hypotheses = _outputs(translator, [source for source, _ in test["pairs"]])
    score = bleu(hypotheses, [reference for _, reference in test["pairs"]])
    tolerance = 0.01 if exact else TOLERANCE
    detail = f"BLEU {score:.2f}, at its release {test['bleu']:.2f}"
    yield Check(name=str(test["name"]), passed=score >= test["bleu"] - tolerance, detail=detail)


def _outputs(translator: Translator, sources: Sequence[str]) -> list[str]:
    return [result.text for result in translator.translate(sources, GREEDY)]


def _read(path: Path, langs: Direction) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    if not path.is_file():
        raise UserError(
            f"expected {path}, which scripts/release.py writes: this model has no self-test"
        )
    values = read_json(path)
    try:
        values = values.get("-".join(langs), values)  # which a folder of one direction leaves out
        golden = [(str(source), str(output)) for source, output in values["golden"]]
        test = values["test"]
        pairs = [(str(source), str(reference)) for source, reference in test["pairs"]]
        return golden, {"name": test["name"], "bleu": float(test["bleu"]), "pairs": pairs}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"expected golden sentences and a test set in {path}: {error!r}") from error
