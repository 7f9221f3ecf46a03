"""New English-Spanish sentences for rare words: a word of a pair gives its place to a rare one.

    python scripts/swap.py --main tatoeba.tsv --pairs books.tsv news.tsv --from en --to es \\
        --analyser "lt-proc /usr/share/apertium/apertium-spa-cat/spa-cat.automorf.bin" \\
        --output swapped.tsv

"Pelicans have large beaks" and "Los pelícanos tienen picos grandes" become "Pelicans have nominal
beaks" and "Los pelícanos tienen picos nominales": a rare word and its translation are seen in
sentences of the main corpus (Fadaee et al. 2017). Which words are rare, and what translates them,
is found as in `rare.py`. Gender, number and tense stay right since both target words are of the
same kind for the analyser: a command that reads words, one a line, and writes their analyses as
Apertium does (Forcada et al. 2011); Debian has it in `lttoolbox` and `apertium-spa-cat`. The sense
is not looked at: what comes out is grammar and words, and no text for people.
"""

import argparse
import random
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pairs_out import write_tsv
from phrases import words_of
from rare import Lexicon, Row, learned, lexicon, rare_flags, stem

from transformer import cli
from transformer.config import UserError
from transformer.sources import Pair

OPEN = ("<n>", "<adj>", "<adv>", "<vblex>")  # kinds of words that there are always more of
ENDINGS = ("ly", "ing", "ed", "s")  # what an English form tells of its kind
ENDING_SHARE = 0.1  # of the words of a kind, with such an ending, at least
FORM_SHARE = 0.08  # of all forms that translate a rare word, at least
FORM_PAIRS = 2  # with that form, at least
FREQUENT = 10  # pairs of the main corpus with a word that is replaced, at least
SLOTS = 20  # places for a kind, at least
NEGATIONS = ("un", "in", "im", "ir", "il", "dis", "non")  # what turns an English word around
# Spanish words that change with the first sound of the next: y e, o u, el la.
SOUND = re.compile(r"\b(?:[ye] h?i|[ou] h?o|(?:el|un|la|una) h?[aá])", re.IGNORECASE)

Kind = tuple[str, frozenset[str]]  # the English ending, the analyses of the Spanish form
Slot = tuple[Pair, str, str]  # a pair, and the words of both sides that can be replaced


def analysed(forms: Iterable[str], command: str) -> dict[str, frozenset[str]]:
    """The analyses of those forms that can only be words of one open class; tags, no lemmas."""
    try:
        run = subprocess.run(
            shlex.split(command),
            input=" \n".join(forms),
            text=True,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(
            f"expected an --analyser to run, {command!r} failed: {error}; on Debian: "
            "apt install lttoolbox apertium-spa-cat"
        ) from error
    found = {}
    for form, analyses in re.findall(r"\^([^/$]*)/([^$]*)\$", run.stdout):
        tags = {"".join(re.findall(r"<[^>]+>", one)) for one in analyses.split("/")}
        classes = {tag.partition(">")[0] + ">" for tag in tags}
        if len(classes) == 1 and classes <= {*OPEN} and len(tags) <= 2:
            found[form] = frozenset(tags)
    return found


def ending(word: str) -> str:
    """What the end of an English word tells of its kind."""
    if word.endswith("ss"):
        return ""
    return next((end for end in ENDINGS if word.endswith(end)), "")


def slots_of(row: Row, lex: Lexicon) -> Iterator[Slot]:
    """The words of a pair that translate one another and nothing else of it."""
    src, tgt = words_of(row.pair[0]), words_of(row.pair[1])
    stems = Counter(map(stem, tgt))
    small = Counter(word.lower() for word in src)
    owners = Counter(one for word in small for one in lex.get(word, ()))
    for i, word in enumerate(src):
        shared = [one for one in lex.get(word.lower(), ()) if one in stems]
        if len(shared) != 1 or small[word.lower()] > 1 or not word.isalpha():
            continue
        if stems[shared[0]] > 1 or owners[shared[0]] > 1:
            continue
        j, form = next((j, f) for j, f in enumerate(tgt) if stem(f) == shared[0])
        if (word[0].islower() or not i) and (form[0].islower() or not j):  # no name
            yield row.pair, word, form


def by_kind(slots: Iterable[Slot], tags: Mapping[str, frozenset[str]]) -> dict[Kind, list[Slot]]:
    """The places by the kind of word that fits; kinds with few, or an odd ending, are left out."""
    found: defaultdict[Kind, list[Slot]] = defaultdict(list)
    of_tags: Counter[frozenset[str]] = Counter()
    for slot in slots:
        if (tag := tags.get(slot[2].lower())) is not None:
            found[ending(slot[1].lower()), tag].append(slot)
            of_tags[tag] += 1
    return {
        kind: places
        for kind, places in found.items()
        if len(places) >= max(SLOTS, ENDING_SHARE * of_tags[kind[1]])
    }


def forms_of(every: Iterable[Row], lex: Lexicon) -> dict[str, Counter[str]]:
    """How often each form of its best translation stands beside a rare word."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in every:
        rare = [word for word in row.words & lex.keys() if lex[word][0] in row.stems]
        if rare:
            forms = {form.lower() for form in words_of(row.pair[1])}
            for word in rare:
                found[word].update(form for form in forms if stem(form) == lex[word][0])
    return found


def put(text: str, old: str, new: str) -> str:
    """The text with one word replaced, a capital kept."""
    new = new.capitalize() if old[0].isupper() else new
    return re.sub(rf"(?<![\w']){re.escape(old)}(?![\w'])", new, text, count=1)


def swapped(slot: Slot, word: str, form: str) -> Pair:
    """The pair of a place with the rare word in it, and its article a or an."""
    (source, target), old, old_form = slot
    source = put(source, old, word)
    article = "an" if word[0] in "aeiou" else "a"
    source = re.sub(
        rf"\b(a)n?(?= {re.escape(word)}\b)",
        lambda found: found[1] + article[1:],
        source,
        flags=re.IGNORECASE,
    )
    return source, put(target, old_form, form)


def sentences(
    entries: Sequence[tuple[str, str]],
    tags: Mapping[str, frozenset[str]],
    places: Mapping[Kind, Sequence[Slot]],
    times: int,
    seed: int,
) -> Iterator[Pair]:
    """Each rare word with each of its forms in `times` places; a verb in fewer.

    A verb that takes no object can come into a place that has one, so verbs get two fifths.
    """
    dice = random.Random(seed)
    for word, form in entries:
        kind = ending(word), tags.get(form, frozenset())
        if kind not in places:
            continue
        verb = any("<vblex>" in tag and "<pp>" not in tag for tag in kind[1])
        for _ in range(max(1, times * 2 // 5) if verb else times):
            pair = swapped(dice.choice(places[kind]), word, form)
            if not SOUND.search(pair[1]):  # nothing else in it would have to change
                yield pair


def halved(every: Sequence[Row], lex: Lexicon) -> set[str]:
    """Words with the translation of what they deny: of "no interesante" the lexicon sees a half."""
    bases = {
        word: word[len(start) :] for word in lex for start in NEGATIONS if word.startswith(start)
    }
    found = lexicon(every, {*bases.values()})
    return {word for word, base in bases.items() if lex[word][0] in found.get(base, ())}


def usual(forms: Mapping[str, Counter[str]]) -> Iterator[tuple[str, str]]:
    """Rare words with those forms of their translation that are frequent enough."""
    for word, seen in sorted(forms.items()):
        for form, n in sorted(seen.items()):
            if word.isalpha() and n >= max(FORM_PAIRS, FORM_SHARE * seen.total()):
                yield word, form


def frequent(known: Iterable[Row]) -> set[str]:
    """The words of the main corpus that can give their place."""
    pairs = Counter(word for row in known for word in row.words)
    return {word for word, n in pairs.items() if n >= FREQUENT}


def write(args: argparse.Namespace) -> None:
    """Reads the corpora, writes the sentences as TSV, prints how many there are."""
    known, others, lex = learned(args)
    common = lexicon(known, frequent(known))
    short = (row for row in known if row.length <= args.max_words)
    slots = [slot for row in short for slot in slots_of(row, common)]
    every = [*known, *others]
    wrong = halved(every, lex)
    whole = {word: found for word, found in lex.items() if word not in wrong}
    entries = list(usual(forms_of(every, whole)))
    tags = analysed(unique(entries, slots), args.analyser)
    found = sorted({*sentences(entries, tags, by_kind(slots, tags), args.times, args.seed)})
    write_tsv(args.output, (args.src_lang, args.tgt_lang), found)
    print(f"{len(found):,} sentences for {len(whole):,} words")


def unique(entries: Collection[tuple[str, str]], slots: Collection[Slot]) -> list[str]:
    """Every target form that is to be analysed."""
    return sorted({form for _, form in entries} | {form.lower() for _, _, form in slots})


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rare_flags(flags)
    add = flags.add_argument
    add("--analyser", required=True, metavar="COMMAND", help="analyses words of the target")
    add("--times", type=int, default=5, help="sentences for a form of a word (default: 5)")
    add("--max-words", type=int, default=12, help="longer sources are left alone (default: 12)")
    add("--seed", type=int, default=0, help="of the choice of sentences (default: 0)")
    args = flags.parse_args(argv)
    return cli.guarded(lambda: write(args), "swap")


if __name__ == "__main__":
    sys.exit(main())
