"""Pairs of other corpora that show the words which the main corpus hardly has.

    python scripts/rare.py --main tatoeba.tsv --pairs books.tsv news.tsv --from en --to es \\
        --output rare.tsv --phrases rare-phrases.tsv

A mix that follows one kind of text leaves out most words: they stand in the other corpora, now and
then, in long sentences. This picks a few short pairs for each such word, to be weighted by
themselves. A pair counts only if its target holds what the word is mostly translated by: a target
word that meets it far more often than chance would have it (after Dunning 1993, section 4), told
apart by its first letters, since a rare word is seen in too few pairs for each of its endings.
With `--phrases` the words around each of them are read off those pairs too, as `phrases.py` does.
"""

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from pairs_out import tsv, write_tsv
from phrases import Ints, Words, links, numbered, phrases, words_of

from transformer import cli
from transformer.cleaning import tidy
from transformer.config import UserError
from transformer.corpus import read_pairs
from transformer.sources import Languages, Pair

STEM = 5  # letters by which target words are told apart
MEETINGS = 2  # pairs in which a word meets its translation, at least
SHARE = 0.12  # of a word's pairs, at least
SURPRISE = 3.0  # the logarithm of how much oftener than by chance they meet, at least
RIVAL = 0.35  # score of a second translation against the best one's, at least
TRANSLATIONS = 3  # of a word, at most
HELPING = 80_000  # pairs of the main corpus that help to align the others, at most
LONGEST = 6  # words of a phrase
SHORT = 3  # words of the shorter one of the two phrases of each word
SMALL = 0.3  # share of a word's pairs with it in small letters, at least: the rest are names


Lexicon = dict[str, tuple[str, ...]]
Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Row:
    """A pair with its source words in small letters and the stems of its target words."""

    pair: Pair
    corpus: str
    words: frozenset[str]
    stems: frozenset[str]
    small: frozenset[str]  # those of the source words that are written in small letters
    length: int  # words of the source


def stem(word: str) -> str:
    """The first letters of a target word."""
    return word.lower()[:STEM]


def rows(specs: Iterable[str], langs: Languages) -> Iterator[Row]:
    """The pairs of all corpora, each once, without those of very unequal length."""
    seen: set[Pair] = set()
    for spec in specs:
        for source, target in read_pairs(spec, *langs):
            pair = tidy(source), tidy(target)
            src, tgt = words_of(pair[0]), words_of(pair[1])
            if pair in seen or not src or not tgt or not 0.5 < len(src) / len(tgt) < 1.8:
                continue
            seen.add(pair)
            words = frozenset(w.lower() for w in src)
            stems = frozenset(map(stem, tgt))
            yield Row(pair, spec, words, stems, frozenset(w for w in src if w.islower()), len(src))


def wanted(others: Iterable[Row], known: Counter[str], at_most: int, least: int) -> set[str]:
    """Words of two corpora and `least` pairs at least that the main corpus has in few pairs."""
    pairs: Counter[str] = Counter()
    small: Counter[str] = Counter()
    corpora: defaultdict[str, set[str]] = defaultdict(set)
    for row in others:
        pairs.update(row.words)
        small.update(row.small)
        for word in row.words:
            corpora[word].add(row.corpus)
    return {
        word
        for word, n in pairs.items()
        if n >= least
        and known[word] < at_most
        and len(corpora[word]) > 1
        and small[word] >= SMALL * n
        and len(word) > 2
    }


def lexicon(every: Sequence[Row], words: Set[str]) -> Lexicon:
    """The stems that each word is mostly translated by, best first; words without are left out."""
    frequency: Counter[str] = Counter()
    stems: Counter[str] = Counter()
    met: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in every:
        stems.update(row.stems)
        for word in row.words & words:
            frequency[word] += 1
            met[word].update(row.stems)
    found = {}
    for word, n in frequency.items():
        scores = {}
        for one, c in met[word].items():
            surprise = math.log(c * len(every) / (n * stems[one]))
            if c >= max(MEETINGS, SHARE * n) and surprise > SURPRISE:
                scores[one] = c * surprise
        ranked = sorted(scores, key=lambda one: (-scores[one], one))[:TRANSLATIONS]
        if ranked:
            found[word] = tuple(s for s in ranked if scores[s] >= RIVAL * scores[ranked[0]])
    return found


def chosen(others: Iterable[Row], lex: Lexicon, each: int) -> Iterator[Pair]:
    """For each word the shortest pairs that hold a translation of it, `each` at most."""
    left = dict.fromkeys(lex, each)
    for row in sorted(others, key=lambda row: row.length):
        shown = [w for w in row.words if left.get(w, 0) and not row.stems.isdisjoint(lex[w])]
        for word in shown:
            left[word] -= 1
        if shown:
            yield row.pair


def spans(up: Ints, down: Ints, source: Words, target: Words, lex: Lexicon) -> Iterator[Span]:
    """Phrases of two words or more around the rare words of a pair, with their translations.

    `up` and `down` are the links of `phrases.py`, target to source and back. Of each word there is
    the longest phrase and one of `SHORT` words.
    """
    rare = {place for place, word in enumerate(source) if word.lower() in lex}
    found: defaultdict[int, dict[int, Span]] = defaultdict(dict)
    for (a, b), (c, d) in phrases(up, down, LONGEST) if rare else ():
        stems = {*map(stem, target[c:d])}
        for place in rare & {*range(a, b)}:
            if b - a > 1 and not stems.isdisjoint(lex[source[place].lower()]):
                found[place].setdefault(b - a, ((a, b), (c, d)))
    for of_length in found.values():
        for length in {max(of_length), SHORT} & of_length.keys():
            yield of_length[length]


def around(pairs: Sequence[Pair], helping: Sequence[Pair], lex: Lexicon) -> Iterator[Pair]:
    """The phrases around the rare words of `pairs`, which are aligned together with `helping`."""
    texts = [*pairs, *helping]
    words = [(words_of(source), words_of(target)) for source, target in texts]
    src, tgt = (numbered(side) for side in zip(*words, strict=True))
    both = zip(texts, words, links(src, tgt), links(tgt, src), strict=True)
    seen = set()
    for (source, target), (s, t), up, down in islice(both, len(pairs)):
        for (a, b), (c, d) in spans(up, down, s, t, lex):
            phrase = " ".join(s[a:b]), " ".join(t[c:d])
            whole = phrase[0] in source and phrase[1] in target  # no mark stands in between
            if whole and 0.5 <= (b - a) / (d - c) <= 1.7:
                seen.add(phrase)
    yield from sorted(seen)


def write(args: argparse.Namespace) -> None:
    """Reads the corpora, writes the pairs as TSV, prints how many there are."""
    langs = args.src_lang, args.tgt_lang
    known, others, lex = learned(args)
    found = list(chosen((row for row in others if row.length <= args.max_words), lex, args.each))
    write_tsv(args.output, langs, found)
    print(f"{len(found):,} pairs for {len(lex):,} words")
    if args.phrases:
        few = list(around(found, [row.pair for row in known[:HELPING]], lex))
        write_tsv(args.phrases, langs, few)
        print(f"{len(few):,} phrases")


def learned(args: argparse.Namespace) -> tuple[list[Row], list[Row], Lexicon]:
    """The pairs of the main corpus, those of the others, and the translations of rare words."""
    langs = args.src_lang, args.tgt_lang
    known = list(rows(args.main, langs))
    seen = Counter(word for row in known for word in row.words)
    others = list(rows(args.pairs, langs))
    words = wanted(others, seen, args.known, args.least)
    if not words:
        raise UserError(
            f"expected words of two of --pairs, in {args.least} of their pairs, that --main has "
            f"less than {args.known} times; there is none: give more corpora or a smaller --least"
        )
    return known, others, lexicon(known + others, words)


def rare_flags(flags: argparse.ArgumentParser) -> None:
    """The flags that say which words are rare; swap.py has them too."""
    add = flags.add_argument
    add("--main", required=True, nargs="+", metavar="SOURCE",
        help="what the mix is mostly made of; its words are known")  # fmt: skip
    add("--pairs", required=True, nargs="+", metavar="SOURCE", help="corpora to pick from")
    add("--from", dest="src_lang", required=True, help="source language")
    add("--to", dest="tgt_lang", required=True, help="target language")
    add("--output", required=True, type=tsv, metavar="FILE.tsv", help="the file to write")
    add("--known", type=int, default=30, metavar="N",
        help="a word of N pairs of --main needs no more (default: 30)")  # fmt: skip
    add("--least", type=int, default=4, help="pairs of --pairs with the word (default: 4)")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rare_flags(flags)
    add = flags.add_argument
    add("--each", type=int, default=8, help="pairs for a word at most (default: 8)")
    add("--max-words", type=int, default=32, help="longer sources are passed over (default: 32)")
    add("--phrases", type=tsv, metavar="FILE.tsv", help="another file, for the phrases")
    args = flags.parse_args(argv)
    return cli.guarded(lambda: write(args), "rare")


if __name__ == "__main__":
    sys.exit(main())
