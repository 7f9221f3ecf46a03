"""How many terms of a glossary are used, and what it costs the rest of the sentences in BLEU.

    python -m scripts.benchmark.glossary --test newstest2012.parquet tatoeba-dev.parquet

The terms are made from the test sets by rule: nouns, which stand after an article and whose
translation stands in the other half of the same pairs, get that translation spelt backwards, so
that whatever is there came from the glossary; names, alike on both sides, stay as they are. A
sentence is honoured if each of its terms is there as often as in the source. BLEU is measured with
the targets in the references too; "known" are the sentences in which the translation without a
glossary has the words of the reference for all terms, so that all of the difference was lost
elsewhere.
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from scripts.benchmark.tables import environment, log, markdown
from transformer.command import Parser, run_command
from transformer.config import DecodeConfig, Direction, UserError
from transformer.evaluation.evaluate import read_set, set_names
from transformer.evaluation.metrics import bleu
from transformer.text.casing import capitalize_first
from transformer.text.glossary import Glossary
from transformer.translation.directions import Directions, load
from transformer.translation.quality_checks import count_term, term_pattern

WORD = re.compile(r"[^\W\d_]+")
ARTICLES = {"es": "el|la|los|las|un|una", "en": "the|a|an"}
MIN_LETTERS, MIN_COUNT, MIN_DICE = 4, 2, 0.5  # of a noun; of a pair of words, and its coefficient
HEADS = (
    "direction", "sentences", "terms", "honoured", "BLEU", "with terms", "known", "BLEU", "lost",
)  # fmt: skip
Pairs = Sequence[tuple[str, str]]


class Term(NamedTuple):
    """A term, its translation in the references, and its translation in the glossary."""

    source: str
    reference: str
    target: str


class TestSentence(NamedTuple):
    """A sentence, its reference and the terms in it."""

    source: str
    reference: str
    terms: list[Term]


def make_terms(pairs: Pairs, langs: Direction) -> list[Term]:
    """Return the nouns of the sources with another target, and the names that both sides have."""
    together, left, right = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    nouns, names = set[str](), Counter[str]()
    pattern = re.compile(rf"\b(?i:{ARTICLES[langs[0]]}) ([^\W\d_]{{{MIN_LETTERS},}})\b")
    for source, reference in pairs:
        words, others = {*WORD.findall(source.lower())}, {*WORD.findall(reference)}
        left.update(words)
        right.update(others)
        small = [word for word in others if word.islower() and len(word) >= MIN_LETTERS]
        together.update((noun, word) for noun in words for word in small)
        nouns.update(noun for noun in pattern.findall(source) if noun.islower())
        inside = {word for word in WORD.findall(source)[1:] if word.istitle() and len(word) > 2}
        names.update(inside & others)
    scores = {
        (noun, word): 2 * n / (left[noun] + right[word])
        for (noun, word), n in together.items()
        if noun in nouns and n >= MIN_COUNT
    }
    by_noun: dict[str, Term] = {}
    for (noun, word), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        used = {term.reference for term in by_noun.values()}
        if score > MIN_DICE and noun not in by_noun and word not in used:
            by_noun[noun] = Term(noun, word, word[::-1])
    kept = (name for name, n in names.items() if n >= MIN_COUNT and name.lower() not in by_noun)
    return [*by_noun.values(), *(Term(name, name, name) for name in kept)]


def select_sentences(pairs: Pairs, terms: Sequence[Term], limit: int) -> list[TestSentence]:
    """Return sentences with a term, and a reference with as many of each: evenly spread."""
    by_word = {term.source: term for term in terms}
    found: list[TestSentence] = []
    for source, reference in pairs:
        words = {*WORD.findall(source), *WORD.findall(source.lower())}
        own = [by_word[word] for word in sorted(words & by_word.keys())]
        if own and all(
            count_term(t.source, source) == count_term(t.reference, reference) for t in own
        ):
            found.append(TestSentence(source, reference, own))
    step = max(1, len(found) / limit)
    return [found[int(i * step)] for i in range(min(limit, len(found)))]


def is_honoured(case: TestSentence, text: str) -> bool:
    """Return whether each term is in the text as often as in the source."""
    return all(count_term(term.target, text) == count_term(term.source, case.source)
               for term in case.terms)  # fmt: skip


def insert_targets(case: TestSentence, text: str) -> str:
    """Replace the words of the reference in a text by those of the glossary."""
    for _, reference, target in case.terms:
        for word in {match[0] for match in term_pattern(reference).finditer(text)}:
            cased = capitalize_first(target) if word.istitle() else target
            text = re.sub(rf"\b{re.escape(word)}\b", cased, text)
    return text


def row(
    langs: Direction, cases: Sequence[TestSentence], before: list[str], after: list[str]
) -> list[str]:
    """Format the row of a direction, from the translations without a glossary and with it."""
    references = [insert_targets(case, case.reference) for case in cases]
    plain = list(map(insert_targets, cases, before))
    known = [i for i, case in enumerate(cases) if is_honoured(case, plain[i])]
    own, without, with_terms = ([texts[i] for i in known] for texts in (references, plain, after))
    base = bleu(without, own)
    return [
        "-".join(langs), f"{len(cases):,}", f"{sum(len(case.terms) for case in cases):,}",
        f"{sum(map(is_honoured, cases, after)) / len(cases):.2%}",
        f"{bleu(before, [case.reference for case in cases]):.2f}", f"{bleu(after, references):.2f}",
        f"{len(known):,}", f"{base:.2f}", f"{base - bleu(with_terms, own):+.2f}",
    ]  # fmt: skip


def measure(opened: Directions, langs: Direction, args: argparse.Namespace) -> list[str]:
    """Make the terms of a direction, translate without and with them, and return its row."""
    sets = [read_set(spec, name, langs)
            for spec, name in zip(args.test, set_names(args.test), strict=True)]  # fmt: skip
    pairs = [pair for one in sets for pair in zip(one.sources, one.references, strict=True)]
    terms = make_terms(pairs, langs)
    cases = select_sentences(pairs, terms, args.limit)
    if not cases:
        raise UserError("expected pairs of sentences that have words in common: more of them")
    lines = ["\t".join(langs), *(f"{term.source}\t{term.target}" for term in terms)]
    glossary = Glossary.parse("\n".join(lines))
    sources, decode = [case.source for case in cases], DecodeConfig(beam_size=args.beam_size)
    before = [r.text for r in opened.translate(sources, decode, langs)]
    after = [r.text for r in opened.translate(sources, decode, langs, glossary=glossary)]
    for case, text in zip(cases, after, strict=True):
        if not is_honoured(case, text):
            log(f"{case.source}\n  {text}\n  expected {', '.join(t.target for t in case.terms)}")
    return row(langs, cases, before, after)


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--test", required=True, nargs="+", help="parallel text, as of scripts/evaluate.py")
    add("--model", help="checkpoint folder (default: the released models)")
    add("--limit", type=int, default=1000, help="sentences of a direction (default: 1000)")
    add("--beam-size", type=int, default=1, help="hypotheses kept at each step (default: 1)")
    args = flags.parse_args(argv)

    def run() -> None:
        opened = load(args.model, device="cpu")
        rows = [measure(opened, langs, args) for langs in opened.available]
        print(f"{environment()}\n\n{markdown(HEADS, rows)}")

    return run_command(run, "glossary")


if __name__ == "__main__":
    raise SystemExit(main())
