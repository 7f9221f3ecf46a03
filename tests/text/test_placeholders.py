"""What is protected in a text, and that it comes back unchanged."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import SLOTS
from transformer.text.placeholders import ProtectedSpan, find_protected, restore_slots

FOUND = [  # a text and what is protected in it
    ("Visite https://www.ejemplo.es/a?b=1&c=2.", ["url https://www.ejemplo.es/a?b=1&c=2"]),
    ("(véase http://es.wikipedia.org/wiki/Tilo_(árbol)).",
     ["url http://es.wikipedia.org/wiki/Tilo_(árbol)"]),
    ("Está en www.ejemplo.es, creo.", ["url www.ejemplo.es"]),
    ("Go to example.com/docs/intro or example.org!",
     ["url example.com/docs/intro", "url example.org"]),
    ("«https://a.es/x»…", ["url https://a.es/x"]),
    ("FTP://files.example.com:21/x", ["url FTP://files.example.com:21/x"]),
    ("http://... no es nada", []),
    ("Escriba a ana.perez+web@correo.ejemplo.es.", ["email ana.perez+web@correo.ejemplo.es"]),
    ("Hello %1$s, %s and %d and %5.2f and %(name)s!",
     ["placeholder %1$s", "placeholder %s", "placeholder %d", "placeholder %5.2f",
      "placeholder %(name)s"]),
    ("{0} y {nombre} y {} y {{person.name}} y {{ a b }}",
     ["placeholder {0}", "placeholder {nombre}", "placeholder {}", "placeholder {{person.name}}",
      "placeholder {{ a b }}"]),
    ("${user.id} #{x} $total :first_name",
     ["placeholder ${user.id}", "placeholder #{x}", "placeholder $total",
      "placeholder :first_name"]),
    ("El 100 % de los casos, 5 % desde ayer, 50%de más.", ["number 100", "number 5", "number 50"]),
    ("Cuesta US$ 5 o U$S 7 :D y :p", ["number 5", "number 7"]),
    ("Esto <b>es</b> un <a href=\"x.html\">enlace</a><br/>.",
     ["tag <b>", "tag </b>", 'tag <a href="x.html">', "tag </a>", "tag <br/>"]),
    ("<0>uno</0>", ["tag <0>", "tag </0>"]),
    ("3 < 4 y 5 > 2", ["number 3", "number 4", "number 5", "number 2"]),
    ("Use `ls -l 3` y `x.", ["code `ls -l 3`"]),
    ("Son 1.234,56 o 3; a las 12:30 del 2024-05-01, 15%.",
     ["number 1.234,56", "number 3", "number 12:30", "number 2024-05-01", "number 15%"]),
    ("El B2, la 3D y el 1º.", []),
    ("Abre /usr/share/doc, ~/a/b.txt o C:\\Casa\\x.",
     ["url /usr/share/doc", "url ~/a/b.txt", "url C:\\Casa\\x"]),
    ("Firma: ____ Día: __/__ Cap. I ...... 5, pues.... y/o",
     ["blank ____", "blank __/__", "blank ......", "number 5"]),
    ("and/or, a.m./p.m., p. ej. y etc.", []),
    (f"Firma: {'aBc+/' * 20}== (fin) {'a' * 63}", [f"token {'aBc+/' * 20}=="]),
    ("El commit da39a3ee5e6b4b0d3255bfef95601890afd80709, o ES9121000418450200051332.",
     ["token da39a3ee5e6b4b0d3255bfef95601890afd80709", "token ES9121000418450200051332"]),
    ("La clave es 550e8400-e29b-41d4-a716-446655440000: pásame key=eyJhbGciOi5cCI6Ikp",
     ["token 550e8400-e29b-41d4-a716-446655440000", "token key=eyJhbGciOi5cCI6Ikp"]),
    ("La tarjeta 4111 1111 1111 1111 y el IBAN ES91 2100 0418 4502 0005 13, no 10 000 000",
     ["token 4111 1111 1111 1111", "token ES91 2100 0418 4502 0005 13", "number 10", "number 000",
      "number 000"]),
    ("Abra «informe_final.pdf», FOTO.JPG, app.min.js o datos.tar.gz. Luego, cierre.",
     ["url informe_final.pdf", "url FOTO.JPG", "url app.min.js", "url datos.tar.gz"]),
    ("Fin.Pdfs y texto.Por eso", []),
    ("Pulse Ctrl+Alt+Supr, Mayús + F10 o Alt.",
     ["placeholder Ctrl+Alt+Supr", "placeholder Mayús + F10"]),
    ("Ese B2B-Marketing-Management, el post-COVID-19-2020 y el 978-84-376-0494-7",
     ["number 19-2020", "number 978-84-376-0494-7"]),
    ("Te dije que no.Y ya está: Sr.López/Ruiz", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_what_is_to_be_copied_is_found(text: str, expected: list[str]) -> None:
    assert [
        f"{span.kind} {text[span.start : span.end]}" for span in find_protected(text)
    ] == expected


def test_a_span_says_where_it_is() -> None:
    assert find_protected("a %s b") == (ProtectedSpan(2, 4, "placeholder"),)


def test_slots_are_put_back_in_any_order_and_unknown_ones_left_out() -> None:
    originals = ("%s", "%s", "www.a.es")
    assert restore_slots(f"{SLOTS[2]}: {SLOTS[1]}, {SLOTS[0]}", originals) == "www.a.es: %s, %s"
    assert restore_slots(f"a{SLOTS[5]}b", ("x",)) == "ab"


PARTS = st.one_of(
    st.text(max_size=8), st.sampled_from([*(text for text, _ in FOUND), *SLOTS, *"<>{}%$`@./:1 ()"])
)


@given(st.lists(PARTS, max_size=12).map("".join))
def test_spans_are_in_order_and_do_not_overlap(text: str) -> None:
    spans = find_protected(text)
    assert all(span.end <= other.start for span, other in itertools.pairwise(spans))
    assert all(span.start < span.end for span in spans)


@pytest.mark.parametrize(
    "part",
    ["a", "a.", "1.", "1", "1,1.a", "`", "<a ", "</", "{{", "${", "%", "%(", "a@", "a@a.", "-.",
     "http://", "www.", "www.a(", ")", "a.b:1", "$", ":a", "a b ", "{a", "<1", "@", "%1$", ":a_",
     ".", "_", "__/", "/a", "a:\\", "{\\", "{%", "<%", "{#", "[b", "[a=", "[a a=", "[[", "[[a|",
     "*a", "''a", "==a", "_a ", "a::", "::", "1:", "SELECT ", "SELECT a FROM a ", "if (", "a(",
     "--a", "--a ", "%a", "yy/", "&a", "a{", "a{a:", "{a,plural,", "{a,select,a{", "}a{", "\"a",
     "git ", "git -", "\n", "\ngit -", "\nif (=", "@a.", "@a", "#", "#a", "10.1000/", "text/",
     "color:", "color:a;", "px", "1px", ">", "\x1b["],
)  # fmt: skip
def test_finding_takes_linear_time(part: str) -> None:
    for text in (part * 60_000, "www." + part * 60_000 + "!", part * 60_000 + "%s"):
        started = time.process_time()
        find_protected(text)
        assert time.process_time() - started < 2
