"""Quality checks: what is an issue and, more important, what is none."""

import pytest

from tests.processes import shipped
from transformer.translation.quality_checks import find_issues, total_severity


def codes(source: str, output: str, *protected: str) -> list[str]:
    return [str(issue) for issue in find_issues(source, output, protected)]


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("La ensalada.", "The salad salad salad.", ["repetition"]),
        ("Nunca vengas.", "Never ever never ever never ever.", ["repetition"]),
        ("La casa.", "The mainstremainstremainstremainstre.", ["repetition"]),
        ("LA CASA", "THE USAAAA", ["repetition"]),
        ("He was invited to conferences.", "He was invited to conferences.", ["copied source"]),
        ("Vino a la casa de mi madre ayer.", "Mother.", ["too short"]),
        ("Hola.", "...", ["empty"]),
        ("12.450,75 €", "", ["empty"]),
        ("Hola.", "Hello, it is a day that is not the same as what they were", ["too long"]),
        ("Nació en 1916.", "He was born in 19616.", ["number lost: 1916"]),
        ("It cost 1,000 a day.", "Costó un euro al día.", ["number lost: 1,000"]),
        ("The call is at 3:05 PM.", "La llamada es a las 15:05 14.000.", ["number added: 14.000"]),
        ("Vino la guerra.", "The war came in 1936.", ["number added: 1936"]),
        ("El <b>{name}</b>.", "The {name} <b></b>.", ["emptied: <b></b>"]),
        ("¥1.000", "👀1,000", ["sign lost: ¥"]),
        ("Hace -5 °F.", "It's -5 F.", ["sign lost: °"]),
        ("IBAN ES91 2100", "IBAN IS91 2100", ["number lost: ES91"]),
        ("Capítulos XV y XIX", "Chapters XV and 19th", ["number lost: XIX"]),
        ("World War XVI", "Guerra Mundial XVII", ["number lost: XVI"]),
        ("[Nota] y {así}", "[Note and {so}", ["sign lost: ]"]),
        ("Vino (ayer).", "He came (yesterday.", ["sign lost: )"]),
        ("El #1", "The 1", ["sign lost: #"]),
        ("Hola {name}.", "Hello name.", ["missing: {name}"]),
        ("Hola {name}.", "Hello {name} {name}.", ["doubled: {name}"]),
    ],
)
def test_an_issue_is_found(source: str, output: str, expected: list[str]) -> None:
    assert codes(source, output, *(["{name}"] if "{name}" in source else [])) == expected


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Cuesta 1.234,56 euros.", "It costs 1,234.56 euros."),
        ("Tengo 2 gatos.", "I have two cats."),
        ("Cuesta £3,50, o $5, un 10 %.", "It costs 3.50 pounds, or 5 dollars, ten per cent."),
        ("El IBAN ES91 a 20 ºC", "IBAN ES91 at 20 °C"),
        ("A las 17:30.", "At 5:30 p.m."),
        ("It ends at 2:30.", "Acaba a las dos y media."),
        ("In the 1930s.", "En los años 30."),
        ("En los años 30.", "In the 1930s."),
        ("No, no, no, no.", "No, no, no, no."),
        ("Muy, muy, muy bien.", "Very, very, very good."),
        ("Nooooo.", "Noooo."),
        ("La XVIII edición", "The 18th edition"),
        ("Del siglo XV al XVI", "From the 15th to the 16th century"),
        ("World War II", "La Segunda Guerra Mundial"),
        ("with an IV stand", "con un gotero"),
        ("En Dayton (Ohio).", "In Dayton, Ohio."),
        ("Juan Pérez García", "Juan Pérez García"),
        ("123", "123"),
        ("", ""),
        ("Hola {a} y {a}", "Hello {a} and {a}"),
        ("It was built in the 17th century.", "Se construyó en el siglo XVII."),
        ("$1.27 billion was lost.", "Se perdieron 1.270 millones de dólares."),
        ("Cierra a las 18.30.", "It closes at 6.30 p.m."),
        ("Abre de 7.00 a 10.30.", "It opens from 7 a.m. to 10:30 a.m."),
        ("Perdieron 3.000 millones.", "They lost three billion."),
        ("Some 150 people, then 230.", "Unas ciento cincuenta personas y doscientas treinta."),
        ("Ciento doce pasos y 250 más: 112.", "One hundred twelve, and two hundred fifty more."),
        ("thx 4 everything, see every1 l8r", "gracias x todo, nos vemos luego"),
        ("There were 45 of them, and 80,000 euros.", "Eran cuarenta y cinco, y ochenta mil euros."),
    ],
)
def test_what_is_right_is_no_issue(source: str, output: str) -> None:
    assert codes(source, output, *(["{a}"] if "{a}" in source else [])) == []


@pytest.mark.parametrize(
    ("source", "output", "number"),
    [
        ("It was built in the 17th century.", "Se construyó en el siglo XVI.", "17"),
        ("$1.27 billion was lost.", "Se perdieron 1.370 millones de dólares.", "1.27"),
        ("$200 billion was lost.", "Se perdieron 2000 millones de dólares.", "200"),
        ("200 millones de dólares.", "20 billion dollars.", "200"),
        ("Cierra a las 18.30.", "It closes at 7.30 p.m.", "18.30"),
        ("There were 45 of them.", "Eran cuarenta y seis.", "45"),
        ("There were 150 of them.", "Eran ciento sesenta.", "150"),
        ("Perdieron 3.000 millones.", "They lost four billion.", "3.000"),
        ("buy 4 apples", "compra manzanas", "4"),
        ("thx 4 the 5 eggs", "gracias por los huevos", "5"),
    ],
)
def test_a_number_that_differs_is_lost_in_whatever_form(
    source: str, output: str, number: str
) -> None:
    assert codes(source, output) == [f"number lost: {number}"]


@pytest.mark.parametrize(
    ("source", "lang", "output", "issue"),
    [
        ("Son £3.50.", "en", "It's £3,50.", "number lost: 3.50"),
        ("Pesa 1.5 kg.", "en", "It weighs 15 kg.", "number lost: 1.5"),
        ("Usa la v1.2.3.", "en", "Use v1,2.3.", "number lost: 1.2.3"),
        ("$1.2 billion", "es", "1.2000 millones de dólares", "number lost: 1.2"),
        ("Mide 5,280 ft.", "es", "Mide 5.280 de robo.", "sign lost: ft"),
        ("It closes at 2:30 p.m.", "es", "Cierra a las 2:30.", "number lost: 2:30 p.m."),
        ("Hace -5 grados.", "en", "It's 5 degrees.", "sign lost: -"),
        ("De 1.234,56 € a 5,5 km.", "en", "From €1,234.56 to 5.5 kilometres.", None),
        ("1,234 people, 12.05.2024", "es", "1.234 personas, 12.05.2024", None),
        ("From 9 a.m. to 2 p.m.", "es", "De 9 a 14 h.", None),
    ],
)  # fmt: skip
def test_a_number_keeps_its_value_its_sign_and_its_unit(
    source: str, lang: str, output: str, issue: str | None
) -> None:
    assert [str(f) for f in find_issues(source, output, lang=lang)] == ([issue] if issue else [])


def test_translations_by_people_are_hardly_ever_found_to_have_issues() -> None:
    pairs = shipped("train")
    wrong = [
        (es, en)
        for es, en in pairs
        if find_issues(es, en, lang="en") or find_issues(en, es, lang="es")
    ]
    assert len(wrong) <= len(pairs) // 1000, wrong[:20]


def test_more_and_worse_issues_weigh_more() -> None:
    one, other = (
        find_issues("Nació en 1916.", "Born."),
        find_issues("Nació en 1916 y 1920.", "Born."),
    )
    assert 0 == total_severity(()) < total_severity(one) < total_severity(other)
