"""Make the embedded Spanish-English corpus: hand-written phrase books and generated sentences.

    python data/build.py                                 write train.tsv, dev.tsv and test.tsv
    python data/build.py --check                         compare the files with what a build gives
    python data/build.py --pairs 5000000 --output x.tsv  a large file of generated pairs only

Standard library only. The result is the same on every machine and does not depend on the order
of the phrase books: which part a pair goes to, and where it stands, follows from a hash of its
text. It knows nothing of tokens or models.
"""

import argparse
import hashlib
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import grammar

Pair = tuple[str, str]

HERE = Path(__file__).resolve().parent
PHRASEBOOKS = ("phrasebook-1.tsv", "phrasebook-2.tsv")
HEADER = "es\ten"
SEED = 1706
N_GENERATED = 14_000
MAX_SHARE = 0.04  # of the generated pairs, for one family
N_HELD_OUT = 500  # pairs in dev and in test
N_PHRASES = 167  # of them from the phrase books
MIN_WORDS = 4  # of a held-out sentence, on both sides
SENTENCE_ENDS = (".", "?", "!", "…")


def key(text: str) -> str:
    """The text as it is compared: case folded, no punctuation, single blanks."""
    folded = unicodedata.normalize("NFC", text).casefold()
    kept = (" " if unicodedata.category(c)[0] in "PSZ" else c for c in folded)
    return " ".join("".join(kept).split())


_CONTRACTION = re.compile(r"^(I|You|He|She|It|We|They)'(m|re|s|ll) ")
_FULL = {"m": "am", "re": "are", "s": "is", "ll": "will"}


def _meaning(english: str) -> str:
    """The English side with a contraction at its start written out, to compare translations."""
    return key(_CONTRACTION.sub(lambda m: f"{m[1]} {_FULL[m[2]]} ", english))


def read_phrasebook(path: Path) -> list[Pair]:
    """Pairs of a hand-written file; ValueError names the line that is not `Spanish<TAB>English`."""
    rows = path.read_text(encoding="utf-8").splitlines()
    if not rows or rows[0] != HEADER:
        raise ValueError(f"{path.name}: the first line must be es<TAB>en")
    pairs = []
    for number, row in enumerate(rows[1:], start=2):
        cells = [cell.strip() for cell in row.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise ValueError(
                f"{path.name}, line {number}: expected Spanish<TAB>English, got {row!r}"
            )
        pairs.append((cells[0], cells[1]))
    return pairs


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs without repetitions, however they are punctuated."""
    return list({(key(es), key(en)): (es, en) for es, en in sorted(pairs)}.values())


def generate(n: int, taken: frozenset[str]) -> list[Pair]:
    """`n` generated pairs, no Spanish side twice, none in `taken` (compared by `key`).

    A Spanish sentence that came with two different translations is left out altogether, and no
    family makes up more than MAX_SHARE of the pairs.
    """
    dice = grammar.Dice(SEED)
    found: dict[str, tuple[Pair, str]] = {}
    ambiguous: set[str] = set()
    sizes: Counter[str] = Counter()
    while len(found) < n:
        name = grammar.family_of(dice)
        es, en = grammar.sentence(dice, name)
        spanish = key(es)
        if spanish in taken or spanish in ambiguous:
            continue
        if spanish in found:
            (_, first), family = found[spanish]
            if _meaning(first) != _meaning(en):
                ambiguous.add(spanish)
                sizes[family] -= 1
                del found[spanish]
        elif sizes[name] < MAX_SHARE * n:
            sizes[name] += 1
            found[spanish] = (es, en), name
    return [pair for pair, _ in found.values()]


def rank(pair: Pair) -> int:
    """A number that only the text decides."""
    return int.from_bytes(hashlib.sha256("\t".join(pair).encode()).digest()[:8], "big")


def _held_out(pairs: Iterable[Pair], n: int) -> tuple[set[Pair], set[Pair]]:
    """`n` pairs for dev and `n` for test: those of lowest rank, odd ranks for dev."""
    ordered = sorted(pairs, key=rank)
    dev = [p for p in ordered if rank(p) % 2][:n]
    return set(dev), set([p for p in ordered if not rank(p) % 2][:n])


def split(phrases: list[Pair], generated: list[Pair]) -> dict[str, list[Pair]]:
    """train, dev and test; a side of a held-out pair occurs nowhere else (compared by `key`)."""
    everything = phrases + generated
    spanish = Counter(key(es) for es, _ in everything)
    english = Counter(key(en) for _, en in everything)

    def fit(pair: Pair) -> bool:
        alone = spanish[key(pair[0])] == english[key(pair[1])] == 1
        whole = all(s.endswith(SENTENCE_ENDS) and len(s.split()) >= MIN_WORDS for s in pair)
        return alone and whole

    dev, test = _held_out(filter(fit, phrases), N_PHRASES)
    more_dev, more_test = _held_out(filter(fit, generated), N_HELD_OUT - N_PHRASES)
    dev, test = dev | more_dev, test | more_test
    train = [p for p in everything if p not in dev and p not in test]
    return {name: sorted(part, key=rank) for name, part in
            (("train", train), ("dev", dev), ("test", test))}  # fmt: skip


def build() -> dict[str, str]:
    """File name and content of the three parts."""
    phrases = distinct(p for name in PHRASEBOOKS for p in read_phrasebook(HERE / name))
    generated = generate(N_GENERATED, frozenset(key(es) for es, _ in phrases))
    parts = split(phrases, generated)
    return {f"{name}.tsv": "".join(_lines(pairs)) for name, pairs in parts.items()}


def _lines(pairs: Iterable[Pair]) -> Iterator[str]:
    yield f"{HEADER}\n"
    for es, en in pairs:
        yield f"{es}\t{en}\n"


def check() -> list[str]:
    """Names of the files that are not what a build gives."""
    return [
        name
        for name, text in build().items()
        if not (HERE / name).exists() or (HERE / name).read_bytes() != text.encode()
    ]


def write_stream(n: int, path: Path) -> None:
    """`n` generated pairs in constant memory; a few may be equal."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines(islice(grammar.pairs(SEED), n)))


def _write(say: Callable[[str], None]) -> None:
    for name, text in build().items():
        (HERE / name).write_bytes(text.encode())
        say(f"{name}: {text.count(chr(10)) - 1} pairs")


def main(argv: list[str] | None = None) -> int:
    """Exit code 0, 1 where --check finds a difference, 2 for what cannot be built."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--pairs", type=int, metavar="N", help="number of pairs of a large file")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the large file goes")
    options = parser.parse_args(argv)
    if (options.pairs is None) != (options.output is None):
        parser.error("--pairs and --output go together: --pairs 5000000 --output large.tsv")
    if options.pairs is not None and options.pairs < 0:
        parser.error(f"--pairs must be 0 or more, got {options.pairs}")
    try:
        if options.check:
            different = check()
            print(f"differs: {', '.join(different)}" if different else "up to date")
            return 1 if different else 0
        if options.output is not None:
            write_stream(options.pairs, options.output)
        else:
            _write(print)
    except (OSError, ValueError) as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
