"""Alter pairs to what people type: no accents, capitals, typos, names and tokens to copy.

A transform is a pure function of two texts and a random generator.
"""

import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from transformer.config import SLOTS, NoiseConfig, SentencePair
from transformer.text.placeholders import find_protected
from transformer.text.spelling import LOWERCASE_WORD, NEXT_KEYS, strip_accents

Transform = Callable[[str, str, random.Random], SentencePair]
SLOT = re.compile(f"[{SLOTS[0]}-{SLOTS[-1]}]")
_FIRST_LETTER = re.compile(r"(?<![\w'’])[^\W\d_]")  # of a word
# Capitalised words that do not begin a sentence.
_NAME = re.compile(
    r"(?<=[\w,] )(?:(?=[^\W\d_])[^a-zß-öø-ÿ\s]\w++)(?: (?=[^\W\d_])[^a-zß-öø-ÿ\s]\w++)*+"
)
_CAPITALISED = re.compile(r"(?<![\w'’-])(?=[^\W\d_])[^a-zß-öø-ÿ\s][\w'’-]*")
NAMES_TABLE = Path(__file__).resolve().parents[1] / "text" / "tables" / "names.tsv"
MIN_NOISY_BATCHES = 0.25  # share of the batches that hold all pairs that are altered one by one
_VERBATIM = 0.3  # share of inserted tokens that are spelt out, the rest are slots
_PLACEHOLDERS = ("%s", "%d", "%1$s", "%(name)s", "{0}", "{}", "{name}", "{{user.name}}", "${count}")


def drop_accents(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Remove the diacritics of the source."""
    return strip_accents(src), tgt


def drop_opening_marks(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Remove opening question and exclamation marks from the source."""
    return src.replace("¿", "").replace("¡", ""), tgt


def drop_final_stop(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Remove the final full stop of both sides, or the final question mark of the source."""

    def ends_with_stop(text: str) -> bool:
        return text.endswith(".") and not text.endswith("..")

    if src.endswith("?"):
        return src[:-1], tgt
    if not ends_with_stop(src):
        return src, tgt
    return src[:-1], tgt[:-1] if ends_with_stop(tgt) else tgt


def lowercase(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Write the source in lower case."""
    return src.lower(), tgt


def add_typos(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Misspell one word of the source, in a long source at times two."""
    for _ in range(2 if len(src) > 40 and rng.random() < 0.5 else 1):
        if words := list(LOWERCASE_WORD.finditer(src)):
            word = rng.choice(words)
            src = src[: word.start()] + _misspell(word.group(), rng) + src[word.end() :]
    return src, tgt


def _misspell(word: str, rng: random.Random) -> str:
    """Swap two letters of a word, or drop or double one, or replace it by a neighbouring key."""
    i = rng.randrange(len(word) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if kind == 1:
        return word[: i + 1] + word[i + 2 :]
    if kind == 2:
        return word[: i + 1] + word[i:]
    return word[:i] + rng.choice(NEXT_KEYS.get(word[i], [word[i]])) + word[i + 1 :]


def insert_slots(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Replace some names, numbers and addresses that both sides share by slots, private characters.

    They are numbered in the order of the source, as in translation.
    """
    shared = [] if SLOT.search(src + tgt) else list(_shared_tokens(src, tgt))
    if not shared:
        return src, tgt
    chosen = rng.sample(shared, rng.randint(1, min(len(shared), len(SLOTS))))
    for slot, token in zip(SLOTS, sorted(chosen, key=src.index), strict=False):
        src, tgt = src.replace(token, slot, 1), tgt.replace(token, slot, 1)
    return src, tgt


def _shared_tokens(src: str, tgt: str) -> Iterator[str]:
    """Yield the names, numbers and addresses that occur once on both sides, none within another."""
    tokens = [src[span.start : span.end] for span in find_protected(src)]
    tokens += [name.group() for name in _NAME.finditer(src)]
    shared = [token for token in tokens if _occurs_once(src, token) and _occurs_once(tgt, token)]
    for token in shared:
        if not any(token in other for other in shared if other != token):
            yield token


def _occurs_once(text: str, token: str) -> bool:
    """Whether a text has the token exactly once, and there not within a word."""
    start = text.find(token)
    if start < 0 or text.find(token, start + 1) >= 0:
        return False
    end = start + len(token)
    return not (text[max(0, start - 1) : start].isalnum() or text[end : end + 1].isalnum())


@functools.lru_cache(maxsize=1)
def _names_by_kind() -> dict[tuple[str, bool], list[SentencePair]]:
    """Return (Spanish, English) names by kind, as "surname", and by whether both are alike."""
    by_kind: dict[tuple[str, bool], list[SentencePair]] = {}
    for line in NAMES_TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        kind, es, en = line.split("\t")
        by_kind.setdefault((kind, es == en), []).append((es, en))
    return by_kind


@functools.lru_cache(maxsize=1)
def _names_by_form() -> dict[str, list[tuple[str, str, bool]]]:
    """Return for each form of a name: its kind, its other form, whether the form is Spanish."""
    by_form: dict[str, list[tuple[str, str, bool]]] = {}
    for (kind, is_same), names in _names_by_kind().items():
        for es, en in names:
            by_form.setdefault(es, []).append((kind, en, True))
            if not is_same:
                by_form.setdefault(en, []).append((kind, es, False))
    return by_form


def replace_names(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Replace given names, surnames and places on both sides, each by a random one of its kind.

    Only names that occur once on both sides are replaced; a given name keeps its gender.
    """
    swaps: list[tuple[int, int, str]] = []
    words = list(_CAPITALISED.finditer(src))
    for i, first in enumerate(words):
        if swaps and first.start() < swaps[-1][1]:
            continue
        for last in words[i : i + 3][::-1]:
            form = src[first.start() : last.end()]
            names = [name for name in _names_by_form().get(form, ()) if _occurs_once(tgt, name[1])]
            if names and _occurs_once(src, form):
                kind, tgt_form, is_spanish = names[0]
                new = rng.choice(_names_by_kind()[kind, form == tgt_form])
                new_src, new_tgt = new if is_spanish else new[::-1]
                tgt = tgt.replace(tgt_form, new_tgt, 1)
                swaps.append((first.start(), last.end(), new_src))
                break
    for start, end, new_src in reversed(swaps):
        src = src[:start] + new_src + src[end:]
    return src, tgt


def uppercase(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Write both sides in capitals."""
    return src.upper(), tgt.upper()


def title_case(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Capitalise every word of both sides."""
    src, tgt = (_FIRST_LETTER.sub(lambda m: m.group().upper(), text) for text in (src, tgt))
    return src, tgt


def insert_copies(src: str, tgt: str, rng: random.Random) -> SentencePair:
    """Insert a token to copy, such as an address or a slot for one, at one place of both sides."""
    if SLOT.search(src + tgt):
        return src, tgt
    is_verbatim = rng.random() < _VERBATIM
    first, second = (_random_token(rng), _random_token(rng)) if is_verbatim else SLOTS[:2]
    names = list(_shared_tokens(src, tgt))
    place = rng.choice(("first", "last", "aside", "both", "around", "name"))
    if place == "name" and names and not is_verbatim:
        name = rng.choice(names)
        marked = f"{first}{name}{second}"
        return src.replace(name, marked, 1), tgt.replace(name, marked, 1)
    if place in ("around", "name") and not is_verbatim:
        return f"{first}{src}{second}", f"{first}{tgt}{second}"
    separator = rng.choice((": ", " - ", " "))
    if place in ("first", "both"):
        src, tgt = first + separator + src, first + separator + tgt
    if place == "first":
        return src, tgt
    token = {"both": f" {second}", "aside": f" ({first})"}.get(place, f" {first}")
    src, tgt = (re.sub(r"(?=[.!?…]*$)", lambda _: token, text, count=1) for text in (src, tgt))
    return src, tgt


def _random_token(rng: random.Random) -> str:
    """Return a random address, placeholder, number or code."""

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


OMISSIONS: Mapping[str, Transform] = {  # what people leave out
    "noise_accents": drop_accents, "noise_opening": drop_opening_marks,
    "noise_stop": drop_final_stop, "noise_lower": lowercase,
}  # fmt: skip
PAIR_NOISE: Mapping[str, Transform] = {"noise_slots": insert_slots, "noise_typos": add_typos}
BATCH_NOISE: Mapping[str, Transform | None] = {  # None: it takes several pairs
    "noise_caps": uppercase, "noise_title": title_case, "noise_copied": insert_copies,
    "noise_joined": None,
}  # fmt: skip


def sample_noise_share(config: NoiseConfig, rng: random.Random) -> float:
    """Decide by chance whether a batch has altered pairs; return the share of such batches, or 0.

    A few longer pairs would pad a whole batch, so altered pairs are kept together.
    """
    rates = (getattr(config, name) for name in (*PAIR_NOISE, *OMISSIONS, "noise_names"))
    share = max(MIN_NOISY_BATCHES, *rates)
    return share if rng.random() < share else 0.0


def sample_pair_noise(config: NoiseConfig, share: float, rng: random.Random) -> list[Transform]:
    """Sample the transforms of one pair, in order; `share` is what `sample_noise_share` returned.

    Who leaves out accents often leaves out capitals, too: every other time one random number
    decides on all omissions. The rate of each over all batches is that of the settings.
    """
    chosen = [
        transform for name, transform in PAIR_NOISE.items()
        if share * rng.random() < getattr(config, name)
    ]  # fmt: skip
    together = share * rng.random() if rng.random() < 0.5 else None
    for name, transform in OMISSIONS.items():
        number = share * rng.random() if together is None else together
        if number < getattr(config, name):
            chosen.append(transform)
    # Sampled last, so that runs without it draw what they always drew; applied before any slots.
    if config.noise_names and share * rng.random() < config.noise_names:
        chosen.insert(0, replace_names)
    return chosen


def sample_batch_noise(config: NoiseConfig, rng: random.Random) -> str:
    """Sample what is done to a whole batch: a name in `BATCH_NOISE`, or "" for nothing."""
    number = rng.random()
    for name in BATCH_NOISE:
        number -= getattr(config, name)
        if number < 0:
            return name
    return ""
