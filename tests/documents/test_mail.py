"""E-mail keeps all but its subject and its texts."""

import base64
import email
import email.policy
from collections.abc import Sequence

import pytest

from tests.documents.shouting import shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.translate import translate_file

PAGE = "<html><body><p>Hola <b>mundo</b></p></body></html>"
MAIL = f"""Received: from no.example by mx.example; Fri, 27 Nov 2026 10:00:00 +0100
From: =?utf-8?q?Ana_Mu=C3=B1oz?= <ana@no.example>
To: bob@no.example
Subject: RE: =?utf-8?q?La_reuni=C3=B3n?=
 =?utf-8?q?_del_lunes?=
MIME-Version: 1.0
Content-Type: multipart/mixed;
 boundary="no"

no
--no
Content-Type: multipart/alternative; boundary=alt

--alt
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Hola, Bob:

Te escribo para decirte que la reuni=C3=B3n del lunes se cambia al
martes a las diez, en la misma sala.
- mar
> > =C2=BFVienes?
--=20
Ana no
--alt
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: base64

{base64.b64encode(PAGE.encode()).decode()}
--alt--

--no
Content-Type: text/plain; name="no.txt"
Content-Disposition: attachment; filename="no.txt"

no
--no
Content-Type: message/rfc822

Subject: no

no
--no--
no
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mail_keeps_all_but_its_texts(end: str) -> None:
    content = MAIL.replace("\n", end).encode()
    assert translate_file(content, "a.eml", list) == content
    written = shouted(content, ".eml").encode()
    before, after = (
        email.message_from_bytes(each, policy=email.policy.default) for each in (content, written)
    )
    assert after["Subject"] == "RE: LA REUNIÓN DEL LUNES"
    assert [(k, v) for k, v in after.items() if k != "Subject"] == [
        (k, v) for k, v in before.items() if k != "Subject"
    ]
    text, page, attached, forwarded = [part for part in after.walk() if not part.is_multipart()]
    assert text.get_content().replace("\r\n", "\n") == (
        "HOLA, BOB:\n\nTE ESCRIBO PARA DECIRTE QUE LA REUNIÓN DEL LUNES SE CAMBIA AL MARTES A\n"
        "LAS DIEZ, EN LA MISMA SALA.\n- MAR\n> > ¿VIENES?\n-- \nAna no"
    )
    assert page.get_content().strip() == PAGE.replace("Hola", "HOLA").replace("mundo", "MUNDO")
    assert (attached.get_content().strip(), forwarded.get_content().strip()) == ("no", "no")
    lines = [
        [line for line in each.split(end.encode()) if b"no" in line] for each in (content, written)
    ]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    "header",
    ["", "Content-Type: text/plain; charset=us-ascii\n", "Content-Transfer-Encoding: 7bit\n",
     "MIME-Version: 1.0\nContent-Type: text/plain; charset=us-ascii; format=flowed\n",
     "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n"],
)  # fmt: skip
def test_a_text_says_in_which_encoding_it_is_written(header: str) -> None:
    def said(texts: Sequence[str]) -> list[str]:
        return ["¿Qué tal? €"] * len(texts)

    content = f"From: ana@no.example\n{header}Subject: Hi\nX-No: no\n\nHow are you?\n".encode()
    written = translate_file(content, "a.eml", said)
    message = email.message_from_bytes(written, policy=email.policy.default)
    assert not message.defects
    assert (message["Subject"], message["X-No"]) == ("¿Qué tal? €", "no")
    assert message.get_content() == "¿Qué tal? €\n"
    assert message.get_content_charset() == "utf-8"
    assert read(written, ".eml").passages[-1].text == "¿Qué tal? €"


def test_a_part_that_holds_the_translation_keeps_its_header() -> None:
    content = "From: a\nContent-Type: text/plain; charset=iso-8859-1\n\nel niño\n".encode("latin-1")
    written = translate_file(content, "a.eml", lambda texts: ["el año"])
    assert written == content.replace(b"ni\xf1o", b"a\xf1o")


@pytest.mark.parametrize("content", ["hola", "", "X: y\n\nhola", "Hola:\n\nhola"])
def test_what_is_no_mail_is_refused(content: str) -> None:
    with pytest.raises(UserError, match="expected an e-mail that begins with From:, To:, Subject"):
        read(content, ".eml")
