"""reStructuredText keeps all but its prose."""

from collections.abc import Sequence

import pytest

from tests.documents.shouting import raised, shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.translate import translate_file

core = pytest.importorskip("docutils.core", reason="needs the extra `files`")

PAGE = r"""=========
La casa
=========

El perro
========

La casa es *grande* y **roja**, ``no`` mide
|no| metros [1]_. Véase :ref:`no`, :math:`a_b` y `la página <http://no.no>`_.

- El gato
  negro.
- La luna.

.. note:: El mar es azul
   y hondo.

.. code-block:: python

   print("no")

::

   no

:autor: Ana no

Agua
  La lluvia.

.. [1] Una nota.
.. |no| replace:: no
.. figure:: no.png
   :alt: no

   El mapa.

.. comentario no

+----+
| no |
+----+
"""
SAID = (
    "La casa El perro es grande y roja mide metros Véase la página gato negro luna mar azul hondo "
    "Ana Agua lluvia Una nota mapa"
)


def outline(text: str) -> list[str]:
    """The elements of a page, in order, as docutils publishes them."""
    settings = {"report_level": 5, "output_encoding": "unicode"}
    tree = core.publish_doctree(text, settings_overrides=settings)
    return [type(node).__name__ for node in tree.findall() if type(node).__name__ != "Text"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_page_keeps_all_but_its_prose(end: str) -> None:
    content = PAGE.replace(":autor: Ana no", ":autor: Ana")
    expected = raised(content.replace("mide\n", "mide ").replace("gato\n  ", "gato "), SAID)
    expected = expected.replace("AZUL\n   Y", "AZUL Y")
    written = shouted(content.replace("\n", end), ".rst")
    assert written == expected.replace("\n", end)
    assert translate_file(content.encode(), "a.rst", list) == content.encode()
    assert outline(written) == outline(content)


def test_a_translation_brings_no_markup_and_fits_its_title() -> None:
    said = {"Casa": "The big *house*", "mar": "- a*b_ |c| `d`", "tú": "1. you"}

    def translate(texts: Sequence[str]) -> list[str]:
        return [said[text] for text in texts]

    content = b"====\nCasa\n====\n\nmar\n\n" + "tú\n".encode()
    written = translate_file(content, "a.rst", translate).decode()
    assert written == (
        "=================\nThe big \\*house\\*\n=================\n\n"
        "\\- a\\*b\\_ \\|c\\| \\`d\\`\n\n\\1. you\n"
    )
    assert outline(written) == outline(content.decode())


def test_nothing_outside_the_file_is_read() -> None:
    content = ".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\nhola\n"
    assert [passage.text for passage in read(content, ".rst").passages] == ["hola"]
    assert shouted(content, ".rst") == content.replace("hola", "HOLA")


def test_other_languages_of_documentation_are_refused_by_name() -> None:
    with pytest.raises(UserError, match="an AsciiDoc document, which is converted"):
        read("= hola", ".adoc")
