"""Abbreviations, which end no sentence and which models take for words; what they stand for."""

import re

from transformer.text.casing import capitalize_first

# Anywhere, before a number, behind one, and of dates.
_TABLE = {
    "es": (
        """aprox aproximadamente|avda avenida|av avenida|apdo apartado|cía compañía|izq izquierda
        |depto departamento|dpto departamento|izda izquierda|dcha derecha|ud usted
        |uds ustedes|párr párrafo""",
        """p página|pp páginas|pág página|págs páginas|párrs párrafos|cap capítulo|caps capítulos
        |vol volumen|vols volúmenes|art artículo|arts artículos|núm número|nro número|exp expediente
        |tel teléfono|tfno teléfono|ref referencia""",
        "min minutos|seg segundos",
        """ene enero|feb febrero|abr abril|jun junio|jul julio|ago agosto|sep septiembre|oct octubre
        |sept septiembre|nov noviembre|dic diciembre|lun lunes|mié miércoles|jue jueves|vie viernes
        |sáb sábado|dom domingo""",
    ),
    "en": (
        "approx approximately|dept department|govt government",
        """p page|pp pages|para paragraph|paras paragraphs|ch chapter|vol volume|vols volumes
        |nos numbers|tel telephone|ref reference""",
        "min minutes|sec seconds|ft feet|in inches|gal gallons|hrs hours",
        """Jan January|Feb February|Mar March|Apr April|Jun June|Jul July|Aug August|Sep September
        |Sept September|Oct October|Nov November|Dec December|Mon Monday|Tue Tuesday|Tues Tuesday
        |Wed Wednesday|Thu Thursday|Thur Thursday|Thurs Thursday|Fri Friday|Sat Saturday
        |Sun Sunday""",
    ),
}
_CONTEXTS = (
    r"(?i:\b({}))\.", r"(?i:\b({}))\.\s?(?=\d)", r"(?<=\d)\s?({})\.(?!\w)",
    r"\b({})\.(?=,?\s(?:de\s)?(?:\d|[^\W\d_]{{3,5}}\.))",
)  # fmt: skip
_EXPANSIONS = {lang: dict(pair.split() for group in groups for pair in group.split("|"))
         for lang, groups in _TABLE.items()}  # fmt: skip
_PATTERNS = {
    lang: [
        re.compile(place.format("|".join(pair.split()[0] for pair in group.split("|"))))
        for place, group in zip(_CONTEXTS, groups, strict=True)
    ]
    for lang, groups in _TABLE.items()
}
ABBREVIATIONS = frozenset(
    form for groups in _TABLE.values() for at, group in enumerate(groups) if at != 2
    for pair in group.split("|") for form in (pair.split()[0], capitalize_first(pair.split()[0]))
)  # fmt: skip


def expand_abbreviations(text: str, lang: str) -> str:
    """A text with the words that its abbreviations stand for."""
    if "." in text:
        for pattern in _PATTERNS.get(lang, ()):
            text = pattern.sub(lambda found: _expand(found, lang), text)
    return text


def _expand(found: re.Match[str], lang: str) -> str:
    """The word of an abbreviation; its dot stays where it ends the sentence."""
    short = found[1]
    word = _EXPANSIONS[lang].get(short) or _EXPANSIONS[lang].get(short.lower(), short)
    if short[0].isupper():
        word = capitalize_first(word)
    before = " " if found[0][0] in " \xa0" or found[0][0].isalpha() is False else ""
    ends = not found.string[found.end() :].strip()
    after = " " if found.string[found.end() : found.end() + 1].isdigit() else ""
    return before + word + ("." if ends else after)
