"""The LibreTranslate API: what it refuses, and goes on."""

import asyncio
import gzip
import json
import logging
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import ES_EN, TEXT, Call
from transformer import cli
from transformer.config import UserError
from transformer.serving.authorization import new_api_key


def refused(answer: Any, status: int, why: str) -> None:
    """An answer of that status with one field, `error`, which says why."""
    assert (answer.status_code, list(answer.json())) == (status, ["error"]), answer.text
    assert re.search(why, answer.json()["error"]), answer.text
    assert re.fullmatch(".{,500}", answer.json()["error"])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "expected JSON"),
        (b"[1]", "expected a JSON object"),
        (b"[" * 80_000, "expected JSON"),
        (b"\xff\xfe", "expected JSON"),
        (gzip.compress(b"{}", mtime=0), "expected JSON"),
        (b'{"q":"a","alternatives":' + b"9" * 80_000 + b"}", "expected JSON"),
        (b'{"q":"a","source":"es","target":"en","alternatives":NaN}', "from 0 to 5"),
        (json.dumps({chr(0x10000 + i): i for i in range(4000)}).encode(), "missing q"),
        ({"q": ...}, "missing q"),
        ({"source": ...}, "missing source"),
        ({"target": ...}, "missing target"),
        ({"q": 7}, "expected q to be a string"),
        ({"q": {"a": 1}}, "expected q to be a string"),
        ({"q": [TEXT, 7]}, "expected q to be a string or a list"),
        ({"q": "\ud800"}, "expected text in Unicode"),
        ({"source": ["es"]}, "expected source to be a string"),
        ({"source": "fr"}, "^fr is not supported"),
        ({"source": "x" * 80_000}, "^x{20} is not supported"),
        ({"target": "x" * 99}, "^x{20} is not supported"),
        ({"source": "en", "target": "es"}, "en to es is not supported"),
        ({"format": "pdf"}, "expected format to be text or html"),
        ({"alternatives": 99}, "expected alternatives from 0 to 5"),
        ({"alternatives": -1}, "expected alternatives from 0 to 5"),
        ({"alternatives": "many"}, "expected alternatives from 0 to 5"),
        ({"spelling": "perhaps"}, "expected spelling to be true or false"),
        ({"glossary": {"a": "b"}}, "expected glossary to be a text with a term"),
        ({"glossary": [["a", 7]]}, "expected glossary to be a text with a term"),
        ({"glossary": [["a"], ["a", "b", "c"]]}, "glossary, row 2: expected a t"),
        ({"glossary": [["a", "\ud800"]]}, "row 1: expected words on both"),
        ({"glossary": [[]]}, "row 1: expected a term"),
        ({"glossary": "a\tb\nc\td\te"}, "glossary, line 2: expected a term"),
        ({"glossary": "a,b\nc,d"}, "got none in any row, as 'a,b': is it a CSV"),
        ({"glossary": "a\tb"}, "expected a translator with its guard"),
    ],
)
def test_a_request_that_makes_no_sense_is_400(client: Any, body: Any, why: str) -> None:
    if not isinstance(body, bytes):  # but fields of a request that are other, or none
        fields = {"q": TEXT, **ES_EN, **body}.items()
        body = json.dumps({name: value for name, value in fields if value is not ...}).encode()
    headers = {"content-type": "application/json"}
    refused(client("POST", "/translate", content=body, headers=headers), 400, why)
    assert client.post(q="Un libro.", **ES_EN).status_code == 200


@pytest.mark.parametrize("content", [b"\xff=1", b"&".join([b"a=1"] * 200), b"q=%ff"])
def test_a_broken_form_is_400(client: Any, content: bytes) -> None:
    refused(client("POST", "/translate", content=content), 400, "form in UTF-8|missing q")


def test_a_multipart_form_without_its_end_is_400(client: Any) -> None:
    headers = {"content-type": "multipart/form-data"}
    refused(client("POST", "/translate", content=b"--x\r\n", headers=headers), 400, "boundary")


@pytest.mark.parametrize("prefix", ["x", [1.5], [True], ["a"], [10**4000], [-1], [0]])
def test_a_prefix_that_makes_no_sense_is_400(client: Any, prefix: Any) -> None:
    refused(
        client.post("/continue_after", q=TEXT, prefix=prefix, **ES_EN), 400, "expected a? ?prefix"
    )
    refused(client.post("/alternatives", q=TEXT, prefix=prefix, **ES_EN), 400, "prefix")


def test_maps_without_torch_are_501(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for path in ("/inspect", "/continue_after"):
        refused(client.post(path, q=TEXT, attention=True, **ES_EN), 501, "need PyTorch")
        assert client.post(path, q=TEXT, **ES_EN).status_code == 200


def test_maps_whose_process_fails_are_503(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformer.documents import worker

    monkeypatch.setattr(worker.WorkerProcess, "request", lambda *_: None)
    refused(client.post("/inspect", q=TEXT, attention=True, **ES_EN), 503, "no attention maps")
    wrong = pickle.dumps(UserError("expected what it can take"))
    monkeypatch.setattr(worker.WorkerProcess, "request", lambda *_: wrong)
    refused(client.post("/inspect", q=TEXT, attention=True, **ES_EN), 400, "what it can take")


def test_too_much_is_413(client: Any) -> None:
    refused(client.post(q="a" * 2001, **ES_EN), 413, "2001 characters exceed the limit of 2000")
    refused(client.post(q=["a" * 700] * 3, **ES_EN), 413, "2100 characters exceed")
    refused(client.post(q=["a"] * 11, **ES_EN), 413, "11 texts exceed 10")
    refused(client.post("/detect", q="a" * 2001), 413, "exceed")
    for between in ("\n", "|"):
        terms = between.join(map(str, range(9000)))
        refused(client.post(q=TEXT, glossary=terms, **ES_EN), 413, "9000 terms exceed 9")
    refused(client.post("/inspect", q="a" * 2001, **ES_EN), 413, "exceed")
    refused(client.post(q="a" * 10_000_000, **ES_EN), 413, "the request exceeds 90556 bytes")
    files = {"file": ("a.txt", ("hola " * 1000).encode())}
    refused(client("POST", "/translate_file", data=ES_EN, files=files), 413, "exceed the limit")
    assert client.post(q="Un libro.", **ES_EN).status_code == 200


def test_too_much_without_a_length_is_413(client: Any) -> None:
    async def body() -> Any:
        for _ in range(20):
            yield b"a" * 100_000

    refused(client("POST", "/translate", content=body()), 413, "the request exceeds")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.bin", b"\x7fELF", "expected a file that ends in"),
        ("a.docx", b"\x7fELF", "expected a Word document"),
        ("a.txt", b"\xff\x00", "expected UTF-8"),
        ("a.srt", b"1\nno times", "expected subtitles"),
        (
            "../../etc/a.conf",
            b"[a]\nb = hola",
            "got '.conf', which seems to be settings; --format txt",
        ),
        ("a.doc", b"hola", "got '.doc', a Word 97 document, which is saved as .docx"),
    ],
)
def test_a_file_that_is_none_is_400(client: Any, name: str, content: bytes, why: str) -> None:
    answer = client("POST", "/translate_file", data=ES_EN, files={"file": (name, content)})
    refused(answer, 400, why)


def test_a_refusal_of_columns_is_one_short_line(client: Any) -> None:
    files = {"file": ("a.csv", b'"nombre\n",' * 9000)}
    answer = client("POST", "/translate_file", data={**ES_EN, "columns": "x"}, files=files)
    refused(answer, 400, "expected columns out of nombre, nombre.*; got x")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd.txt", "..\\..\\boot.txt", "/abs.txt", 'a"\r\nX: y.txt', ".txt"]
)
def test_a_file_name_cannot_lead_elsewhere(client: Any, name: str) -> None:
    files = {"file": (name, b"Un libro.")}
    answer = client("POST", "/translate_file", data=ES_EN, files=files)
    if answer.status_code == 400:  # no ending, or no name at all
        return
    url = answer.json()["translatedFileUrl"]
    assert re.fullmatch(r"http://test/download_file/[\w-]{32}\.txt", url)
    shown = client("GET", url).headers["content-disposition"]
    assert not re.search(r"\.\.|%2F|%5C|[\r\n]", shown)


@pytest.mark.parametrize(
    "path",
    ["/download_file/x.txt", "/download_file/%00.txt", "/download_file/%ed%a0%80.txt", "/%00",
     "/" + "a" * 9000, "/download_file/..%2f..%2fetc%2fpasswd", "/..%2f..%2fpyproject.toml",
     "/../server.py", "/nothing", "/web/index.html"],
)  # fmt: skip
def test_what_is_not_there_is_404(client: Any, path: str) -> None:
    refused(client("GET", path), 404, "")


def test_another_method_is_405(client: Any) -> None:
    refused(client("GET", "/translate"), 405, "Method Not Allowed")
    refused(client("PUT", "/translate"), 405, "Method Not Allowed")


def test_a_file_is_asked_for(client: Any) -> None:
    refused(client("POST", "/translate_file", data=ES_EN), 400, "missing file")
    refused(client("POST", "/translate_file", data={**ES_EN, "file": "x"}), 400, "missing file")


def test_too_often_is_429_with_the_time_to_wait(make: Call) -> None:
    client = make(per_minute=2)
    assert [client.post(q="Hola.", **ES_EN).status_code for _ in range(2)] == [200, 200]
    answer = client.post(q="Hola.", **ES_EN)
    refused(answer, 429, "more than 2 requests a minute")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert client("GET", "/health").status_code == 200


def test_a_key_is_asked_for(make: Call, tmp_path: Path) -> None:
    key, rare = (new_api_key(tmp_path / "keys", rate) for rate in (0, 1))
    client = make(api_keys=str(tmp_path / "keys"))
    refused(client.post(q=TEXT, **ES_EN), 403, "an API key is needed")
    refused(client.post(q=TEXT, api_key="guess", **ES_EN), 403, "Invalid API key")
    refused(client.post(q=TEXT, api_key=[key], **ES_EN), 403, "Invalid API key")
    assert [client.post(q=TEXT, api_key=key, **ES_EN).status_code for _ in range(3)] == [200] * 3
    assert client.post(q=TEXT, api_key=rare, **ES_EN).status_code == 200
    refused(client.post(q=TEXT, api_key=rare, **ES_EN), 429, "more than 1 requests")
    assert client("GET", "/frontend/settings").json()["keyRequired"] is True


def test_a_full_queue_and_a_slow_answer_are_503(make: Call) -> None:
    client = make(begin=False, queue_limit=1, timeout=1.5)  # nothing is ever answered
    slow = client.post(q="Hola. Adiós.", **ES_EN)
    refused(slow, 503, "no answer within 1.5 seconds")
    assert slow.headers["retry-after"] == "1"
    waiting = client.service.scheduler.submit("k", ["a", "b"])
    answer = client.post(q="Hola.", **ES_EN)
    refused(answer, 503, "the queue is full")
    assert int(answer.headers["retry-after"]) >= 1
    waiting.cancel()
    client.service.scheduler._is_stopping = True
    refused(client.post(q="Hola.", **ES_EN), 503, "the server is stopping")


def test_a_defect_is_500_and_says_nothing(
    make: Call, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make()

    def broken(*_: Any) -> None:
        raise ZeroDivisionError(TEXT)

    monkeypatch.setattr(
        client.service.directions.translator(("es", "en")), "translate_segments", broken
    )
    refused(client.post(q=TEXT, **ES_EN), 500, "^the server has a defect$")
    assert "ZeroDivisionError at" in caplog.text
    assert "niña" not in caplog.text
    monkeypatch.undo()
    assert client.post(q=TEXT, **ES_EN).status_code == 200


def test_nothing_of_a_text_is_logged(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client.post(q=TEXT, **ES_EN)
    client("POST", "/translate", params={"q": TEXT, **ES_EN})
    client.post(q=TEXT, source="fr", target="en")
    client("GET", f"/{TEXT}")
    own = [r.getMessage() for r in caplog.records if r.name.startswith("transformer")]
    assert [line.split(" ")[:3] for line in own] == [
        ["POST", "/translate", "200"],
        ["POST", "/translate", "200"],
        ["POST", "/translate", "400"],
        ["GET", "other", "404"],
    ]


def test_other_origins_are_let_in_only_if_named(make: Call) -> None:
    headers = {"origin": "https://a.example"}
    closed = make(begin=False)("GET", "/languages", headers=headers)
    assert "access-control-allow-origin" not in closed.headers
    open_to_one = make(begin=False, cors="https://a.example")
    opened = open_to_one("GET", "/languages", headers=headers)
    assert opened.headers["access-control-allow-origin"] == "https://a.example"
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    assert open_to_one("OPTIONS", "/translate", headers=headers | asked).status_code == 200
    other = {"origin": "https://b.example"} | asked
    assert open_to_one("OPTIONS", "/translate", headers=other).status_code == 400


def test_a_request_that_does_not_arrive_is_408(make: Call) -> None:
    async def body() -> Any:
        yield b"{"
        await asyncio.sleep(30)

    headers = {"content-type": "application/json"}
    slow = make(begin=False, timeout=0.2)("POST", "/translate", content=body(), headers=headers)
    refused(slow, 408, "did not arrive in time")


def test_pages_may_load_nothing_from_elsewhere(client: Any) -> None:
    for path in ("/", "/languages", "/nothing"):
        headers = client("GET", path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert headers["x-content-type-options"] == "nosniff"


def test_fields_that_cannot_be_are_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--serve", "--port", "99999"]) == 2
    assert "0 <= port < 65536, not 99999" in capsys.readouterr().err
