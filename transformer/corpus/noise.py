"""Pairs as people type them: without accents, in capitals, with slips, with things to copy.

Pure functions of two texts and a random generator.
"""

import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from transformer.config import SLOTS, NoiseConfig, SentencePair
from transformer.text.placeholders import find
from transformer.text.spelling import NEXT_KEYS, WORD, plain

Alteration = Callable[[str, str, random.Random], SentencePair]
SLOT = re.compile(f"[{SLOTS[0]}-{SLOTS[-1]}]")
_FIRST = re.compile(r"(?<![\w'’])[^\W\d_]")
# Words with a capital that they have not for standing first in a sentence.
_NAME = re.compile(
    r"(?<=[\w,] )(?:(?=[^\W\d_])[^a-zß-öø-ÿ\s]\w++)(?: (?=[^\W\d_])[^a-zß-öø-ÿ\s]\w++)*+"
)
_CAPITAL = re.compile(r"(?<![\w'’-])(?=[^\W\d_])[^a-zß-öø-ÿ\s][\w'’-]*")
_END = re.compile(r"[.!?…]*$")
NAMES_TABLE = Path(__file__).resolve().parents[1] / "text" / "tables" / "names.tsv"
CLUSTER = 0.25  # of the batches have all the pairs that are altered one by one
_VERBATIM = 0.3  # of what is put in to be copied: spelt out, not a slot
_PLACEHOLDERS = ("%s", "%d", "%1$s", "%(name)s", "{0}", "{}", "{name}", "{{user.name}}", "${count}")


def accents(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """The source without marks above and below its letters."""
    return plain(src), tgt


def opening(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """The source without opening question and exclamation marks."""
    return src.replace("¿", "").replace("¡", ""), tgt


def stop(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Neither side with a final stop; a question mark is lost by the source alone."""
    if src.endswith("?"):
        return src[:-1], tgt
    if not _ends_with_stop(src):
        return src, tgt
    return src[:-1], tgt[:-1] if _ends_with_stop(tgt) else tgt


def lower(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """The source in lower case."""
    return src.lower(), tgt


def typos(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """The source with one slip in a word of it, a long one sometimes with two."""
    for _ in range(2 if len(src) > 40 and rng.random() < 0.5 else 1):
        if words := list(WORD.finditer(src)):
            word = rng.choice(words)
            src = src[: word.start()] + _slip(word.group(), rng) + src[word.end() :]
    return src, tgt


def slots(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Slots for some of the names, numbers and the like that stand once on either side.

    They are numbered in the order of the source, as they are in translation.
    """
    if SLOT.search(src + tgt):
        return src, tgt
    shared = list(_shared(src, tgt))
    if not shared:
        return src, tgt
    chosen = rng.sample(shared, rng.randint(1, min(len(shared), len(SLOTS))))
    for slot, part in zip(SLOTS, sorted(chosen, key=src.index), strict=False):
        src, tgt = src.replace(part, slot, 1), tgt.replace(part, slot, 1)
    return src, tgt


@functools.lru_cache(maxsize=1)
def _known_names() -> dict[tuple[str, bool], list[SentencePair]]:
    """Names by kind, and by whether the languages write them alike, as (Spanish, English)."""
    known: dict[tuple[str, bool], list[SentencePair]] = {}
    for line in NAMES_TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        kind, es, en = line.split("\t")
        known.setdefault((kind, es == en), []).append((es, en))
    return known


@functools.lru_cache(maxsize=1)
def _by_form() -> dict[str, list[tuple[str, str, bool]]]:
    """For each form of a name: its kind, its form in the other language, whether it is Spanish."""
    forms: dict[str, list[tuple[str, str, bool]]] = {}
    for (kind, _), names in _known_names().items():
        for es, en in names:
            forms.setdefault(es, []).append((kind, en, True))
            if en != es:
                forms.setdefault(en, []).append((kind, es, False))
    return forms


def names(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Other given names, surnames and places on both sides, each by one of its kind.

    Only names that stand once on either side; a given name keeps its gender. A corpus may know
    no other people than Tom and Mary: so copying is learnt from many names.
    """
    swaps: list[tuple[int, int, str]] = []
    words = list(_CAPITAL.finditer(src))
    for i, first in enumerate(words):
        if swaps and first.start() < swaps[-1][1]:
            continue
        for last in words[i : i + 3][::-1]:
            form = src[first.start() : last.end()]
            fits = [name for name in _by_form().get(form, ()) if _once(tgt, name[1])]
            if fits and _once(src, form):
                kind, tgt_form, is_spanish = fits[0]
                new = rng.choice(_known_names()[kind, form == tgt_form])
                new_src, new_tgt = new if is_spanish else new[::-1]
                tgt = tgt.replace(tgt_form, new_tgt, 1)
                swaps.append((first.start(), last.end(), new_src))
                break
    for start, end, new_src in reversed(swaps):
        src = src[:start] + new_src + src[end:]
    return src, tgt


def caps(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Both sides in capitals."""
    return src.upper(), tgt.upper()


def title(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Both sides with a capital at every word."""
    return _capitalised(src), _capitalised(tgt)


def copied(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Something to copy, a slot or spelt out, put at the same place of both sides."""
    if SLOT.search(src + tgt):
        return src, tgt
    verbatim = rng.random() < _VERBATIM
    first, second = (_made_up(rng), _made_up(rng)) if verbatim else SLOTS[:2]
    names = list(_shared(src, tgt))
    place = rng.choice(("first", "last", "aside", "both", "around", "name"))
    if place == "name" and names and not verbatim:
        name = rng.choice(names)
        put = f"{first}{name}{second}"
        return src.replace(name, put, 1), tgt.replace(name, put, 1)
    if place in ("around", "name") and not verbatim:
        return f"{first}{src}{second}", f"{first}{tgt}{second}"
    mark = rng.choice((": ", " - ", " "))
    if place in ("first", "both"):
        src, tgt = first + mark + src, first + mark + tgt
    if place == "both":
        return _before_the_end(src, f" {second}"), _before_the_end(tgt, f" {second}")
    if place == "first":
        return src, tgt
    put = f" ({first})" if place == "aside" else f" {first}"
    return _before_the_end(src, put), _before_the_end(tgt, put)


TYPED: Mapping[str, Alteration] = {
    "noise_accents": accents, "noise_opening": opening, "noise_stop": stop, "noise_lower": lower,
}  # fmt: skip
OTHERS: Mapping[str, Alteration] = {"noise_slots": slots, "noise_typos": typos}
STYLES: Mapping[str, Alteration | None] = {  # None: it is made of several pairs
    "noise_caps": caps, "noise_title": title, "noise_copied": copied, "noise_joined": None,
}  # fmt: skip


def draw_share(config: NoiseConfig, rng: random.Random) -> float:
    """In what share of the batches single pairs are altered, this one among them; 0: it is not.

    A few longer pairs pad a whole batch, so that altered pairs are better kept together.
    """
    share = max(CLUSTER, *(getattr(config, name) for name in (*OTHERS, *TYPED, "noise_names")))
    return share if rng.random() < share else 0.0


def draw(config: NoiseConfig, share: float, rng: random.Random) -> list[Alteration]:
    """What is done to one pair of a batch, in order, where this share of batches has any.

    Who leaves out accents often leaves out capitals, too: every other time one number decides
    on all that is left out. The share of each remains what the config says.
    """
    chosen = [
        alter for name, alter in OTHERS.items() if share * rng.random() < getattr(config, name)
    ]
    together = share * rng.random() if rng.random() < 0.5 else None
    for name, alter in TYPED.items():
        number = share * rng.random() if together is None else together
        if number < getattr(config, name):
            chosen.append(alter)
    # Last, so that runs without it draw what they always drew; done first, before there are slots.
    if config.noise_names and share * rng.random() < config.noise_names:
        chosen.insert(0, names)
    return chosen


def draw_style(config: NoiseConfig, rng: random.Random) -> str:
    """What is done to a whole batch, a name of `STYLES`; "" for nothing."""
    number = rng.random()
    for name in STYLES:
        number -= getattr(config, name)
        if number < 0:
            return name
    return ""


def _ends_with_stop(text: str) -> bool:
    return text.endswith(".") and not text.endswith("..")


def _capitalised(text: str) -> str:
    return _FIRST.sub(lambda letter: letter.group().upper(), text)


def _slip(word: str, rng: random.Random) -> str:
    """Two letters swapped, or one dropped, doubled, or struck on the next key."""
    i = rng.randrange(len(word) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if kind == 1:
        return word[: i + 1] + word[i + 2 :]
    if kind == 2:
        return word[: i + 1] + word[i:]
    return word[:i] + rng.choice(NEXT_KEYS.get(word[i], [word[i]])) + word[i + 1 :]


def _shared(src: str, tgt: str) -> Iterator[str]:
    """What is equal on both sides and stands there once, none of them within another."""
    parts = [src[span.start : span.end] for span in find(src)]
    parts += [name.group() for name in _NAME.finditer(src)]
    there = [part for part in parts if _once(src, part) and _once(tgt, part)]
    for part in there:
        if not any(part in other for other in there if other != part):
            yield part


def _once(text: str, part: str) -> bool:
    start = text.find(part)
    if start < 0 or text.find(part, start + 1) >= 0:
        return False
    around = text[max(0, start - 1) : start], text[start + len(part) : start + len(part) + 1]
    return not any(side.isalnum() for side in around)


def _before_the_end(text: str, put: str) -> str:
    """With `put` before the final punctuation."""
    start = _END.search(text).start()  # type: ignore[union-attr]
    return text[:start] + put + text[start:]


def _made_up(rng: random.Random) -> str:
    """An address, a placeholder or a number that nobody has seen."""

    def word() -> str:
        return "".join(
            rng.choice("bcdfglmnprstv") + rng.choice("aeiou") for _ in range(rng.randint(2, 4))
        )

    ending = rng.choice(("com", "org", "net", "es", "mx", "co.uk"))
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"https://{word()}.{ending}/{word()}",
        lambda: f"{word()}.{word()}@{word()}.{ending}",
        lambda: f"www.{word()}.{ending}",
        lambda: str(rng.randrange(10 ** rng.randint(2, 9))),
        lambda: f"{word()[:2].upper()}-{rng.randrange(10000)}",
        lambda: rng.choice(_PLACEHOLDERS),
    )
    return kinds[rng.randrange(6)]()
