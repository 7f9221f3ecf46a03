"""Clients as they are: libraries of PyPI, curl as LibreTranslate's documentation shows it."""

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import ask, started

pytest.importorskip("fastapi", reason="needs the extra `serve`")

HOUSE, DOG = "The house is red.", "The dog is black."
CASA, PERRO = "La casa es roja.", "El perro es negro."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server of the released models."""
    with started() as (_, address):
        yield address


def curl(*arguments: str) -> Any:
    """What an address answers to the command as people type it; skips without one."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_libretranslatepy(url: str) -> None:
    client = pytest.importorskip("libretranslatepy", reason="needs libretranslatepy")
    api = client.LibreTranslateAPI(url)
    assert [one["code"] for one in api.languages()] == ["es", "en"]
    assert api.detect(HOUSE)[0]["language"] == "en"
    assert api.translate(HOUSE, "en", "es") == CASA
    assert api.translate(HOUSE, "en-US", "es-419") == CASA
    with pytest.raises(urllib.error.HTTPError, match="400"):
        api.translate(HOUSE, "fr", "en")


def test_deep_translator(url: str) -> None:
    library = pytest.importorskip("deep_translator", reason="needs deep-translator")
    for source, target in (("English", "Spanish"), ("en", "es"), ("auto", "es")):
        client = library.LibreTranslator(source, target, api_key="none", custom_url=url)
        assert client.translate(HOUSE) == CASA
    assert client.translate_batch([HOUSE, DOG]) == [CASA, PERRO]


def test_argos_translate(url: str) -> None:
    library = pytest.importorskip("argostranslate.apis", reason="needs argostranslate")
    api = library.LibreTranslateAPI(url)
    assert [one["code"] for one in api.languages()] == ["es", "en"]
    assert api.detect(HOUSE)[0]["language"] == "en"
    assert api.translate(HOUSE, "en", "es") == CASA


def test_requests_as_argos_translate_sends_them(url: str) -> None:
    """By POST all of them, as forms, also for the languages."""

    def post(path: str, **fields: str) -> Any:
        request = urllib.request.Request(url + path, urllib.parse.urlencode(fields).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    assert [one["code"] for one in post("languages", api_key="none")] == ["es", "en"]
    assert post("detect", q=HOUSE)[0]["language"] == "en"
    assert post("translate", q=HOUSE, source="en", target="es")["translatedText"] == CASA


def test_curl_with_json(url: str) -> None:
    """As LibreTranslate's documentation shows it."""
    fields = {"q": HOUSE, "source": "auto", "target": "es", "format": "text", "alternatives": 1,
              "api_key": ""}  # fmt: skip
    answer = curl("-X", "POST", f"{url}translate", "-H", "Content-Type: application/json",
                  "-d", json.dumps(fields))  # fmt: skip
    assert answer["translatedText"] == CASA
    assert answer["detectedLanguage"]["language"] == "en"
    assert len(answer["alternatives"]) == 1
    page = {"q": "<p class='green'>The house is red.</p>", "source": "en", "target": "es",
            "format": "html"}  # fmt: skip
    answer = curl(f"{url}translate", "-H", "Content-Type: application/json", "-d", json.dumps(page))
    assert answer == {"translatedText": f"<p class='green'>{CASA}</p>"}
    assert [one["code"] for one in curl(f"{url}languages")] == ["es", "en"]


def test_curl_with_a_form(url: str) -> None:
    form = ["-X", "POST", f"{url}translate", "-H", "accept: application/json"]
    answer = curl(*form, "-d", f"q={HOUSE}&source=en&target=es&format=text&api_key=xxxx")
    assert answer == {"translatedText": CASA}
    answer = curl(*form, "-F", f"q={HOUSE}", "-F", "source=en", "-F", "target=es")
    assert answer == {"translatedText": CASA}


@pytest.mark.parametrize("flag", ["--data-urlencode", "-F"])
@pytest.mark.parametrize(
    "texts",
    [
        [f"q={HOUSE}", f"q={DOG}"],
        [f"q[]={HOUSE}", f"q[]={DOG}"],
        [f"q[0]={HOUSE}", f"q[1]={DOG}"],
        [f"q={json.dumps([HOUSE, DOG])}"],
    ],
)
def test_a_form_with_several_texts_is_a_list(url: str, flag: str, texts: list[str]) -> None:
    fields = [part for field in (*texts, "source=en", "target=es") for part in (flag, field)]
    assert curl(f"{url}translate", *fields) == {"translatedText": [CASA, PERRO]}


def test_a_form_with_one_text_is_that_text(url: str) -> None:
    for text in ("[1]", '["a', "[]", "[The house is red.]"):
        fields = ["--data-urlencode", f"q={text}", "-d", "source=en", "-d", "target=en"]
        assert curl(f"{url}translate", *fields) == {"translatedText": text}
        assert ask(f"{url}translate", q=text, source="en", target="en") == {"translatedText": text}
    listed = curl(f"{url}translate", "-d", f"q[]={HOUSE}", "-d", "source=en", "-d", "target=es")
    assert listed == {"translatedText": [CASA]}
    refused = curl(f"{url}detect", "-d", "q=a", "-d", "q=b")
    assert refused == {"error": "Invalid request: expected q to be a string"}


def test_curl_with_a_file(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(HOUSE, encoding="utf-8")
    answer = curl("-X", "POST", f"{url}translate_file", "-F", f"file=@{tmp_path / 'a.txt'}",
                  "-F", "source=en", "-F", "target=es", "-F", "api_key=xxxx")  # fmt: skip
    with urllib.request.urlopen(answer["translatedFileUrl"], timeout=60) as file:
        assert file.read().decode() == CASA
