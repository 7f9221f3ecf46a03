"""How many terms of a glossary are honoured, and what it costs the rest of the sentences in BLEU.

    python -m scripts.benchmark.glossary --test newstest2012.parquet tatoeba-dev.parquet

The terms are made from the test sets by rule: nouns, which stand after an article and whose
translation stands in the other half of the same pairs, get that translation spelt backwards, so
that whatever is there came from the glossary; names, alike on both sides, stay as they are. A
sentence counts if each of its terms is there as often as in the source. BLEU is measured with the
targets in the references too; "said" are the sentences in which the translation without a glossary
has the words of the reference for all terms, so that all of the difference was lost elsewhere.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from scripts.benchmark.tables import environment, markdown
from transformer.command import Parser, run_command
from transformer.config import DecodeConfig, Direction, UserError
from transformer.evaluation.evaluate import read_set, set_names
from transformer.evaluation.metrics import bleu
from transformer.text.casing import capitalised
from transformer.text.glossary import Glossary
from transformer.translation.directions import Directions, load
from transformer.translation.quality_checks import count_term, term_pattern
from transformer.translation.translator import Translation

WORD = re.compile(r"[^\W\d_]+")
ARTICLES = {"es": "el|la|los|las|un|una", "en": "the|a|an"}
SHORTEST, FEWEST, SURE = 4, 2, 0.5  # letters; times that a pair meets; of Dice's coefficient
HEADS = (
    "direction", "sentences", "terms", "honoured", "BLEU", "with terms", "said", "BLEU", "lost",
)  # fmt: skip
Pairs = Sequence[tuple[str, str]]


class Term(NamedTuple):
    """A term, what the references say for it, and what the glossary says."""

    source: str
    reference: str
    target: str


class TestSentence(NamedTuple):
    """A sentence, its reference and the terms in it."""

    source: str
    reference: str
    terms: list[Term]


def terms_of(pairs: Pairs, langs: Direction) -> list[Term]:
    """The nouns of the sources with another target, and the names that both sides have."""
    meets, left, right = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    nouns, names = Counter[str](), Counter[str]()
    pattern = re.compile(rf"\b(?i:{ARTICLES[langs[0]]}) ([^\W\d_]{{{SHORTEST},}})\b")
    for source, reference in pairs:
        words, others = {*WORD.findall(source.lower())}, {*WORD.findall(reference)}
        left.update(words)
        right.update(others)
        small = [word for word in others if word.islower() and len(word) >= SHORTEST]
        meets.update((noun, word) for noun in words for word in small)
        nouns.update(noun for noun in pattern.findall(source) if noun.islower())
        inside = {word for word in WORD.findall(source)[1:] if word.istitle() and len(word) > 2}
        names.update(inside & {*WORD.findall(reference)})
    scores = {
        (noun, word): 2 * n / (left[noun] + right[word])
        for (noun, word), n in meets.items()
        if noun in nouns and n >= FEWEST
    }
    made: dict[str, Term] = {}
    for (noun, word), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        taken = {term.reference for term in made.values()}
        if score > SURE and noun not in made and word not in taken:
            made[noun] = Term(noun, word, word[::-1])
    kept = [Term(name, name, name) for name, n in names.items() if n >= FEWEST]
    return [*made.values(), *(term for term in kept if term.source.lower() not in made)]


def cases(pairs: Pairs, terms: Sequence[Term], limit: int) -> list[TestSentence]:
    """Sentences that have a term, and a reference with as many of each: evenly spread."""
    by_word = {term.source: term for term in terms}
    found: list[TestSentence] = []
    for source, reference in pairs:
        there = {*WORD.findall(source), *WORD.findall(source.lower())}
        own = [by_word[word] for word in sorted(there & by_word.keys())]
        if own and all(
            count_term(t.source, source) == count_term(t.reference, reference) for t in own
        ):
            found.append(TestSentence(source, reference, own))
    step = max(1, len(found) / limit)
    return [found[int(i * step)] for i in range(min(limit, len(found)))]


def honoured(case: TestSentence, text: str) -> bool:
    """Whether each term is there as often as in the source."""
    return all(
        count_term(term.target, text) == count_term(term.source, case.source) for term in case.terms
    )


def with_targets(case: TestSentence, text: str) -> str:
    """A text with the words of the reference as the glossary has them."""
    for _, reference, target in case.terms:
        for said in {match[0] for match in term_pattern(reference).finditer(text)}:
            raised = capitalised(target) if said.istitle() else target
            text = re.sub(rf"\b{re.escape(said)}\b", raised, text)
    return text


def row(
    langs: Direction, tested: Sequence[TestSentence], before: list[str], after: list[str]
) -> list[str]:
    """What the table says of a direction."""
    references = [with_targets(case, case.reference) for case in tested]
    said = [
        i for i, (case, text) in enumerate(zip(tested, before, strict=True))
        if honoured(case, with_targets(case, text))
    ]  # fmt: skip
    own = [references[i] for i in said]
    plain = [with_targets(tested[i], before[i]) for i in said]
    kept, share = [after[i] for i in said], sum(map(honoured, tested, after)) / len(tested)
    scores = bleu(before, [case.reference for case in tested]), bleu(after, references)
    return [
        "-".join(langs), f"{len(tested):,}", f"{sum(len(case.terms) for case in tested):,}",
        f"{share:.2%}", f"{scores[0]:.2f}", f"{scores[1]:.2f}", f"{len(said):,}",
        f"{bleu(plain, own):.2f}", f"{bleu(plain, own) - bleu(kept, own):+.2f}",
    ]  # fmt: skip


def measured(opened: Directions, langs: Direction, args: argparse.Namespace) -> list[str]:
    """Makes the terms of a direction, translates without them and with them; a row of the table."""
    sets = [read_set(spec, name, langs)
            for spec, name in zip(args.test, set_names(args.test), strict=True)]  # fmt: skip
    pairs = [pair for one in sets for pair in zip(one.sources, one.references, strict=True)]
    terms = terms_of(pairs, langs)
    tested = cases(pairs, terms, args.limit)
    if not tested:
        raise UserError("expected pairs of sentences that have words in common: more of them")
    lines = ["\t".join(langs), *(f"{term.source}\t{term.target}" for term in terms)]
    glossary = Glossary.parse("\n".join(lines))
    sources, decode = [case.source for case in tested], DecodeConfig(beam_size=args.beam_size)
    before = opened.translate(sources, decode, langs)
    after = opened.translate(sources, decode, langs, glossary=glossary)
    _show_lost(tested, after)
    return row(langs, tested, [r.text for r in before], [r.text for r in after])


def _show_lost(tested: Sequence[TestSentence], after: Sequence[Translation]) -> None:
    for case, result in zip(tested, after, strict=True):
        if not honoured(case, result.text):
            wanted = ", ".join(term.target for term in case.terms)
            print(f"{case.source}\n  {result.text}\n  expected {wanted}", file=sys.stderr)


def measure(args: argparse.Namespace) -> None:
    """Prints the table."""
    opened = load(args.model, device="cpu")
    rows = [measured(opened, langs, args) for langs in opened.available]
    print(f"{environment()}\n\n{markdown(HEADS, rows)}")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--test", required=True, nargs="+", help="parallel text, as of scripts/evaluate.py")
    add("--model", help="checkpoint folder (default: the released models)")
    add("--limit", type=int, default=1000, help="sentences of a direction (default: 1000)")
    add("--beam-size", type=int, default=1, help="hypotheses kept at each step (default: 1)")
    args = flags.parse_args(argv)
    return run_command(lambda: measure(args), "glossary")


if __name__ == "__main__":
    sys.exit(main())
