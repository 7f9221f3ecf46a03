"""Abbreviations: what they stand for, and which of them end no sentence."""

import functools
import re
from collections.abc import Mapping

from transformer.text.casing import capitalize_first

# The groups stand anywhere, before a number, behind one, in dates, and behind a number without a
# dot: see `_CONTEXTS`.
_TABLE = {
    "es": (
        """aprox aproximadamente|avda avenida|av avenida|apdo apartado|cía compañía|izq izquierda
        |depto departamento|dpto departamento|izda izquierda|dcha derecha|ud usted
        |uds ustedes|párr párrafo|máx máximo|mín mínimo|dto descuento|dtos descuentos
        |atte atentamente""",
        """p página|pp páginas|pág página|págs páginas|párrs párrafos|cap capítulo|caps capítulos
        |vol volumen|vols volúmenes|art artículo|arts artículos|núm número|nro número|exp expediente
        |tel teléfono|tfno teléfono|ref referencia""",
        "min minutos|seg segundos",
        """ene enero|feb febrero|abr abril|jun junio|jul julio|ago agosto|sep septiembre|oct octubre
        |sept septiembre|nov noviembre|dic diciembre|lun lunes|mié miércoles|jue jueves|vie viernes
        |sáb sábado|dom domingo""",
        "cda cucharada|cdas cucharadas|cdta cucharadita|cdtas cucharaditas",
    ),
    "en": (
        "approx approximately|dept department|govt government|max maximum",
        """p page|pp pages|para paragraph|paras paragraphs|ch chapter|vol volume|vols volumes
        |nos numbers|tel telephone|ref reference""",
        "min minutes|sec seconds|ft feet|in inches|gal gallons|hrs hours",
        """Jan January|Feb February|Mar March|Apr April|Jun June|Jul July|Aug August|Sep September
        |Sept September|Oct October|Nov November|Dec December|Mon Monday|Tue Tuesday|Tues Tuesday
        |Wed Wednesday|Thu Thursday|Thur Thursday|Thurs Thursday|Fri Friday|Sat Saturday
        |Sun Sunday""",
        "tbsp tablespoons|tsp teaspoons|lb pounds|lbs pounds|oz ounces",
    ),
}
_CONTEXTS = (
    r"(?i:\b({}))\.", r"(?i:\b({}))\.\s?(?=\d)", r"(?<=\d)\s?({})\.(?!\w)",
    r"\b({})\.(?=,?\s(?:de\s)?(?:\d|[^\W\d_]{{3,5}}\.))", r"(?<=\d)\s?({})\b\.?(?!\w)",
)  # fmt: skip
_EXPANSIONS = {
    lang: [dict(pair.split() for pair in group.split("|")) for group in groups]
    for lang, groups in _TABLE.items()
}
_PATTERNS = {
    lang: [
        (re.compile(context.format("|".join(words))), words)
        for context, words in zip(_CONTEXTS, groups, strict=True)
    ]
    for lang, groups in _EXPANSIONS.items()
}
# In dates months and days need no dot: 12 Mar 2024, Mon, Mar 4; 12 mar 2024, lun, 4 mar.
_MONTHS = {"es": "ene|feb|mar|abr|may|jun|jul|ago|sept?|oct|nov|dic",
           "en": "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"}  # fmt: skip
_DATES = {
    "es": re.compile(
        rf"\b(?P<day>lun|mar|mié|jue|vie|sáb|dom)(?=,?\s\d\d?\s(?:de\s)?(?:{_MONTHS['es']}))"
        rf"|(?<=\d)\s(?P<month>{_MONTHS['es']})(?:\s(?P<year>\d{{4}})\b|(?=,?\sa\slas?\s))"
    ),
    "en": re.compile(
        rf"\b(?P<day>Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?=,?\s(?:\d\d?\s)?(?:{_MONTHS['en']})\b)"
        rf"|\b(?P<month>{_MONTHS['en']})(?=\s\d\d?(?:st|nd|rd|th)?\b(?!:))"
        rf"|(?<=\d\s)(?P<after>{_MONTHS['en']})(?=\s\d{{4}}\b)"
    ),
}
_DIGIT = re.compile(r"\d")
_DATE_WORDS = {lang: {**groups[3], **{"es": {"mar": "marzo", "may": "mayo"}, "en": {}}[lang]}
               for lang, groups in _EXPANSIONS.items()}  # fmt: skip
ABBREVIATIONS = frozenset(
    form for groups in _EXPANSIONS.values() for words in (*groups[:2], groups[3])
    for word in words for form in (word, capitalize_first(word))
)  # fmt: skip
# Titles, which never end a sentence.
TITLES = re.compile(
    r"Capt|Col|Dr|Gen|Gov|Hon|Lt|Maj|Messrs|M[rst]|Mrs|Pres|Re[pv]|Sen|Sgt|St|vs|viz|(?i:arq|avd?a?"
    r"|cf|cnel|dña|dra?|dres|ej|fr|gral|hno|ing|lic|mons|ph|profa?|sra?|sre?s|srta|sta|sto|tte)"
)
# As ABBREVIATIONS, but in any case: these end no sentence before a number.
NUMBER_LABELS = re.compile(
    r"(?i:abr|apr|aug|dec|dic|ene|feb|jan|ju[ln]|mar|nov|oct|sept?|approx|aprox|arts?|caps?|ch"
    r"|chap|cía|eds?|eq|figs?|lám|nos?|nr?o|n[uú]m|p[aá]gs?|pp|ref|sec|tab|tel|vols?)"
)
# Initials and the like end a sentence only before a word that often begins one.
INITIALS = re.compile(
    r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}|[^\W\d_]|EE|UU|al|Bros|Corp?|Inc|Jr|Ltd|[UV]ds?"
)
# But these end a sentence before any capital.
CLOSING_ABBREVIATION = re.compile(r"\b(?:[ap]\.\sm|[ad]\.\s?C|EE\.\s?UU)$")


def expand_abbreviations(text: str, lang: str) -> str:
    """Replace the abbreviations of a text by the words that they stand for."""
    patterns = _PATTERNS.get(lang, [])  # the last one needs no dot
    for pattern, words in patterns if "." in text else patterns[-1:]:
        text = pattern.sub(functools.partial(_expand, words), text)
    if lang in _DATES and _DIGIT.search(text):
        text = _DATES[lang].sub(functools.partial(_expand_date, _DATE_WORDS[lang]), text)
    return text


def _expand_date(words: Mapping[str, str], found: re.Match[str]) -> str:
    """Expand a match of `_DATES` by `words`, {"mar": "marzo"}; " mar 2024": " de marzo de 2024"."""
    short = found[found.lastgroup or 0] if found.lastgroup != "year" else found["month"]
    if found[0][0].isspace():
        return f" de {words[short]}" + (f" de {found['year']}" if found["year"] else "")
    return "martes" if found["day"] == "mar" else words[short]


def _expand(words: Mapping[str, str], found: re.Match[str]) -> str:
    """Expand a match of `_PATTERNS` by `words`, {"ref": "reference"}; a final dot stays."""
    short = found[1]
    word = words.get(short) or words.get(short.lower(), short)
    if short[0].isupper():
        word = capitalize_first(word)
    rest = found.string[found.end() :]
    before = "" if found[0][0].isalpha() else " "
    dot = "." if found[0][-1] == "." and not rest.strip() else ""
    return before + word + dot + " " * rest[:1].isdigit()
