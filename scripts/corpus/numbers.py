"""Amounts, clock times, dates, and temperatures, in the conventions of Spanish and of English.

    python -m scripts.corpus.numbers --lines 6000 --output numbers.tsv

A sum of money, the time of day, or a date often stands alone: in a cell, a price tag, a heading.
Text has few such lines, so that a model mistakes what has no words around it. Each kind here is a
few lines of grammar; the numbers are drawn from `--seed`.
"""

import random
import sys
from collections.abc import Iterator

from transformer.command import Parser, run_command
from transformer.config import SentencePair
from transformer.corpus.readers import tsv_path, write_tsv

SWAP_SEPARATORS = str.maketrans(".,", ",.")
HOURS = (
    ("la una", "one"), ("las dos", "two"), ("las tres", "three"), ("las cuatro", "four"),
    ("las cinco", "five"), ("las seis", "six"), ("las siete", "seven"), ("las ocho", "eight"),
    ("las nueve", "nine"), ("las diez", "ten"), ("las once", "eleven"), ("las doce", "twelve"),
)  # fmt: skip
MINUTES = (
    ("{}", "{} o'clock"), ("{} en punto", "{} o'clock sharp"),
    ("{} y cuarto", "a quarter past {}"), ("{} y media", "half past {}"),
    ("{} menos cuarto", "a quarter to {}"), ("{} y cinco", "five past {}"),
    ("{} y diez", "ten past {}"), ("{} y veinte", "twenty past {}"),
    ("{} y veinticinco", "twenty-five past {}"), ("{} menos cinco", "five to {}"),
    ("{} menos diez", "ten to {}"), ("{} menos veinte", "twenty to {}"),
    ("{} menos veinticinco", "twenty-five to {}"),
)  # fmt: skip
TIME_FRAMES = (
    ("{}", "{}"), ("a {}", "at {}"), ("son {}", "it's {}"), ("Son {}.", "It's {}."),
    ("Ya son {}.", "It's already {}."), ("Nos vemos a {}.", "See you at {}."),
    ("Llegué a {}.", "I arrived at {}."), ("El tren sale a {}.", "The train leaves at {}."),
    ("a {} de la mañana", "at {} in the morning"), ("a {} de la tarde", "at {} in the afternoon"),
    ("Te espero a {}.", "I'll wait for you at {}."), ("desde {}", "since {}"),
    ("La clase empieza a {}.", "The class starts at {}."), ("casi {}", "almost {}"),
)  # fmt: skip
MONTHS = (
    ("enero", "January"), ("febrero", "February"), ("marzo", "March"), ("abril", "April"),
    ("mayo", "May"), ("junio", "June"), ("julio", "July"), ("agosto", "August"),
    ("septiembre", "September"), ("octubre", "October"), ("noviembre", "November"),
    ("diciembre", "December"),
)  # fmt: skip
FRAMES = (
    ("{}", "{}"), ("Total: {}", "Total: {}"), ("Precio: {}", "Price: {}"),
    ("Son {}.", "That's {}."), ("Cuesta {}.", "It costs {}."), ("por {}", "for {}"),
    ("El precio es de {}.", "The price is {}."), ("Importe: {}", "Amount: {}"),
    ("desde {}", "from {}"), ("Pagué {}.", "I paid {}."), ("IVA incluido: {}", "VAT included: {}"),
    ("Saldo: {}", "Balance: {}"), ("un descuento de {}", "a discount of {}"),
)  # fmt: skip


def insert(
    pair: SentencePair, frames: tuple[SentencePair, ...], rng: random.Random
) -> SentencePair:
    """Insert both sides into a frame; as often as not into the first, which is bare."""
    spanish, english = frames[0] if rng.random() < 0.5 else rng.choice(frames)
    return spanish.format(pair[0]), english.format(pair[1])


def amount(rng: random.Random) -> SentencePair:
    """Draw a sum of money: `12.450,75 €` and `€12,450.75`."""
    decimals = rng.choice((0, 2, 2))
    english, sign = f"{10 ** rng.uniform(0, 7):,.{decimals}f}", rng.choice("€€$£")
    spanish = f"{english.translate(SWAP_SEPARATORS)} {sign}"
    return insert((spanish, sign + english), FRAMES, rng)


def percentage(rng: random.Random) -> SentencePair:
    """Draw a percentage: `3,5 %` and `3.5%`."""
    share = f"{rng.uniform(0, 100):.{rng.choice((0, 1, 2))}f}"
    spanish = share.translate(SWAP_SEPARATORS) + rng.choice((" %", "%"))
    return insert((spanish, share + "%"), FRAMES[:1] + FRAMES[-1:], rng)


def temperature(rng: random.Random) -> SentencePair:
    """Draw a temperature of either scale: `-5,5 °C` and `-5.5 °C`."""
    degrees = f"{rng.uniform(-40, 110):.{rng.choice((0, 0, 1))}f} °{rng.choice('CF')}"
    return degrees.translate(SWAP_SEPARATORS), degrees


def clock_time(rng: random.Random) -> SentencePair:
    """Draw a time of day in words: `las cuatro menos cuarto` and `a quarter to four`."""
    hour, minute = rng.choice(HOURS), rng.choice(MINUTES)
    spanish, english = minute[0].format(hour[0]), minute[1].format(hour[1])
    before, after = rng.choice(TIME_FRAMES)
    if hour[0].startswith("la "):
        before = before.replace("Son", "Es").replace("son", "es")
    return before.format(spanish), after.format(english)


def date(rng: random.Random) -> SentencePair:
    """Draw a date: `3 de mayo de 2024` and `May 3, 2024`."""
    day, year, (spanish, english) = rng.randint(1, 28), rng.randint(1450, 2050), rng.choice(MONTHS)
    if rng.random() < 0.3:
        return f"el {day} de {spanish}", f"on {english} {day}"
    return f"{day} de {spanish} de {year}", f"{english} {day}, {year}"


KINDS = (amount, amount, amount, percentage, temperature, clock_time, clock_time, date)


def pairs(n_lines: int, rng: random.Random) -> Iterator[SentencePair]:
    """Draw so many pairs, of all kinds by turns."""
    return (KINDS[i % len(KINDS)](rng) for i in range(n_lines))


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    flags = Parser(description=__doc__)
    add = flags.add_argument
    add("--lines", type=int, default=6000, metavar="N", help="pairs to write (default: 6000)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--output", required=True, type=tsv_path, metavar="FILE.tsv", help="the file to write")
    args = flags.parse_args(argv)
    drawn = pairs(args.lines, random.Random(args.seed))
    return run_command(lambda: write_tsv(args.output, ("es", "en"), drawn), "numbers")


if __name__ == "__main__":
    sys.exit(main())
