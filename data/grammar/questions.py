"""Families of questions, requests and commands."""

from grammar import spanish as es
from grammar import subjects as su
from grammar import verbs as vb
from grammar.clauses import NONE, also, clause, question, say, when
from grammar.family import family
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.tables import pairs, words
from grammar.verbs import acts, vp

_TIMES = {"pres": "habit", "pret": "past", "fut": "ahead", "goto": "ahead", "perf": "lately"}


def _maybe_when(d: Dice, flags: str, tense: str, p: float) -> Pair:
    """Sometimes an adverbial that suits the tense."""
    return when(d, flags, _TIMES[tense]) if tense in _TIMES and d.chance(p) else NONE


def _not_me(d: Dice) -> Who:
    who = su.subject(d)
    while who.en.endswith(" and I") or (who.key in ("I", "we") and d.chance(0.9)):
        who = su.subject(d)
    return who


@family(5)
def yes_or_no(d: Dice) -> Pair:
    """¿Leíste el periódico ayer?"""
    who = _not_me(d)
    tense = d.pick(("pres", "pret", "pret", "fut", "goto", "perf", "prog", "haveto", "want"))
    group = {"pres": vb.HABITUAL, "pret": vb.EVENTS, "perf": vb.EVENTS, "prog": vb.ONGOING}
    v = vp(d, who, group.get(tense, vb.WILLED), 0.25)
    return say(also(question(who, v, tense), _maybe_when(d, v.flags, tense, 0.6)), "?")


_ASKED = acts(
    "comer//eat, beber//drink, comprar//buy, leer//read, escribir//write, ver//watch,"
    "estudiar//study, cocinar//cook, dibujar//draw, pintar//paint, vender//sell, hacer//do,"
    "pedir//order, traer//bring, perder//lose, encontrar//find, decir//say, preparar//prepare,"
    "aprender//learn, cantar//sing,"
    "comprar/en el mercado/buy at the market, comer/en la escuela/eat at school,"
    "hacer/en casa/do at home, hacer/en el parque/do in the park, "
    "comer/en el hotel/eat at the hotel,"
    "perder/en la playa/lose on the beach, encontrar/en la calle/find on the street,"
    "ver/en el museo/see in the museum, hacer/en la oficina/do at the office"
)


@family(3.5)
def what(d: Dice) -> Pair:
    """¿Qué compró Ana ayer?"""
    who = _not_me(d)
    v = d.pick(_ASKED)
    past_only = v.verb in ("perder", "encontrar", "decir")
    tense = d.pick(
        ("pret", "pret", "perf") if past_only else ("pret", "pret", "fut", "goto", "want")
    )
    late = _maybe_when(d, "", tense, 0.6)
    return say(also(question(who, v, tense, wh=("qué", "what")), late), "?")


_WH = pairs("dónde/where,cuándo/when,por qué/why,con quién/who,cómo/how,por qué/why")
_ACHIEVED = acts(
    "aprender/a tocar el piano/learn to play the piano, aprender/español/learn Spanish,"
    "resolver/el problema/solve the problem, abrir/la puerta/open the door,"
    "encontrar/la casa/find the house, llegar/al aeropuerto/get to the airport,"
    "volver/a casa/get home, reparar/el coche/fix the car, preparar/la sopa/make the soup,"
    "ganar/el partido/win the game, aprender/a nadar/learn to swim, "
    "subir/a la torre/climb the tower"
)
_TOGETHER = tuple(f for f in vb.LEISURE if "c" in f.flags)


@family(5)
def where_when_why(d: Dice) -> Pair:
    """¿Dónde perdió Luis la cartera?"""
    who = _not_me(d)
    wh = d.pick(_WH)
    tense = d.pick(("pret", "pret", "fut", "goto", "want"))
    if wh[1] == "who":
        left, right = question(who, vp(d, who, _TOGETHER, 0.0), tense, wh=wh)
        return say((left, f"{right} with"), "?")
    if wh[1] == "how":
        return say(question(who, d.pick(_ACHIEVED), d.pick(("pret", "pret", "fut")), wh=wh), "?")
    group = vb.EVENTS if tense == "pret" else vb.WILLED
    if wh[1] == "where":
        group = vb.SOMEWHERE
        tense = tense if tense == "pret" else "perf"
    elif wh[1] == "when":
        group = tuple(f for f in vb.WILLED if "h" not in f.flags)
        tense = "pret" if tense == "want" else tense
    neg = wh[1] == "why" and d.chance(0.4)
    return say(question(who, vp(d, who, group, 0.0), tense, neg, wh), "?")


_OWNED = ("p.", "P.", "r.", "R.")


def without_owner(group: tuple[vb.Frame, ...]) -> tuple[vb.Frame, ...]:
    """Frames whose objects do not speak of the subject's belongings or relatives."""
    return tuple(
        f for f in group
        if not any(o[:2] in _OWNED or "{" in o or o[0] in "AH" for o in f.objects)
    )  # fmt: skip


_IMPERSONAL = {True: without_owner(vb.EVENTS), False: without_owner(vb.WILLED)}


@family(3)
def who_did(d: Dice) -> Pair:
    """¿Quién rompió la ventana?"""
    who = Who("quién", "quién", "who", 2, 2, "he")
    tense = d.pick(("pret", "pret", "fut", "goto", "want", "perf", "can"))
    v = vp(d, who, _IMPERSONAL[tense in ("pret", "perf")], 0.3)
    while " his " in f" {v.tail_en} ":
        v = vp(d, who, _IMPERSONAL[False], 0.0)
    late = _maybe_when(d, v.flags, tense, 0.5)
    return say(also(clause(who, v, tense), late), "?")


_FAVOURS = acts(
    "ayudarme/con la maleta/help me with the suitcase, decirme/la hora/tell me the time,"
    "traerme/un vaso de agua/bring me a glass of water, traernos/la cuenta/bring us the bill,"
    "repetir/la pregunta/repeat the question, hablar/más despacio/speak more slowly,"
    "esperar/un momento/wait a moment, prestarme/el diccionario/lend me the dictionary,"
    "decirme/dónde está la estación/tell me where the station is, cerrar/la puerta/close the door,"
    "llamar/a un médico/call a doctor, pasarme/la sal/pass me the salt,"
    "enseñarme/las fotos/show me the photos, prestarme/veinte euros/lend me twenty euros,"
    "explicarme/el problema/explain the problem to me, traernos/dos cafés/bring us two coffees"
)
_DO = words(
    "abrir cerrar encender apagar limpiar ordenar lavar leer escribir llamar esperar ayudar "
    "terminar contestar explicar cortar regar hacer enviar pagar estudiar descansar dibujar cocinar"
)
_DO_NOT = words(
    "abrir cerrar encender apagar comprar vender llamar esperar comer beber romper perder invitar "
    "leer pintar cortar olvidar pedir"
)
_ORDERS = tuple(f for f in vb.FRAMES if f.verb in _DO)
_ASKED_OF = tuple(f for f in _ORDERS if f.verb not in ("estudiar", "descansar", "dibujar"))
_BANS = tuple(
    f for f in vb.FRAMES
    if f.verb in _DO_NOT and (f.verb not in ("comer", "beber") or "h" in f.flags)
)  # fmt: skip
_MAY = without_owner(tuple(f for f in vb.WILLED if "g" not in f.flags))


@family(2.5)
def request(d: Dice) -> Pair:
    """¿Podrías abrir la ventana, por favor?; ¿puedo salir?"""
    who = d.pick(su.PRONOUNS[2:3] + su.PRONOUNS[6:8])
    if d.chance(0.6):
        v = d.pick(_FAVOURS) if d.chance(0.5) else vp(d, who, _ASKED_OF, 0.0)
        left, right = question(who, v, d.pick(("can", "could")))
        return say((f"{left}, por favor", f"{right}, please"), "?")
    me = d.pick(su.PRONOUNS[0:1] + su.PRONOUNS[8:9])
    return say(question(me, vp(d, me, _MAY, 0.2), "can"), "?")


_SOON = pairs("ahora/now,hoy/today,esta tarde/this afternoon,mañana/tomorrow")


@family(3)
def command(d: Dice) -> Pair:
    """Abre la ventana, por favor; no comas tanto chocolate."""
    formal = d.chance(0.4)
    who = Who("", "", "you", 2 if formal else 1, 1, "you")
    neg = d.chance(0.4)
    v = vp(d, who, _BANS if neg else _ORDERS, 0.1)
    forms = es.verb(v.verb)
    if neg or formal:
        left = join("no" if neg else "", forms.tenses["subj"][who.p], v.tail_es)
    else:
        left = join(forms.command, v.tail_es)
    right = join("don't" if neg else "", v.base, v.tail_en)
    if d.chance(0.45) and v.verb not in ("olvidar", "perder"):
        return say((f"{left}, por favor", f"{right}, please"))
    return say(also((left, right), d.pick(_SOON) if d.chance(0.4) and not neg else NONE))
