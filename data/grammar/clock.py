"""Families about hours, days, dates and the weather."""

from grammar import counting
from grammar import english as en
from grammar import frames as fr
from grammar import lexicon as lx
from grammar import spanish as es
from grammar import subjects as su
from grammar.clauses import NONE, also, clause, question, say, spanish_verb
from grammar.family import family
from grammar.persons import own
from grammar.phrases import Dice, Pair, join
from grammar.subjects import Who
from grammar.tables import lines, pairs
from grammar.verbs import VP, acts, simple

_HOURS = pairs(
    "doce/twelve,una/one,dos/two,tres/three,cuatro/four,cinco/five,seis/six,siete/seven,ocho/eight,"
    "nueve/nine,diez/ten,once/eleven"
)
_MINUTES = pairs("cinco/five,diez/ten,cuarto/a quarter,veinte/twenty,veinticinco/twenty-five")


def clock(d: Dice, low: int = 1, high: int = 12) -> Pair:
    """A time of day without preposition: las ocho y media / half past eight."""
    hour = d.between(low, high) % 12
    name, english = _HOURS[hour]
    left = f"{'la' if hour == 1 else 'las'} {name}"
    kind = d.random()
    if kind < 0.35:
        return left, f"{english} o'clock"
    if kind < 0.6:
        return f"{left} y media", f"half past {english}"
    minute = d.pick(_MINUTES)
    if kind < 0.8:
        return f"{left} y {minute[0]}", f"{minute[1]} past {english}"
    return f"{left} menos {minute[0]}", f"{minute[1]} to {english}"


def at_clock(d: Dice, low: int, high: int) -> Pair:
    """a las ocho y media / at half past eight; sometimes in figures."""
    if d.chance(0.25):
        hour, minute = d.between(low, high), d.pick((0, 15, 30, 45, 10, 20, 40, 50))
        return f"a {'la' if hour == 1 else 'las'} {hour}:{minute:02}", f"at {hour}:{minute:02}"
    left, right = clock(d, low, high)
    return f"a {left}", f"at {right}"


def date(d: Dice) -> Pair:
    """el 12 de mayo / May 12."""
    day, month = d.between(1, 28), d.pick(lx.MONTHS)
    return f"el {day} de {month[0]}", f"{month[1]} {day}"


def then_at(pair: Pair, day: Pair, hour: Pair, front: bool = False) -> Pair:
    """Day and hour in the order each language likes: llegó ayer a las dos / at two yesterday."""
    if front and day[0]:
        return f"{day[0]} {pair[0]} {hour[0]}", f"{day[1]}, {pair[1]} {hour[1]}"
    return join(pair[0], day[0], hour[0]), join(pair[1], hour[1], day[1])


_PARTS = (("de la mañana", "in the morning", 5, 11), ("de la tarde", "in the afternoon", 1, 6),
          ("de la noche", "in the evening", 8, 10))  # fmt: skip
_IT_IS = pairs("/it is,ya/it is already,casi/it is almost,ahora/now it is")


@family(1.3)
def what_time(d: Dice) -> Pair:
    """Son las ocho y media de la mañana."""
    part = d.pick(_PARTS)
    left, right = clock(d, part[2], part[3])
    start = d.pick(_IT_IS)
    pair = join(start[0], "es" if left.startswith("la ") else "son", left), f"{start[1]} {right}"
    return say(also(pair, part[:2] if d.chance(0.5) else NONE))


_RIDES = acts("salir//leave, llegar//arrive")
_SHOWS = acts("empezar//start, terminar//end")
_SHOPS = acts("abrir//open, cerrar//close")
_SCHEDULED = (
    (pairs("el tren/the train,el autobús/the bus,el avión/the plane,el barco/the boat"), _RIDES),
    (pairs("la película/the movie,la clase/the class,la reunión/the meeting,el partido/the game,"
           "el concierto/the concert,la fiesta/the party"), _SHOWS),
    (pairs("la tienda/the store,el banco/the bank,el museo/the museum,la farmacia/the pharmacy,"
           "la biblioteca/the library,el mercado/the market"), _SHOPS),
)  # fmt: skip
_DAYS = {
    "pres": [NONE, NONE, *pairs("los sábados/on Saturdays,hoy/today,los domingos/on Sundays")],
    "pret": [NONE, *pairs("ayer/yesterday")], "fut": [NONE, *pairs("mañana/tomorrow")],
}  # fmt: skip


@family(3)
def schedule(d: Dice) -> Pair:
    """El tren sale para Madrid a las ocho; ¿a qué hora abre el museo?"""
    subjects, verbs = d.pick(_SCHEDULED)
    noun, v = d.pick(subjects), d.pick(verbs)
    who = Who(noun[0], noun[0], noun[1], 2, 2, "they")
    low, high = {"open": (8, 11), "close": (5, 9)}.get(v.base, (1, 12))
    if verbs is _RIDES and d.chance(0.5):
        city = d.pick(lx.CITIES)
        prep = ("para", "for") if v.base == "leave" else ("a", "in")
        v = simple(v.verb, f"{prep[0]} {city[0]}", f"{v.base} {prep[1]} {city[1]}")
    tense = d.pick(("pres", "pres", "pret", "fut"))
    if d.chance(0.25):
        return say(question(who, v, tense, wh=("a qué hora", "what time")), "?")
    hour = at_clock(d, low, high)
    return say(then_at(clause(who, v, tense), d.pick(_DAYS[tense]), hour, d.chance(0.3)))


_ROUTINE = tuple(
    (acts(row.rsplit("|", 2)[0])[0], int(row.split("|")[1]), int(row.split("|")[2]))
    for row in lines("""
    levantarse//get up|5|9
    despertarse//wake up|5|9
    desayunar//have breakfast|7|10
    salir/de casa/leave home|7|9
    empezar/a trabajar/start work|7|10
    almorzar//have lunch|1|2
    volver/a casa/go back home|5|8
    cenar//have dinner|7|10
    acostarse//go to bed|10|12
    llegar/al trabajo/get to work|8|10
    sacar/al perro/take the dog out|6|8
    """)
)
_ROUTINE_DAYS = {"pres": fr.HABIT[2:9], "pret": fr.PAST_NEAR[:2], "fut": fr.AHEAD[:2],
                 "haveto": fr.AHEAD[:2]}  # fmt: skip


@family(3)
def routine(d: Dice) -> Pair:
    """Me levanto a las siete y media todos los días."""
    who = su.subject(d)
    v, low, high = d.pick(_ROUTINE)
    while "trabaj" in v.tail_es and who.en in su.CHILDREN:
        v, low, high = d.pick(_ROUTINE)
    tense, hour = d.pick(("pres", "pres", "pret", "fut", "haveto")), at_clock(d, low, high)
    kind = d.random()
    if kind < 0.15:
        return say(question(who, v, tense, wh=("a qué hora", "what time")), "?")
    if tense == "pres" and kind < 0.4:
        return say(also(clause(who, v, tense, mid=d.pick(fr.OFTEN)), hour))
    day = d.pick(_ROUTINE_DAYS[tense]) if d.chance(0.5) else NONE
    return say(then_at(clause(who, v, tense), day, hour, d.chance(0.15)))


_EVENTS = pairs(
    "el examen/the exam,la boda/the wedding,la reunión/the meeting,el concierto/the concert,"
    "la fiesta/the party,la excursión/the excursion"
)
_TODAY = pairs("hoy es/today is,mañana es/tomorrow is,ayer fue/yesterday was")


@family(1.3)
def dates(d: Dice) -> Pair:
    """El cumpleaños de Ana es el 12 de mayo; hoy es lunes, 3 de junio."""
    left, right = date(d)
    if d.chance(0.35):
        day, start = d.pick(lx.DAYS), d.pick(_TODAY)
        if d.chance(0.7):
            return say((f"{start[0]} {day[0]}, {left[3:]}", f"{start[1]} {day[1]}, {right}"))
        return say((f"{start[0]} {day[0]}", f"{start[1]} {day[1]}"))
    event, who = d.pick(_EVENTS), su.named(d)
    if d.chance(0.6):
        event = (f"el cumpleaños de {who.es}", f"{who.en}{own(who.en, who.many)} birthday")
    return say((f"{event[0]} es {left}", f"{event[1]} is on {right}"))


_LIVES = acts("nacer//be born, casarse//get married, nacer//be born, llegar//arrive")


@family(1.7)
def lives(d: Dice) -> Pair:
    """Mi abuelo nació en Lima en 1951; se casaron el 3 de mayo de 1998."""
    who = su.single(d)
    v: VP = d.pick(_LIVES)
    while who.en in su.CHILDREN or (v.base == "get" and not who.many and who.key == "they"):
        who = su.single(d)
    first = spanish_verb(v.verb, v.reflexive, "pret", who.p)[0]
    start = join(who.es, first), join(who.en, en.finite(v.base, "pret", who.e).positive, v.tail_en)
    left, right = date(d)
    year = d.between(1935, 1999) if v.base == "be" else d.between(1970, 2023)
    city = d.pick(lx.CITIES)
    if v.base == "arrive":
        return say((f"{start[0]} a {city[0]} {left}", f"{start[1]} in {city[1]} on {right}"))
    if d.chance(0.5):
        return say((f"{start[0]} {left} de {year}", f"{start[1]} on {right}, {year}"))
    return say((f"{start[0]} en {city[0]} en {year}", f"{start[1]} in {city[1]} in {year}"))


_WEATHER = (
    pairs("hace {}frío/it is {}cold,hacía {}frío/it was {}cold,hará {}frío/it will be {}cold"),
    pairs("hace {}calor/it is {}hot,hacía {}calor/it was {}hot,hará {}calor/it will be {}hot"),
    pairs("hace {}viento/it is {}windy,hizo {}viento/it was {}windy,"
          "hará {}viento/it will be {}windy"),
    pairs("hace sol/it is sunny,hacía sol/it was sunny,hará sol/it will be sunny"),
    pairs("está lloviendo/it is raining,llovió/it rained,lloverá/it will rain"),
    pairs("está nevando/it is snowing,nevó/it snowed,nevará/it will snow"),
    pairs("hace buen tiempo/the weather is good,hizo buen tiempo/the weather was good,"
          "hará buen tiempo/the weather will be good"),
    pairs("hace mal tiempo/the weather is bad,hizo mal tiempo/the weather was bad,"
          "hará mal tiempo/the weather will be bad"),
    pairs("está nublado/it is cloudy,estaba nublado/it was cloudy,"
          "estará nublado/it will be cloudy"),
)  # fmt: skip
_REGIONS = pairs(
    "en la montaña/in the mountains,en el norte/in the north,en el sur/in the south,"
    "en la costa/on the coast,en el valle/in the valley"
)
_WEATHER_DAYS = (pairs("hoy/today,ahora/now"), fr.PAST[:4], fr.AHEAD[:4])


@family(2)
def weather(d: Dice) -> Pair:
    """Ayer hacía mucho frío en Madrid."""
    row, t = d.pick(_WEATHER), d.between(0, 2)
    very = ("mucho ", "very ") if d.chance(0.3) else NONE
    left, right = row[t][0].replace("{}", very[0]), row[t][1].replace("{}", very[1])
    city = d.pick(lx.CITIES)
    where = d.pick(_REGIONS) if d.chance(0.4) else (f"en {city[0]}", f"in {city[1]}")
    pair = also((left, right), where if d.chance(0.7) else NONE)
    return say(also(pair, d.pick(_WEATHER_DAYS[t]), t != 0 and d.chance(0.5)))


@family(1)
def how_long_ago(d: Dice) -> Pair:
    """Hace dos semanas que no veo a Ana."""
    who = d.pick((su.PRONOUNS[0], su.PRONOUNS[8], su.PRONOUNS[10], *su.NAMES[:8]))
    second = su.other(d, who, su.NAMES + su.KIN)
    n, unit = d.between(2, 12), d.pick(pairs("días/days,semanas/weeks,meses/months,años/years"))
    span = counting.spanish(n, "f" if unit[0] == "semanas" else "m"), counting.english(n)
    see = es.verb("ver").tenses["pres"][who.p]
    have = en.finite("see", "perf", who.e)
    left = f"hace {span[0]} {unit[0]} que {join(who.es, 'no', see)} a {second.es}"
    return say((left, f"{who.en} {have.negative} seen {second.en} for {span[1]} {unit[1]}"))
