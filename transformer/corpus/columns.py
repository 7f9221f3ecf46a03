"""Which two columns of a table hold the sentence pairs, and whether they are swapped."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from transformer.config import Direction, SentencePair, UserError
from transformer.text.language import LANGUAGES, NAMES, detect, language_code
from transformer.text.spelling import plain

SAMPLE = 200  # pairs of a source by which swapped columns are recognised
# What people call a column, in small letters without accents; a code with or without a region.
LANGUAGE_NAMES: Mapping[str, frozenset[str]] = {
    "es": frozenset({"spanish", "espanol", "castellano"}),
    "en": frozenset({"english", "ingles"}),
}
ROLE_NAMES = (
    frozenset({"source", "src", "source text", "source_text", "origen", "original"}),
    frozenset({"target", "tgt", "trg", "target text", "target_text", "destino", "translation",
               "traduccion"}),
)  # fmt: skip


def column(names: Iterable[str], lang: str) -> str | None:
    """The name that is this language's code, with or without a region (`es`, `es-ES`, `spa`)."""
    return next((name for name in names if lang in (name.strip().lower(), bare_code(name))), None)


def bare_code(name: str) -> str:
    """The code of any language without its region, in small letters."""
    return re.split("[-_]", language_code(name).strip().lower(), maxsplit=1)[0]


@functools.lru_cache(maxsize=256)  # the same for each record of a JSON file
def find_columns(
    names: tuple[str, ...], langs: Direction, wanted: tuple[str, ...] = ()
) -> tuple[str, str] | None:
    """The names of the source and the target column of a table; None where it has none.

    They are those `wanted`, or else the languages by code (`es-ES`) or name (`Spanish`,
    `español`), or else `source` and `target`. A table with only one wanted column is a UserError.
    """
    known = {name.strip(): name for name in names}
    found = [known[name] for name in wanted if name in known]
    if len(found) == 1:
        (missing,) = {*wanted} - {*known}
        raise UserError(
            f"expected the columns {wanted[0]!r} and {wanted[1]!r} of --columns, got a header "
            f"without {missing!r}: {', '.join(names[:9])}"
        )
    by_lang = [column(names, lang) or _called(names, LANGUAGE_NAMES.get(lang)) for lang in langs]
    by_role = [_called(names, role) for role in ROLE_NAMES]
    for pair in (found, by_lang, by_role):
        src, tgt = pair or (None, None)
        if src is not None and tgt is not None and src != tgt:
            return src, tgt
    return None


def _called(names: Iterable[str], known: frozenset[str] | None) -> str | None:
    """The first of the names that is a known one, whatever its case and accents.

    A remark in brackets behind it, as in `Spanish (Spain)`, does not count.
    """
    bare = ((name, plain(name.partition("(")[0].strip().casefold())) for name in names)
    return next((name for name, called in bare if known and called in known), None)


def swapped_languages(pairs: Sequence[SentencePair], langs: Direction) -> str | None:
    """What most sources and targets read like if that is each other's language; else None.

    Only Spanish and English can be told apart.
    """
    if {*langs} != {*LANGUAGES}:
        return None
    read = [[detect(text) for text in pair] for pair in pairs]
    n_swapped = sum((src.lang, tgt.lang) == langs[::-1] for src, tgt in read)
    if 2 * n_swapped <= len(pairs):
        return None
    return " and ".join(NAMES[lang] for lang in langs[::-1])


def exchange_if_swapped(pairs: Iterator[SentencePair], langs: Direction) -> Iterator[SentencePair]:
    """The pairs, their sides exchanged if the first ones read as if they were swapped."""
    first = [*itertools.islice(pairs, SAMPLE)]
    swapped = swapped_languages(first, langs)
    for src, tgt in itertools.chain(first, pairs):
        yield (tgt, src) if swapped else (src, tgt)
