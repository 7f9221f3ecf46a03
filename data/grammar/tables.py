"""Small tables written as text."""


def words(text: str) -> tuple[str, ...]:
    """Words with blanks between."""
    return tuple(text.split())


def pairs(text: str) -> list[tuple[str, str]]:
    """Pairs from entries `Spanish/English` with commas between; an entry may have one side only."""
    rows = (row.strip().partition("/") for row in text.split(",") if row.strip())
    return [(spanish, english) for spanish, _, english in rows]


def both(text: str) -> list[tuple[str, str]]:
    """Pairs from entries `Spanish/English`; an entry without a slash is the same in both."""
    return [(spanish, english or spanish) for spanish, english in pairs(text)]


def lines(text: str) -> tuple[str, ...]:
    """The lines of an indented block."""
    return tuple(row.strip() for row in text.strip().splitlines())
