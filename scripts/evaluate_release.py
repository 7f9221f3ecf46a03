"""Repeat the evaluation of the released models: test sets, slices, challenge set.

python -m scripts.evaluate_release --test newstest2013.parquet tatoeba-dev.parquet

For each direction: BLEU and chrF2 with 95 per cent intervals, greedy and with four beams, without
the guard; beside them what others have published for sets of that name. Then how much is lost
when the sources of the first set are written as people type them, plainly and with the guard; and
how many texts of the challenge set come out right: texts that translators are known to fail on,
with the words that a right translation has one of. What can be seen without knowing the language
(a loop, a copy, a lost token) is judged apart from the words.
"""

import argparse
import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.benchmark.tables import markdown
from transformer.command import Parser, run_command
from transformer.config import DecodeConfig, UserError
from transformer.corpus import noise
from transformer.evaluation.analysis import TestSet
from transformer.evaluation.evaluate import read_set, set_names
from transformer.evaluation.metrics import N_BOOTSTRAP, bleu, scores
from transformer.flags import add_device_arguments
from transformer.text.casing import is_all_caps
from transformer.text.placeholders import find_protected as find_tokens
from transformer.translation.directions import Directions, load
from transformer.translation.quality_checks import find_issues
from transformer.translation.translator import TextTranslator, Translation, Translator

DATA = Path(__file__).resolve().parent.parent / "data"
GREEDY = DecodeConfig(scores=False)
SEARCHES = {"greedy": GREEDY, "beam 4": DecodeConfig(beam_size=4)}
N_SLICE = 500  # lines of the first test set that are rewritten
N_JOINED = 8  # sentences of a long text
HEADER = "from\tkind\tsource\texpected"  # of the challenge set
_TIMES = re.compile(r"(\d+)x (.+)")
Pairs = list[tuple[str, str]]


class ChallengeCase(NamedTuple):
    """A text, and for each word that must come out the ways to say it, in small letters."""

    src_lang: str
    kind: str
    source: str
    expected: tuple[tuple[str, ...], ...]


class Verdict(NamedTuple):
    """What is wrong with the form of a translation, and with its words."""

    case: ChallengeCase
    output: str
    form: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.form and not self.words


def read_challenge(path: Path) -> tuple[ChallengeCase, ...]:
    """Read the cases of a TSV file whose sources are JSON strings; `80x text` is 80 times text."""
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
    """Judge the form and the words of each translation."""
    verdicts = []
    for case, translation in zip(cases, translations, strict=True):
        form, lower = _form_issues(case.source, translation), translation.text.lower()
        wrong = [ways for ways in case.expected if not any(way.lower() in lower for way in ways)]
        verdicts.append(Verdict(case, translation.text, form, tuple(map("|".join, wrong))))
    return tuple(verdicts)


def _form_issues(source: str, translation: Translation) -> tuple[str, ...]:
    """Return what is wrong whatever the language."""
    output, wrong = translation.text, list(translation.warnings)
    kept = [source[s.start : s.end] for s in find_tokens(source) if s.kind != "number"]
    kept += [c for c in source if c > "\u2027" and unicodedata.category(c) in ("So", "Lo")]
    wrong += [str(fault) for fault in find_issues(source, output, kept) if str(fault) not in wrong]
    if not any(map(str.isalpha, source)) and output != source:
        wrong.append("changed")
    if re.findall(r"^\s*|\t|\s*$", output) != re.findall(r"^\s*|\t|\s*$", source):
        wrong.append("white space")
    if is_all_caps(source) and not output.isupper():
        wrong.append("small letters")
    return tuple(wrong)


def rewrite_sources(pairs: Pairs) -> Iterator[tuple[str, Pairs]]:
    """Yield the slices by name: the same pairs with their sources written in another way."""
    rng = random.Random(1)
    ways: dict[str, Callable[[str, str], tuple[str, str]]] = {
        "capitals": lambda src, tgt: (src.upper(), tgt),
        "title case": lambda src, tgt: (noise.title_case(src, tgt, rng)[0], tgt),
        "small letters": lambda src, tgt: (src.lower(), tgt),
        "no accents, no ¿¡": lambda s, t: (
            noise.drop_opening_marks(*noise.drop_accents(s, t, rng), rng)[0],
            t,
        ),
        "no final mark": lambda src, tgt: (src.rstrip(".!?"), tgt.rstrip(".!?")),
        "a slip or two": lambda src, tgt: (noise.add_typos(src, tgt, rng)[0], tgt),
    }
    for name, way in ways.items():
        yield name, [way(src, tgt) for src, tgt in pairs]
    yield "one word", [(src, tgt) for src, tgt in pairs if len(src.split()) == 1]
    parts = [pairs[i : i + N_JOINED] for i in range(0, len(pairs), N_JOINED)]
    sides = [tuple(zip(*part, strict=True)) for part in parts]
    yield f"{N_JOINED} joined", [(" ".join(src), " ".join(tgt)) for src, tgt in sides]


def lowercase_bleu(system: TextTranslator, pairs: Pairs) -> float:
    """Compute BLEU of a greedy search without regard to capitals."""
    sources, references = zip(*pairs, strict=True)
    translations = system.translate(sources, GREEDY)
    return bleu([t.text.lower() for t in translations], [text.lower() for text in references])


def slice_rows(system: Directions, pairs: Pairs) -> Iterator[tuple[str, ...]]:
    """Yield name, lines, BLEU without and with the guard, and what both lose to the plain text."""
    systems = system.unguarded(system.available[0]), system.translator(system.available[0])
    base = [lowercase_bleu(each, pairs) for each in systems]
    yield "as it is", f"{len(pairs)}", *(f"{value:.1f}" for value in base), ""
    for name, some in rewrite_sources(pairs):
        if some:
            values = [lowercase_bleu(each, some) for each in systems]
            lost = ", ".join(f"{v - before:+.1f}" for v, before in zip(values, base, strict=True))
            yield name, f"{len(some)}", *(f"{value:.1f}" for value in values), lost


def test_set_rows(
    plain: Translator, test_set: TestSet, n_bootstrap: int
) -> Iterator[tuple[str, ...]]:
    """Yield a row a search: set, system, BLEU, chrF2, source of the figure."""
    for name, decode in SEARCHES.items():
        outputs = [translation.text for translation in plain.translate(test_set.sources, decode)]
        measures = scores(outputs, test_set.references, n_bootstrap, ("BLEU", "chrF2"))
        values = [
            f"{s.value:.1f}" if s.low is None else f"{s.value:.1f} [{s.low:.1f}, {s.high:.1f}]"
            for s in measures
        ]
        yield test_set.name, f"this model, {name}", *values, f"{len(outputs)} pairs, here"


def published_rows(langs: tuple[str, str], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows of data/published.tsv for a direction, for sets whose names begin alike."""
    rows = (DATA / "published.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [
        (name, system, score, chrf, source)
        for name in names
        for direction, known, system, score, chrf, source in (row.split("\t") for row in rows)
        if direction == "-".join(langs) and name.startswith(known)
    ]


def challenge_rows(system: Directions) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return by kind texts, right form, right words too; and the texts that are wrong."""
    every, langs = read_challenge(DATA / "challenge.tsv"), system.available[0]
    cases = [case for case in every if case.src_lang == langs[0]]
    verdicts = judge(cases, system.translate([c.source for c in cases], GREEDY, langs))
    kinds = ["all", *dict.fromkeys(case.kind for case in cases)]
    of_kind = {kind: [v for v in verdicts if kind in ("all", v.case.kind)] for kind in kinds}
    rows: list[tuple[str, ...]] = [
        (kind, f"{len(some)}", f"{sum(not v.form for v in some)}", f"{sum(v.passed for v in some)}")
        for kind, some in of_kind.items()
    ]
    return rows, [
        f"{v.case.source[:80]!r} -> {v.output[:80]!r}: {'; '.join((*v.form, *v.words))}"
        for v in verdicts
        if not v.passed
    ]


def evaluate(system: Directions, args: argparse.Namespace) -> None:
    """Print the report of one model for one direction."""
    (langs,) = system.available
    plain = system.unguarded(langs)
    engine = plain.decoder.compute_type
    print(f"\n## {'-'.join(langs)}: {plain.name} ({engine} on {plain.device})\n", flush=True)
    names = set_names(args.test)
    sets = [read_set(s, n, langs, args.limit) for s, n in zip(args.test, names, strict=True)]
    rows = [row for test_set in sets for row in test_set_rows(plain, test_set, args.n_bootstrap)]
    rows = sorted([*rows, *published_rows(langs, names)], key=lambda row: names.index(row[0]))
    print(markdown(("test set", "system", "BLEU", "chrF2", "from"), rows), flush=True)
    if sets:
        pairs = list(zip(sets[0].sources, sets[0].references, strict=True))[:N_SLICE]
        heads = ("sources", "lines", "BLEU, lower case", "with the guard", "loss, both")
        print(f"\nThe first {len(pairs)} lines of {names[0]}, written in another way:\n")
        print(markdown(heads, slice_rows(system, pairs)), flush=True)
    kinds, wrong = challenge_rows(system)
    print("\nThe challenge set, with the guard:\n")
    print(markdown(("kind", "texts", "form right", "words right too"), kinds))
    print("\n".join(["", *(f"* {text}" for text in wrong)]), flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--test", nargs="*", default=[], help="test sets, as of scripts/evaluate.py")
    add("--model", nargs="+", help="checkpoint folders (default: the released ones)")
    add_device_arguments(flags)
    add("--limit", type=int, help="only the first sentences of each test set")
    add("--n-bootstrap", type=int, default=N_BOOTSTRAP, help="resamples for the intervals")
    args = flags.parse_args(argv)

    def work() -> None:
        for model in args.model or [None]:
            system = load(model, device=args.device, compute_type=args.compute_type)
            for langs in system.available:
                evaluate(system.select([langs]), args)

    return run_command(work, "evaluate_release")


if __name__ == "__main__":
    raise SystemExit(main())
