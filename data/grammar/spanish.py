"""Spanish word forms: verbs, plurals, adjectives.

It knows spelling and agreement only: no meaning, no English, no chance. Persons are numbered
0 yo, 1 tú, 2 él/ella/usted, 3 nosotros, 4 ellos/ellas/ustedes.
"""

from functools import cache
from typing import NamedTuple

from grammar.tables import words

Five = tuple[str, ...]


class Verb(NamedTuple):
    """All simple forms of one verb; each tense holds the five persons."""

    infinitive: str
    tenses: dict[str, Five]
    gerund: str
    participle: str
    command: str


_TO_IE = set(
    words(
        "pensar empezar cerrar querer entender perder preferir sentir despertar sentar recomendar "
        "encender nevar calentar mentir divertir defender comenzar regar merendar"
    )
)
_TO_UE = set(
    words(
        "poder volver dormir encontrar contar costar recordar acostar almorzar soñar mostrar "
        "probar doler llover mover morir devolver soler sonar volar colgar resolver demostrar"
    )
)
_TO_I = set(words("pedir servir repetir vestir seguir conseguir elegir despedir medir"))
_PRETERITE_STEMS = {
    "tener": "tuv", "estar": "estuv", "poder": "pud", "poner": "pus", "querer": "quis",
    "saber": "sup", "venir": "vin", "hacer": "hic", "decir": "dij", "traer": "traj",
    "haber": "hub", "conducir": "conduj", "traducir": "traduj", "andar": "anduv",
    "producir": "produj",
}  # fmt: skip
_FUTURE_STEMS = {
    "tener": "tendr", "poder": "podr", "poner": "pondr", "querer": "querr", "saber": "sabr",
    "venir": "vendr", "hacer": "har", "decir": "dir", "salir": "saldr", "haber": "habr",
    "oír": "oir",
}  # fmt: skip
_FIRST_PERSONS = {
    "tener": "tengo", "hacer": "hago", "poner": "pongo", "salir": "salgo", "traer": "traigo",
    "venir": "vengo", "decir": "digo", "caer": "caigo",
}  # fmt: skip
_PARTICIPLES = {
    "romper": "roto", "abrir": "abierto", "escribir": "escrito", "morir": "muerto",
    "volver": "vuelto", "poner": "puesto", "hacer": "hecho", "decir": "dicho", "ver": "visto",
    "devolver": "devuelto", "cubrir": "cubierto", "descubrir": "descubierto",
    "resolver": "resuelto",
}  # fmt: skip
_COMMANDS = {
    "tener": "ten", "poner": "pon", "venir": "ven", "salir": "sal", "hacer": "haz", "decir": "di",
    "ir": "ve", "ser": "sé",
}  # fmt: skip
_IRREGULAR = {
    "ser": {
        "pres": "soy eres es somos son", "imp": "era eras era éramos eran",
        "pret": "fui fuiste fue fuimos fueron", "subj": "sea seas sea seamos sean",
    },
    "ir": {
        "pres": "voy vas va vamos van", "imp": "iba ibas iba íbamos iban",
        "pret": "fui fuiste fue fuimos fueron", "subj": "vaya vayas vaya vayamos vayan",
    },
    "estar": {
        "pres": "estoy estás está estamos están", "subj": "esté estés esté estemos estén",
    },
    "haber": {"pres": "he has ha hemos han", "subj": "haya hayas haya hayamos hayan"},
    "dar": {
        "pres": "doy das da damos dan", "pret": "di diste dio dimos dieron",
        "subj": "dé des dé demos den",
    },
    "ver": {
        "pres": "veo ves ve vemos ven", "imp": "veía veías veía veíamos veían",
        "pret": "vi viste vio vimos vieron", "subj": "vea veas vea veamos vean",
    },
    "saber": {
        "pres": "sé sabes sabe sabemos saben", "subj": "sepa sepas sepa sepamos sepan",
    },
    "oír": {
        "pres": "oigo oyes oye oímos oyen", "pret": "oí oíste oyó oímos oyeron",
        "subj": "oiga oigas oiga oigamos oigan", "imp": "oía oías oía oíamos oían",
    },
    "tener": {"pres": "tengo tienes tiene tenemos tienen"},
    "venir": {"pres": "vengo vienes viene venimos vienen"},
    "decir": {"pres": "digo dices dice decimos dicen"},
}  # fmt: skip
_GERUNDS = {"ir": "yendo", "decir": "diciendo", "venir": "viniendo", "poder": "pudiendo",
            "oír": "oyendo"}  # fmt: skip
_ACCENTED = {
    "enviar": "enví",
    "continuar": "continú",
    "esquiar": "esquí",
    "confiar": "confí",
}
_VOWELS = "aeiouáéíóú"


def _swap_last(stem: str, old: str, new: str) -> str:
    head, _, tail = stem.rpartition(old)
    return head + new + tail


def _stressed(inf: str, stem: str) -> str:
    """Stem of the persons whose stress falls on the stem."""
    if inf in _TO_IE:
        return _swap_last(stem, "e", "ie")
    if inf in _TO_UE:
        return _swap_last(stem, "o", "ue")
    if inf in _TO_I:
        return _swap_last(stem, "e", "i")
    if inf == "jugar":
        return "jueg"
    return _ACCENTED.get(inf, stem)


def _weak(inf: str, stem: str) -> str:
    """Stem of -ir verbs in the third person preterite, the gerund and 'nosotros' subjunctive."""
    if not inf.endswith("ir"):
        return stem
    if inf in _TO_IE or inf in _TO_I:
        return _swap_last(stem, "e", "i")
    return _swap_last(stem, "o", "u") if inf in _TO_UE else stem


def _hard(stem: str) -> str:
    """Spelling of an -ar stem before e."""
    if stem.endswith("z"):
        return stem[:-1] + "c"
    if stem.endswith("c"):
        return stem[:-1] + "qu"
    return stem + "u" if stem.endswith("g") else stem


def _soft(stem: str) -> str:
    """Spelling of an -er or -ir stem before a and o."""
    if stem.endswith("gu"):
        return stem[:-1]
    if stem.endswith("g"):
        return stem[:-1] + "j"
    if stem.endswith("c"):
        return stem[:-1] + ("zc" if stem[-2] in _VOWELS else "z")
    return stem


def _adds_y(inf: str) -> bool:
    return inf.endswith("uir") and not inf.endswith("guir")


def _join(stem: str, endings: str) -> list[str]:
    return [stem + e for e in endings.split()]


def _present(inf: str, stem: str) -> list[str]:
    endings = {"ar": "o as a amos an", "er": "o es e emos en"}.get(inf[-2:], "o es e imos en")
    strong = stem + "y" if _adds_y(inf) else _stressed(inf, stem)
    row, weak = _join(strong, endings), _join(stem, endings)
    row[3] = weak[3]
    if not inf.endswith("ar"):
        row[0] = _soft(strong) + "o"
    row[0] = _FIRST_PERSONS.get(inf, row[0])
    return row


def _subjunctive(inf: str, stem: str, first: str) -> list[str]:
    if inf.endswith("ar"):
        row = _join(_hard(_stressed(inf, stem)), "e es e emos en")
        row[3] = _hard(stem) + "emos"
        return row
    row = _join(first[:-1], "a as a amos an")
    if not first.endswith(("go", "zco")) and not _adds_y(inf):
        row[3] = _soft(_weak(inf, stem)) + "amos"
    return row


def _preterite(inf: str, stem: str) -> list[str]:
    if inf in _PRETERITE_STEMS:
        strong = _PRETERITE_STEMS[inf]
        row = _join(strong, "e iste o imos ieron")
        row[4] = row[4].replace("jie", "je")
        row[2] = row[2].replace("hico", "hizo")
        return row
    if inf.endswith("ar"):
        row = _join(stem, "é aste ó amos aron")
        row[0] = _hard(stem) + "é"
        return row
    if _adds_y(inf):
        return _join(stem, "í iste yó imos yeron")
    if stem[-1] in "aeo":
        return _join(stem, "í íste yó ímos yeron")
    row, weak = _join(stem, "í iste ió imos ieron"), _weak(inf, stem)
    row[2], row[4] = weak + "ió", weak + "ieron"
    return row


def _past_subjunctive(preterite: str) -> list[str]:
    stem = preterite[:-3]
    accent = {"a": "á", "e": "é"}[stem[-1]]
    row = _join(stem, "ra ras ra ramos ran")
    row[3] = stem[:-1] + accent + "ramos"
    return row


@cache
def verb(inf: str) -> Verb:
    """Conjugate an infinitive (without its reflexive pronoun)."""
    stem, kind = inf[:-2], inf[-2:]
    given = {tense: row.split() for tense, row in _IRREGULAR.get(inf, {}).items()}
    pres = given.get("pres") or _present(inf, stem)
    pret = given.get("pret") or _preterite(inf, stem)
    past = "aba abas aba ábamos aban" if kind == "ar" else "ía ías ía íamos ían"
    future = _FUTURE_STEMS.get(inf, inf)
    first = _FIRST_PERSONS.get(inf, pres[0])
    rows = {
        "pres": pres,
        "pret": pret,
        "imp": given.get("imp") or _join(stem, past),
        "fut": _join(future, "é ás á emos án"),
        "cond": _join(future, "ía ías ía íamos ían"),
        "subj": given.get("subj") or _subjunctive(inf, stem, first),
        "psubj": _past_subjunctive(pret[4]),
    }
    if kind == "ar":
        gerund, participle = stem + "ando", stem + "ado"
    else:
        vowel = bool(stem) and (stem[-1] in "aeo" or _adds_y(inf))
        gerund = _weak(inf, stem) + ("yendo" if vowel else "iendo")
        participle = stem + ("ído" if stem and stem[-1] in "aeo" else "ido")
    return Verb(
        inf,
        {tense: tuple(row) for tense, row in rows.items()},
        _GERUNDS.get(inf, gerund),
        _PARTICIPLES.get(inf, participle),
        _COMMANDS.get(inf, pres[2]),
    )


_UNACCENT = str.maketrans("áéíóú", "aeiou")
_PLURALS = {"joven": "jóvenes", "examen": "exámenes", "jersey": "jerséis", "sofá": "sofás",
            "imagen": "imágenes", "café": "cafés", "té": "tés"}  # fmt: skip


@cache
def plural(noun: str) -> str:
    """Plural of a noun or adjective; of a phrase, only its first word is changed."""
    head, space, tail = noun.partition(" ")
    if head in _PLURALS:
        head = _PLURALS[head]
    elif head.endswith("z"):
        head = head[:-1] + "ces"
    elif head[-1] in "aeiouáéó":
        head += "s"
    elif head.endswith("s") and head[-2] not in "áéíóú":
        pass  # paraguas, lunes
    elif head[-1] in "ns" and head[-2] in "áéíóú":
        head = head[:-2] + head[-2].translate(_UNACCENT) + head[-1] + "es"
    else:
        head += "es"
    return head + space + tail


@cache
def adjective(base: str, gender: str, many: bool) -> str:
    """Agreeing form of an adjective given in the masculine singular."""
    word = base
    if gender == "f":
        if base.endswith("o"):
            word = base[:-1] + "a"
        elif base.endswith(("dor", "ol")):
            word = base + "a"
        elif base.endswith(("és", "án")):
            word = base[:-2] + base[-2].translate(_UNACCENT) + base[-1] + "a"
    return plural(word) if many else word
