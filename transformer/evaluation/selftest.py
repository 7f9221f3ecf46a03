"""A released model proves itself: it says what it said at its release, and what it must say.

`selftest.json` holds golden sentences with their translations by greedy search in float32, and a
small test set with its scores. `written` makes it, `run` repeats it.

The challenge set, `data/challenge.tsv`, holds texts that translators are known to fail on, with the
words that a right translation has one of. What can be seen without knowing the language (a loop, a
copy, a lost token) is judged apart from the words.
"""

import dataclasses
import json
import re
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.checkpoint.locate import SELFTEST, find, read_config, read_json
from transformer.config import ComputeType, DecodeConfig, Direction, SentencePair, UserError
from transformer.evaluation.metrics import bleu
from transformer.files import write_text
from transformer.text.placeholders import find as find_tokens
from transformer.text.spelling import is_shouted
from transformer.translation.faults import faults
from transformer.translation.translator import Translation, Translator

MAX_MEGABYTES = 45.0  # of a released folder
TOLERANCE = 0.5  # BLEU that 8-bit and 16-bit numbers may cost
PLAIN = DecodeConfig(scores=False)
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


HEADER = "from\tkind\tsource\texpected"  # of the challenge set
_TIMES = re.compile(r"(\d+)x (.+)")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One line of a self-test: whether it holds, and what was seen."""

    name: str
    holds: bool
    seen: str


def written(folder: Path, pairs: Mapping[Direction, Sequence[SentencePair]], name: str) -> None:
    """Writes selftest.json into a checkpoint, from its own translations in float32.

    `pairs` are sentences and references of a small test set for each direction that it serves,
    `name` says which.
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
    """The checks of a released folder, as they are done; UserError where it has none.

    Of a folder that serves several directions for one of them, the first if none is named.
    """
    place = find(folder)
    langs = langs or read_config(place)[1][0]
    golden, test = _read(place / SELFTEST, langs)
    megabytes = sum(file.stat().st_size for file in place.iterdir() if file.is_file()) / 1e6
    seen = f"{megabytes:.1f} MB, at most {MAX_MEGABYTES:.0f}"
    yield Check(name="size", holds=megabytes <= MAX_MEGABYTES, seen=seen)
    start = time.perf_counter()
    translator = Translator.load(place, device, compute_type, langs)
    seconds = time.perf_counter() - start
    engine = translator.decoder.compute_type
    yield Check(name="load", holds=True, seen=f"{seconds:.2f} s, {engine} on {translator.device}")
    exact = engine == "float32" and translator.device == "cpu"
    outputs = _outputs(translator, [source for source, _ in golden])
    pairs = zip(golden, outputs, strict=True)
    wrong = [
        f"{source!r} gave {out!r}, not {want!r}" for (source, want), out in pairs if out != want
    ]
    alike = len(golden) - len(wrong)
    # What rounding may change is a word here and there; garbage is alike nowhere.
    enough = len(golden) if exact else len(golden) // 2
    seen = "; ".join([f"{alike} of {len(golden)} alike, at least {enough}", *wrong])
    yield Check(name="golden sentences", holds=alike >= enough, seen=seen)
    hypotheses = _outputs(translator, [source for source, _ in test["pairs"]])
    score = bleu(hypotheses, [reference for _, reference in test["pairs"]])
    room = 0.01 if exact else TOLERANCE
    seen = f"BLEU {score:.2f}, at its release {test['bleu']:.2f}"
    yield Check(name=str(test["name"]), holds=score >= test["bleu"] - room, seen=seen)


def _outputs(translator: Translator, sources: Sequence[str]) -> list[str]:
    return [result.text for result in translator.translate(sources, PLAIN)]


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


@dataclasses.dataclass(frozen=True, slots=True)
class ChallengeCase:
    """A text, and for each word that must come out the ways to say it, in small letters."""

    src_lang: str
    kind: str
    source: str
    expected: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a translation: with its form, and with its words."""

    case: ChallengeCase
    output: str
    form: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.form and not self.words


def read_challenge(path: Path) -> tuple[ChallengeCase, ...]:
    """The cases of a TSV file whose sources are JSON strings; `80x text` is the text 80 times."""
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    if header != HEADER:
        raise UserError(f"expected the columns {HEADER!r} in {path}, got {header!r}")
    cases = []
    for row in rows:
        lang, kind, source, expected = row.split("\t")
        text = json.loads(source)
        if times := _TIMES.fullmatch(text):
            text = " ".join([times[2]] * int(times[1]))
        words = tuple(tuple(group.split("|")) for group in expected.split(";") if group)
        cases.append(ChallengeCase(lang, kind, text, words))
    return tuple(cases)


def judge(
    cases: Sequence[ChallengeCase], translations: Sequence[Translation]
) -> tuple[Verdict, ...]:
    """A verdict on each translation."""
    verdicts = []
    for case, translation in zip(cases, translations, strict=True):
        form, said = _form(case.source, translation), translation.text.lower()
        wrong = [ways for ways in case.expected if not any(way.lower() in said for way in ways)]
        verdicts.append(Verdict(case, translation.text, form, tuple(map("|".join, wrong))))
    return tuple(verdicts)


def _form(source: str, translation: Translation) -> tuple[str, ...]:
    """What is wrong whatever the language."""
    output, wrong = translation.text, list(translation.warnings)
    kept = [source[s.start : s.end] for s in find_tokens(source) if s.kind != "number"]
    kept += [c for c in source if c > "\u2027" and unicodedata.category(c) in ("So", "Lo")]
    wrong += [str(fault) for fault in faults(source, output, kept) if str(fault) not in wrong]
    if not any(map(str.isalpha, source)) and output != source:
        wrong.append("changed")
    if re.findall(r"^\s*|\t|\s*$", output) != re.findall(r"^\s*|\t|\s*$", source):
        wrong.append("white space")
    if is_shouted(source) and not output.isupper():
        wrong.append("small letters")
    return tuple(wrong)
