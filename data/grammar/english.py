"""English word forms: verbs with their auxiliaries, plurals, comparison, articles.

It knows spelling and agreement only: no meaning, no Spanish, no chance. Agreement classes are
0 I, 1 you/we/they, 2 he/she/it.
"""

from functools import cache
from typing import NamedTuple

from grammar.tables import words


class Finite(NamedTuple):
    """One verb form cut so that statement, negation and question can be put together.

    Statement: `positive`. Negation: `negative` + `rest`. Question: `auxiliary` + subject + `rest`.
    """

    positive: str
    negative: str
    auxiliary: str
    rest: str


_IRREGULAR = {
    row.split()[0]: (row.split()[1], row.split()[2])
    for row in """
    be was been|have had had|do did done|go went gone|eat ate eaten|drink drank drunk
    read read read|write wrote written|buy bought bought|sell sold sold|see saw seen
    make made made|take took taken|give gave given|get got gotten|come came come|run ran run
    swim swam swum|sing sang sung|sleep slept slept|drive drove driven|build built built
    lose lost lost|find found found|break broke broken|send sent sent|wear wore worn
    bring brought brought|forget forgot forgotten|pay paid paid|win won won|cut cut cut
    leave left left|know knew known|think thought thought|teach taught taught|put put put
    sit sat sat|wake woke woken|speak spoke spoken|tell told told|say said said|feel felt felt
    hear heard heard|meet met met|begin began begun|draw drew drawn|fall fell fallen
    understand understood understood|ride rode ridden|spend spent spent|keep kept kept
    lend lent lent|grow grew grown|fly flew flown|ring rang rung|throw threw thrown
    show showed shown|hang hung hung|catch caught caught|choose chose chosen|hurt hurt hurt
    hide hid hidden|steal stole stolen|feed fed fed|let let let|cost cost cost|stand stood stood
    hold held held|rise rose risen|bite bit bitten
    """.replace("\n", "|").split("|")
    if row.strip()
}
_DOUBLING = set(words("run swim get put sit stop win cut plan shop forget begin let chat jog hug"))
_MODALS = {
    "fut": ("will", "won't"),
    "cond": ("would", "wouldn't"),
    "can": ("can", "can't"),
    "should": ("should", "shouldn't"),
    "could": ("could", "couldn't"),
}
_WITH_TO = {
    "want": "want to",
    "need": "need to",
    "haveto": "have to",
    "hope": "hope to",
    "decided": "decide to",
    "started": "start to",
    "managed": "manage to",
    "forgot": "forget to",
    "wanted": "want to",
    "hadto": "have to",
}


def third_person(base: str) -> str:
    """Present tense form of he/she/it."""
    special = {"have": "has", "do": "does", "go": "goes", "be": "is"}
    if base in special:
        return special[base]
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def ing(base: str) -> str:
    """Present participle."""
    if base == "be":
        return "being"
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + base[-1] + "ing" if base in _DOUBLING else base + "ing"


def past(base: str) -> tuple[str, str]:
    """Past tense and past participle."""
    if base in _IRREGULAR:
        return _IRREGULAR[base]
    if base.endswith("e"):
        form = base + "d"
    elif base.endswith("y") and base[-2] not in "aeiou":
        form = base[:-1] + "ied"
    else:
        form = base + (base[-1] if base in _DOUBLING else "") + "ed"
    return form, form


def _to_be(tense: str, agree: int, rest: str) -> Finite:
    forms = ("am", "are", "is") if tense == "pres" else ("was", "were", "was")
    form = forms[agree]
    negative = "am not" if form == "am" else form + "n't"
    return Finite(f"{form} {rest}".strip(), negative, form, rest)


def _simple(tense: str, base: str, agree: int, rest: str = "") -> Finite:
    """Present or past of a full verb: do-support, unless the verb is 'be'."""
    if base == "be":
        return _to_be(tense, agree, rest)
    if tense == "pres":
        do = "does" if agree == 2 else "do"
        form = third_person(base) if agree == 2 else base
    else:
        do, form = "did", past(base)[0]
    return Finite(f"{form} {rest}".strip(), do + "n't", do, f"{base} {rest}".strip())


@cache
def finite(base: str, tense: str, agree: int) -> Finite:
    """Form of a verb in one of the tense names shared with the Spanish side."""
    if tense in ("pres", "subj"):
        return _simple("pres", base, agree)
    if tense in ("pret", "imp", "psubj"):
        return _simple("past", base, agree)
    if tense in _MODALS:
        modal, negative = _MODALS[tense]
        return Finite(f"{modal} {base}", negative, modal, base)
    if tense in ("perf", "pperf", "just"):
        form = "had" if tense == "pperf" else ("has" if agree == 2 else "have")
        rest = ("just " if tense == "just" else "") + past(base)[1]
        return Finite(f"{form} {rest}", form + "n't", form, rest)
    if tense in ("prog", "pprog", "still"):
        rest = ("still " if tense == "still" else "") + ing(base)
        return _to_be("past" if tense == "pprog" else "pres", agree, rest)
    if tense in ("goto", "wasgoto"):
        return _to_be("past" if tense == "wasgoto" else "pres", agree, f"going to {base}")
    if tense == "used":
        return Finite(f"used to {base}", "didn't", "did", f"use to {base}")
    if tense == "stopped":
        return _simple("past", "stop", agree, ing(base))
    if tense == "try":
        return _to_be("pres", agree, f"trying to {base}")
    before, _, to = _WITH_TO[tense].partition(" ")
    when = "past" if tense in PAST_WITH_TO else "pres"
    return _simple(when, before, agree, f"{to} {base}")


PAST_WITH_TO = ("decided", "started", "managed", "forgot", "wanted", "hadto")
_PLURALS = {
    "child": "children", "man": "men", "woman": "women", "mouse": "mice", "foot": "feet",
    "tooth": "teeth", "fish": "fish", "sheep": "sheep", "person": "people", "knife": "knives",
    "wife": "wives", "leaf": "leaves", "mailman": "mailmen", "series": "series",
    "tomato": "tomatoes", "potato": "potatoes", "shelf": "shelves", "bookshelf": "bookshelves",
    "scarf": "scarves", "wolf": "wolves", "fireman": "firemen", "loaf": "loaves",
}  # fmt: skip


@cache
def plural(noun: str) -> str:
    """Plural of a noun; of a phrase the word before 'of', or else its last word."""
    if " of " in noun:
        head, _, tail = noun.partition(" ")
        return f"{plural(head)} {tail}"
    rest, space, word = noun.rpartition(" ")
    if word in _PLURALS:
        word = _PLURALS[word]
    elif word.endswith(("s", "sh", "ch", "x")):
        word += "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "ies"
    else:
        word += "s"
    return rest + space + word


_AN_BEFORE = ("hour", "honest")
_A_BEFORE = ("university", "useful", "uniform", "European", "one", "Euro", "unique", "union",
             "used")  # fmt: skip


@cache
def a(phrase: str) -> str:
    """The phrase with its indefinite article."""
    vowel = phrase[0].lower() in "aeiou" and not phrase.startswith(_A_BEFORE)
    return ("an " if vowel or phrase.startswith(_AN_BEFORE) else "a ") + phrase


_COMPARED = {
    "good": ("better", "best"),
    "bad": ("worse", "worst"),
    "far": ("farther", "farthest"),
}
_SHORT = set(
    words(
        "tall short big small old young fast slow cheap new long strong weak kind smart rich poor "
        "cold warm clean dark light sweet high deep quiet large thick quick wide calm fresh"
    )
)
_LAST_DOUBLED = set(words("big thin hot sad fat"))


@cache
def compared(word: str) -> tuple[str, str]:
    """Comparative and superlative of an adjective."""
    if word in _COMPARED:
        return _COMPARED[word]
    if word in _LAST_DOUBLED:
        return f"{word}{word[-1]}er", f"{word}{word[-1]}est"
    if word in ("nice", "large", "wide", "safe", "brave", "close"):
        return word + "r", word + "st"
    if word in _SHORT:
        return word + "er", word + "est"
    if word.endswith("y") and len(word) <= 7 and word[-2] not in "aeiou":
        return word[:-1] + "ier", word[:-1] + "iest"
    return f"more {word}", f"most {word}"
