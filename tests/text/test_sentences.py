"""Sentences: where they end, and that no character is lost on the way."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import UserError
from transformer.text.glossary import TermSpan
from transformer.text.sentences import Segment, split_long, split_sentences

# A bar stands where a sentence is to end.
SPANISH = """
¡Hola, Mundo! |¿Cómo estás?
Hola Mundo! |Cómo estás?
Hola, ¿cómo estás?
hablas espanol?
hola. |como estas? |bien, gracias
Fin de la frase. |otra frase en minúscula.
El Sr. García y la Dra. López llegaron. |La Sra. Ruiz no.
Vive en EE. UU. desde 1999. |Trabaja allí.
Volvió a EE. UU. |Después se mudó.
Los EE.UU. firmaron el acuerdo. |México también.
Compra fruta, p. ej. manzanas, peras, etc. y vuelve.
Manzanas, peras, etc. |Luego volvió.
Cuesta 1.000,50 euros. |El número pi es 3.14 o 3,14.
J. R. R. Tolkien nació en 1892. |Escribió El hobbit.
¿Qué? |¿Quién? |¡Nadie! |¿Estás seguro?
¡¿Qué haces?! |Nada.
No sé... |Tal vez mañana.
No sé… quizá venga mañana.
Y entonces... se fue. |No volvió.
«No puedo ir.» |Eso dijo ella.
«Primera frase. |Segunda frase. |¿Tercera?» |Fin.
«¿Vienes?», preguntó Juan. |Nadie respondió.
—¿Vienes? —preguntó Juan. |—No —dijo ella.
—¡Ah! mi estimado señor, eso no.
Dijo: “Ya basta.” |Y se marchó.
La cita es a las 3 p. m. en la sala. |Trae el informe.
La cita fue a las 3 p. m. |Vino tarde.
Véase la pág. 45, cap. 3 y art. 12 del código. |Gracias.
Todo va bien. |Él se fue.
Me dijo que no. |Ahora duerme.
Ud. tiene razón. |Uds. no.
El núm. 5 de la Av. Libertador está cerrado.
El prof. Martínez, Ph. D., habló. |Todos aplaudieron.
Nació el 5 a. C. en Roma. |Murió joven.
Felipe II reinó hasta 1598. |Felipe III le sucedió.
Acabó en el s. XVI. |Empezó otra época.
Escriba a ana.perez@ejemplo.es o visite www.ejemplo.es. |Gracias.
(Esto es un paréntesis.) |Esto no.
Es un gas.[1] |Arde.
Me encanta 😀. |¿Y a ti? 😀
""".strip().splitlines()

ENGLISH = """
Mr. Smith met Dr. Jones at St. Mary's. |Mrs. Brown left.
He lives in the U.S. and works for Acme Inc. in Boston. |She doesn't.
I work for the U.S. Government. |I live in the U.S. |How about you?
We met at 3 p.m. on Monday. |It rained.
We left at 3 p.m. |It rained.
Pi is 3.14 and a lot costs $1,000.50. |Fine.
J. R. R. Tolkien wrote it. |C. S. Lewis liked it.
Use a tool, e.g. a hammer, i.e. the big one, etc. |Then stop.
"Are you coming?" he asked. |"No!" |She left.
“It is late,” he said. |“Go home.” |She did.
He said (it was late.) and left.
What do you see? |Posted like silent sentinels all around the town, stand thousands of men.
CC Committee: meets every day, each time hosted by a different person.
Hello %1$s, good to see you again!
This person name is {{person.name}} and is living in {{person.city}}
See https://example.org/a.b?c=d. |It works.
Visit example.com or mail me@example.co.uk for v2.0.1 of Node.js. |Thanks!
She has a Ph.D. from M.I.T. and an M.B.A. too.
No. 5 is alive. |Is it No. 5? |No. |I am sure. |It is vol. IV of six.
See fig. 3 on p. 12, vol. 2, by Smith et al. in 1990. |Good.
Jan. 5 was cold. |Feb. was not.
Gen. Lee and Lt. Col. Gray met Sen. Hill. |They talked.
Wow!!! |Really??? |Yes.
I am 25. |You are 30.
Yahoo! is a company. |So is Google.
It was me and I. |Then you came.
Plan B. |It works.
A. The first item
你好。|今天天气很好。
Roger Stone
never
😀
""".strip().splitlines()

CHARACTERS = [*"aBñé .!?…¿¡«»“”\"'()1\n\r\t。-—", "\r\n", "\u00a0", "\u2028", "\u0301", "\u200d"]
WORDS = ["Sr.", "EE. UU.", "p. ej.", "3.14", "...", "👍🏽", "你好。", "\x1c", "\x85", "\ud83d"]
# A mark that a line may begin with, or half of "[ ]".
LIST_MARK = re.compile(r"\W{1,6}|\W?\w{1,4}[.)\]]|(?:\d{1,2}\.){2,4}")
texts = st.text() | st.lists(st.sampled_from(CHARACTERS + WORDS)).map("".join)


def sentences(text: str, lang: str = "es") -> list[str]:
    return [part.text for part in split_sentences(text, lang) if part.is_sentence]


def pieces(text: str, limit: int) -> list[str]:
    return [part.text for part in split_long(text, lambda t: len(t) <= limit) if part.is_sentence]


def check_parts(parts: tuple[Segment, ...], text: str) -> None:
    assert "".join(part.text for part in parts) == text
    for part in parts:
        assert part.text != ""
        if part.is_sentence:
            assert part.text == part.text.strip()
        else:
            assert all(LIST_MARK.fullmatch(word) for word in part.text.split())


@pytest.mark.parametrize("case", SPANISH)
def test_spanish_sentences_end_where_a_reader_ends_them(case: str) -> None:
    assert sentences(case.replace("|", "")) == [part.strip() for part in case.split("|")]


@pytest.mark.parametrize("case", ENGLISH)
def test_english_sentences_end_where_a_reader_ends_them(case: str) -> None:
    assert sentences(case.replace("|", ""), "en") == [part.strip() for part in case.split("|")]


def test_a_language_without_rules_uses_those_of_both() -> None:
    text = "Plan B. It works. Plan C. Es bueno."
    assert sentences(text, "xx") == ["Plan B.", "It works.", "Plan C.", "Es bueno."]


@given(texts, st.sampled_from(["es", "en", "xx"]))
def test_segments_joined_are_the_text(text: str, lang: str) -> None:
    check_parts(split_sentences(text, lang), text)


@given(texts, st.integers(1, 12))
def test_pieces_joined_are_the_text_and_each_fits(text: str, limit: int) -> None:
    parts = split_long(text, lambda t: len(t) <= limit)
    check_parts(parts, text)
    assert all(len(part.text) <= limit for part in parts if part.is_sentence)


@given(texts)
def test_no_sentence_holds_a_line_break(text: str) -> None:
    assert all(len(sentence.splitlines()) == 1 for sentence in sentences(text))


def test_the_empty_text_has_no_segments() -> None:
    assert split_sentences("", "es") == ()
    assert split_long("", lambda t: False) == ()


@pytest.mark.parametrize("blank", [" ", "\t", "\r\n", "\u00a0\u2003\n\n "])
def test_blank_text_is_one_gap(blank: str) -> None:
    gap = (Segment(text=blank, is_sentence=False),)
    assert split_sentences(blank, "es") == gap
    assert split_long(blank, lambda t: False) == gap


def test_margins_and_line_breaks_are_kept_as_gaps() -> None:
    parts = [" ", "Uno.", " ", "Dos", "\r\n\r\n\t", "tres\u00a0cuatro", " "]
    assert split_sentences("".join(parts), "es") == tuple(
        Segment(text=text, is_sentence=i % 2 == 1) for i, text in enumerate(parts)
    )


@pytest.mark.parametrize(
    "mark",
    ["- ", "* ", "+  ", "• ", "→ ", "# ", "###### ", "> ", "> > ", "- [ ] ", "- [x] ", "1. ",
     "12) ", "(3) ", "1.2. ", "b) ", "iv) ", "> - 2.\t", "☐ "],
)  # fmt: skip
def test_the_marks_of_a_list_stay_outside_the_sentence(mark: str) -> None:
    parts = split_sentences(f"{mark}Comprar pan. Leche", "es")
    assert [part.text for part in parts] == [mark, "Comprar pan.", " ", "Leche"]
    assert sentences(f"Uno.\n  {mark}Dos") == ["Uno.", "Dos"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("I. THE BURIAL OF THE DEAD", ["THE BURIAL OF THE DEAD"]),
        ("i. The house", ["The house"]),
        ("XIV. «La casa»", ["«La casa»"]),
        ("Y. La casa", ["La casa"]),
        ("O. R. Pérez", ["O. R. Pérez"]),
        ("y. luego", ["y. luego"]),
        ("I. am. here", ["I. am. here"]),
        ("Sign up | Log in | Help", ["Sign up", "Log in", "Help"]),
        ("• First • Second", ["First", "Second"]),
        ("Home > Shoes for Men › Boots » New", ["Home", "Shoes for Men", "Boots", "New"]),
        ("Dijo «sí » Y calló", ["Dijo «sí » Y calló"]),
        ("a > b and x > Y", ["a > b and x > Y"]),
        ("a|b", ["a|b"]),
    ],
)
def test_the_number_of_a_heading_stays_outside_and_steps_are_apart(
    line: str, said: list[str]
) -> None:
    assert sentences(line, "en") == said


def test_in_one_line_each_item_is_a_sentence() -> None:
    listed = "1. Primero, abra la tapa. 2. Luego, cierre la tapa."
    assert sentences(listed) == ["Primero, abra la tapa.", "2. Luego, cierre la tapa."]
    assert sentences("1) Open it. 2) Close it.", "en") == ["Open it.", "2) Close it."]


@pytest.mark.parametrize(
    "text",
    ["-Hola", "— Hola, dijo.", "– Sí", "3.5 millones", "1999. Un año.", "A. Smith vino.", "#hola",
     "(a) veces", "****** Hola", "y) ", "- ", "1.", "Pan - leche", "Sr. Gil"],
)  # fmt: skip
def test_what_only_looks_like_a_list_is_a_sentence(text: str) -> None:
    assert sentences(text)[0].split()[0] == text.split()[0]


def test_a_very_long_sentence_is_several_but_for_what_is_kept() -> None:
    address, term = "a" * 2500, TermSpan(995, 1005, "x")
    text = f"{'b' * 990} {'c ' * 20}{address} {'d' * 3000}"
    start = text.index(address)
    parts = split_sentences(text, "es", [(start, start + 2500)], [term])
    assert "".join(part.text for part in parts) == text
    (whole,) = (part for part in parts if part.kept)
    assert whole.text[slice(*whole.kept[0])] == address
    assert sum(len(part.terms) for part in parts) == 1
    others = [len(part.text) for part in parts if part.is_sentence and not part.kept]
    assert 500 < max(others) <= 1000
    assert [part.text for part in split_sentences("e" * 1000, "es")] == ["e" * 1000]


def test_a_long_sentence_is_cut_at_clauses() -> None:
    assert pieces("una frase, y otra", 100) == ["una frase, y otra"]
    text = "Fui al mercado y compré pan porque tenía hambre; pero no había naranjas ni limones."
    assert pieces(text, 50) == [
        "Fui al mercado y compré pan porque tenía hambre;",
        "pero no había naranjas ni limones.",
    ]
    text = "we walked to the shore and the boat had gone"
    assert pieces(text, 30) == ["we walked to the shore", "and the boat had gone"]


def test_a_sentence_without_clauses_is_cut_at_the_white_space_nearest_the_middle() -> None:
    assert pieces("uno dos tres cuatro", 12) == ["uno dos", "tres cuatro"]
    assert pieces("y abcdefghij klm", 14) == ["y abcdefghij", "klm"]


def test_four_hundred_words_without_a_full_stop_are_cut_into_balanced_pieces() -> None:
    parts = split_long("palabra " * 400, lambda t: len(t.split()) <= 120)
    assert [len(part.text.split()) for part in parts if part.is_sentence] == [100] * 4


def test_a_word_is_cut_only_when_it_does_not_fit_alone() -> None:
    assert pieces("corto " + "a" * 40, 20) == ["corto", "a" * 20, "a" * 20]
    assert {len(piece) for piece in pieces("a" * 5000, 300)} == {156, 157}


@pytest.mark.parametrize("drawn", ["e\u0301", "👩\u200d👧", "👍🏽", "❤\ufe0f", "\ud83d\ude00"])
def test_what_shows_as_one_character_is_not_cut(drawn: str) -> None:
    limit = len(drawn) + 1
    assert pieces(drawn * 4, limit) == [drawn] * 4
    assert pieces("\u0301" * 4, 2) == ["\u0301\u0301"] * 2  # accents alone are cut to fit


def test_a_character_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(UserError, match="'h' does not fit: raise max_len"):
        split_long("hola", lambda t: False)


@pytest.mark.parametrize("unit", ["a", " ", ".", ". ", '"', "。", "Sr. ", "¿Sí? ", "1. ", "\n"])
def test_time_grows_with_the_length_and_not_with_its_square(unit: str) -> None:
    text = unit * 50_000  # a quadratic search of this takes over a minute
    start = time.process_time()
    check_parts(split_sentences(text, "es"), text)
    check_parts(split_long(text, lambda t: len(t) <= 500), text)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.450,75 €", True),
        ("$5", True),
        ("a", True),
        ("1.234,56", False),
        ("€", False),
        ("½", False),
    ],
)
def test_a_sum_of_money_says_something_and_a_mere_number_does_not(
    text: str, expected: bool
) -> None:
    assert Segment(text=text, is_sentence=True).has_words is expected
