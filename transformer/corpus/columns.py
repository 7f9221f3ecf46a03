"""Find the two columns of a table that hold the sentence pairs, and notice swapped ones."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from transformer.config import Direction, SentencePair, UserError
from transformer.text.language import LANGUAGES, NAMES, detect, language_code
from transformer.text.spelling import strip_accents

SAMPLE_SIZE = 200  # pairs of a source by which swapped columns are recognised
# What people call a column, in lower case and without accents.
LANGUAGE_NAMES: Mapping[str, frozenset[str]] = {
    "es": frozenset({"spanish", "espanol", "castellano"}),
    "en": frozenset({"english", "ingles"}),
}
ROLE_NAMES = (
    frozenset({"source", "src", "source text", "source_text", "origen", "original"}),
    frozenset({"target", "tgt", "trg", "target text", "target_text", "destino", "translation",
               "traduccion"}),
)  # fmt: skip


def primary_subtag(code: str) -> str:
    """Return a language code in lower case without its region: `es` for `es-ES`, `ES` or `spa`."""
    return re.split("[-_]", language_code(code).strip().lower(), maxsplit=1)[0]


def find_column(names: Iterable[str], lang: str) -> str | None:
    """Return the first name that is the code of a language (`es`, `es-ES`, `spa`), if any."""
    return next((n for n in names if lang in (n.strip().lower(), primary_subtag(n))), None)


def _find_alias(names: Iterable[str], aliases: frozenset[str]) -> str | None:
    """Return the first name whose lowercase form without accents is one of `aliases`, if any.

    A remark in brackets behind the name, as in `Spanish (Spain)`, is ignored.
    """
    return next(
        (n for n in names if strip_accents(n.partition("(")[0].strip().casefold()) in aliases), None
    )


@functools.lru_cache(maxsize=256)  # the same for each record of a JSON file
def find_columns(
    names: tuple[str, ...], langs: Direction, columns: tuple[str, ...] = ()
) -> tuple[str, str] | None:
    """Return the names of the source and target columns among those of a table, if it has both.

    They are those requested as `columns`, or else the languages by code (`es-ES`) or name
    (`Spanish`, `español`), or else `source` and `target`. A table with only one of the requested
    columns is a UserError.
    """
    stripped = {name.strip(): name for name in names}
    requested = [stripped[name] for name in columns if name in stripped]
    if len(requested) == 1:
        missing = next(name for name in columns if name not in stripped)
        raise UserError(
            f"expected the columns {columns[0]!r} and {columns[1]!r} of --columns, got a header "
            f"without {missing!r}: {', '.join(names[:9])}"
        )
    by_lang = [
        find_column(names, lang) or _find_alias(names, LANGUAGE_NAMES.get(lang, frozenset()))
        for lang in langs
    ]
    by_role = [_find_alias(names, aliases) for aliases in ROLE_NAMES]
    for pair in (requested, by_lang, by_role):
        src, tgt = pair or (None, None)
        if src is not None and tgt is not None and src != tgt:
            return src, tgt
    return None


def swapped_languages(pairs: Sequence[SentencePair], langs: Direction) -> str | None:
    """Return what the two sides read like if most pairs are swapped (`English and Spanish`).

    None if they are not swapped, and for other languages than Spanish and English.
    """
    if {*langs} != {*LANGUAGES}:
        return None
    n_swapped = sum(tuple(detect(text).lang for text in pair) == langs[::-1] for pair in pairs)
    return " and ".join(NAMES[lang] for lang in langs[::-1]) if 2 * n_swapped > len(pairs) else None


def exchange_if_swapped(pairs: Iterator[SentencePair], langs: Direction) -> Iterator[SentencePair]:
    """Yield the pairs, their sides exchanged if the first SAMPLE_SIZE pairs read as swapped."""
    first = [*itertools.islice(pairs, SAMPLE_SIZE)]
    swapped = swapped_languages(first, langs)
    for src, tgt in itertools.chain(first, pairs):
        yield (tgt, src) if swapped else (src, tgt)
