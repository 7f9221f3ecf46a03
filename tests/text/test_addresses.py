"""What of addresses and moments is copied, and what stands before a line of a chat."""

import random

import pytest

from transformer.text.placeholders import find_protected
from transformer.text.sentences import split_sentences

KEPT = (
    "12 High Street, London SW1A 1AA", "5 Main St., Springfield, IL 62701", "221B Baker Street",
    "Avda. de la Paz, s/n", "C/ de la Luna, 5, 3.º A, 28013 Madrid", "Calle Mayor 12",
    "Plaza de España, 3", "Apdo. 123", "Apartado de Correos 123", "P.O. Box 12",
    "Ann Example <ann@example.com>", "Ana Pérez de la Cruz <a@b.es>", '"Li, Bo" <bo@b.org>',
    "10:00:00 +0100", "Mon, 12 Mar 2024 10:00:00 +0100", "2024-03-12T10:00:00Z", "21:15:03",
    "10.29322/IJSRP.X.X.2018.pXXXX", "10.1000/xyz123", "2001:db8::1", "fe80::1:2", "::1",
)  # fmt: skip
PREFIXES = (
    "3/12/24, 9:15 PM - Ann: ", "12/3/24, 21:15 - Luis Ruiz: ", "[12/3/24, 21:15:03] Ana: ",
    "12/3/24, 21:15 - +34 600 12 34: ", "[21:15] <ann> ", "21:15 <ann> ", "[12.03.24 21:25] ",
    "Ann Example, [12.03.24 21:25]: ", "3/12/24, 9:15 PM - ", "> > ",
)  # fmt: skip
TEXTS = ("Hi, how are you?", "no sé", "It is at 5. Come!", "12 people came.", "Messages are safe.")


def test_what_is_an_address_is_kept_whole_wherever_it_stands() -> None:
    chance = random.Random(5)
    words = ["the", "la", "house", "is", "at", "vive", "en", "y", "and", "today", "hoy"]
    for kept in KEPT:
        for _ in range(50):
            before, after = (
                " ".join(chance.choices(words, k=chance.randrange(1, 6))).lower() for _ in "ab"
            )
            text = f"{before} {kept}{chance.choice([' ', ', ', ' (x) '])}{after}"
            assert kept in [text[s.start : s.end] for s in find_protected(text)], text


@pytest.mark.parametrize(
    "text",
    ["La calle está cerrada.", "In the street 5 people met.", "std::vector", "a las 10:30", "::",
     "El camino es largo, 5 km.", "A < b@c", "The box 12", "3:16"],
)  # fmt: skip
def test_what_is_none_is_not(text: str) -> None:
    kinds = {span.kind for span in find_protected(text)} - {"number", "language"}
    assert not kinds, kinds


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_line_of_a_chat_reads_as_without_its_stamp(prefix: str) -> None:
    for text in TEXTS:
        kept = [(s.start, s.end) for s in find_protected(prefix + text) if s.kind != "number"]
        first, *others = split_sentences(prefix + text, "en", kept)
        assert first.text == prefix
        assert not first.is_sentence
        assert [o.text for o in others] == [o.text for o in split_sentences(text, "en")]


def test_a_stamp_alone_has_no_sentence_and_a_sentence_is_no_stamp() -> None:
    assert not any(s.is_sentence for s in split_sentences("Ann Example, [12.03.24 21:25]", "en"))
    for text in ("12/3/24, 21:15 is fine", "Note: 5 came", "Ann said: hi", "10:30 is late"):
        assert [s.text for s in split_sentences(text, "en")] == [text]
