"""The LibreTranslate API: what it answers, and what it refuses and goes on."""

import asyncio
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from transformer import cli
from transformer.config import DecodeConfig, ServeConfig
from transformer.serving.access import new_key

pytest.importorskip("fastapi", reason="needs the extra `serve`")
httpx = pytest.importorskip("httpx", reason="needs httpx")

from transformer.serving.app import create_app  # noqa: E402
from transformer.serving.middleware import Metrics  # noqa: E402
from transformer.serving.service import Service  # noqa: E402
from transformer.translation.directions import load  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TEXT = "La niña dibuja el coche rojo."
Call = Callable[..., Any]
ES_EN = {"source": "es", "target": "en"}
# In float32: PyTorch's int8 products of a sentence depend a little on those beside it, and a model
# that has learnt nothing is never sure of its choice.
ON: Any = {"device": "cpu", "compute_type": "float32"}


class Client:
    """Calls an application in this process; every call is a loop of its own."""

    def __init__(self, folder: Path, guard: bool = False, **limits: Any) -> None:
        self.limits = ServeConfig(**limits)
        waiting = self.limits.queue_limit
        self.service = Service(load(folder, guard=guard, **ON), max_waiting=waiting)
        self.metrics = Metrics(lambda: self.service.scheduler.n_waiting)
        self.app = create_app(self.service, self.limits, self.metrics)

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        async def call() -> Any:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **options)

        return asyncio.run(call())

    def post(self, path: str = "/translate", **fields: Any) -> Any:
        """Sends JSON."""
        return self("POST", path, json=fields)


@pytest.fixture(scope="module")
def make(random_checkpoint: Path) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def start(begin: bool = True, **limits: Any) -> Client:
        client = Client(random_checkpoint, **limits)
        if begin:
            client.service.start()
            made.append(client)
        return client

    yield start
    for client in made:
        client.service.stop()


@pytest.fixture(scope="module")
def client(make: Callable[..., Client]) -> Client:
    return make(char_limit=2000, batch_limit=10, file_mib=1, file_char_limit=3000)


@pytest.fixture(scope="module")
def translate(random_checkpoint: Path) -> Callable[[str], str]:
    """What the library makes of a text."""
    translator = load(random_checkpoint, guard=False, **ON)
    return lambda text: translator.translate([text])[0].text


def refused(answer: Any, status: int, why: str) -> None:
    """An answer of that status with one field, `error`, which says why."""
    assert (answer.status_code, list(answer.json())) == (status, ["error"]), answer.text
    assert re.search(why, answer.json()["error"]), answer.text


# What is answered


def test_a_text_is_translated_from_json_form_and_query(client: Client, translate: Call) -> None:
    expected = {"translatedText": translate(TEXT)}
    asked = {"q": TEXT, **ES_EN}
    assert client.post(**asked).json() == expected
    assert client("POST", "/translate", data=asked).json() == expected
    assert client("POST", "/translate", params=asked).json() == expected
    files = {"unused": ("a.txt", b"x")}
    assert client("POST", "/translate", data=asked, files=files).json() == expected
    raw = f"q={TEXT}&source=es&target=en".encode()  # as curl -d sends it
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert client("POST", "/translate", content=raw, headers=headers).json() == expected


def test_a_list_gives_a_list_in_order(client: Client, translate: Call) -> None:
    texts = ["Nadie ve agua.", "", TEXT, "  Un libro.\n\nDos. ", "😀"]
    answer = client.post(q=texts, **ES_EN).json()
    assert answer == {"translatedText": [translate(text) for text in texts]}


def test_the_language_is_detected(client: Client, translate: Call) -> None:
    answer = client.post(q=TEXT, source="auto", target="en").json()
    assert answer["detectedLanguage"]["language"] == "es"
    assert 50 < answer["detectedLanguage"]["confidence"] <= 100
    assert answer["translatedText"] == translate(TEXT)
    english = "The girl is not in the house, and she knows it."
    answer = client.post(q=[TEXT, english], source="auto", target="en").json()
    assert [one["language"] for one in answer["detectedLanguage"]] == ["es", "en"]
    assert answer["translatedText"] == [translate(TEXT), english]
    found = client.post("/detect", q=english).json()
    assert [one["language"] for one in found] == ["en", "es"]


def test_alternatives_are_the_further_hypotheses(client: Client, random_checkpoint: Path) -> None:
    answer = client.post(q=TEXT, alternatives=2, **ES_EN).json()
    decode = DecodeConfig(beam_size=3, n_best=3)
    translator = load(random_checkpoint, guard=False, **ON)
    found = translator.translate([TEXT], decode)[0].candidates
    assert [answer["translatedText"], *answer["alternatives"]] == [one.text for one in found]
    answer = client.post(q=[TEXT], alternatives="1", **ES_EN).json()
    assert [len(one) for one in answer["alternatives"]] == [1]


def test_what_the_guard_warns_of_is_told(
    make: Callable[..., Client], random_checkpoint: Path
) -> None:
    client = make(guard=True)
    found = load(random_checkpoint, **ON).translate([TEXT])[0]
    assert found.warnings  # a model that has learnt nothing repeats itself
    answer = client.post(q=TEXT, **ES_EN).json()
    assert answer == {"translatedText": found.text, "warnings": list(found.warnings)}
    assert client.post(q=[TEXT, ""], **ES_EN).json()["warnings"] == [list(found.warnings), []]
    assert client.post("/inspect", q=TEXT, **ES_EN).json()["parts"][0]["warnings"]


@pytest.mark.parametrize(
    "text", ["Me gusta 東京。大阪 también es bonita.", "Leí «源氏物語。紫式部» ayer."]
)
def test_a_text_with_foreign_runs_is_split_as_the_command_splits_it(
    make: Callable[..., Client], random_checkpoint: Path, text: str
) -> None:
    found = load(random_checkpoint, **ON).translate([text])[0]
    answer = make(guard=True).post(q=text, **ES_EN).json()
    assert answer["translatedText"] == found.text
    assert answer.get("warnings", []) == list(found.warnings)


def test_html_keeps_its_tags(client: Client, translate: Call) -> None:
    text = "<p>Nadie ve <b>agua</b>.<script>if (a<b) alert('hola')</script></p>"
    answer = client.post(q=text, format="html", **ES_EN).json()["translatedText"]
    assert re.sub(r">[^<>]*<", "><", answer.replace("a<b", "")) == re.sub(
        r">[^<>]*<", "><", text.replace("a<b", "")
    )
    assert "if (a<b) alert('hola')" in answer
    again = client.post(q=[text], format="html", alternatives=1, **ES_EN).json()
    assert again["translatedText"] != [text]
    assert again["alternatives"][0][0].count("<b>") == 1


def test_a_language_into_itself_stays(client: Client) -> None:
    assert client.post(q=TEXT, source="es", target="es").json() == {"translatedText": TEXT}


def test_languages_health_and_settings(client: Client) -> None:
    assert client("GET", "/languages").json() == [
        {"code": "es", "name": "Spanish", "targets": ["en", "es"]},
        {"code": "en", "name": "English", "targets": ["en"]},
    ]
    assert client("GET", "/health").json() == {"status": "ok"}
    settings = client("GET", "/frontend/settings").json()
    assert settings["charLimit"] == 2000
    assert settings["supportedFilesFormat"] == [".txt", ".srt", ".html", ".htm", ".docx"]
    assert settings["language"]["source"] == {"code": "es", "name": "Spanish"}


def test_requests_are_counted(client: Client) -> None:
    def counted(name: str) -> float:
        text = client("GET", "/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    answered = 'translate_requests_total{route="/translate",status="200"}'
    before, characters = counted(answered), counted("translate_characters_total")
    client.post(q=TEXT, **ES_EN)
    assert counted(answered) == before + 1
    assert counted("translate_characters_total") == characters + len(TEXT)
    assert counted("translate_waiting_sentences") == 0
    assert counted("process_resident_memory_bytes") > 0


def test_a_file_is_translated_and_fetched(client: Client, translate: Call) -> None:
    text = f"{TEXT}\nUn libro.\n"
    files = {"file": ("mi carta.txt", text.encode())}
    url = client("POST", "/translate_file", data=ES_EN, files=files).json()["translatedFileUrl"]
    fetched = client("GET", url)
    assert fetched.text == translate(text)
    assert fetched.headers["content-disposition"].endswith("filename*=UTF-8''mi%20carta_en.txt")


def test_words_can_be_looked_into_and_changed(client: Client, translate: Call) -> None:
    parts = client.post("/inspect", q=f"{TEXT} Un libro.", **ES_EN).json()["parts"]
    assert [part["source"] for part in parts] == [TEXT, " ", "Un libro."]
    assert "".join(part["target"] for part in parts) == translate(f"{TEXT} Un libro.")
    whole = client.post("/inspect", q=TEXT, attention=True, **ES_EN).json()["parts"][0]
    n_source, n_target = len(whole["sourcePieces"]), len(whole["targetPieces"])
    assert (len(whole["cross"][0][0]), len(whole["cross"][0][0][0])) == (n_target, n_source)
    assert [len(step) for step in whole["steps"]] == [10] * n_target
    prefix = whole["ids"][:1]
    found = client.post("/alternatives", q=TEXT, prefix=prefix, **ES_EN).json()["alternatives"]
    chosen = [*prefix, *found[1]["ids"]]
    again = client.post("/continue_after", q=TEXT, prefix=chosen, **ES_EN).json()
    assert again["ids"][: len(chosen)] == chosen
    long = client.post("/inspect", q="agua " * 60, **ES_EN).json()["parts"]
    assert [set(part) for part in long] == [{"source", "target", "warnings"}] * 2


# What is refused


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "expected JSON"),
        (b"[1]", "expected a JSON object"),
        (b"[" * 100_000, "expected JSON"),
        (b"\xff\xfe", "expected JSON"),
        ({**ES_EN}, "missing q"),
        ({"q": TEXT, "target": "en"}, "missing source"),
        ({"q": TEXT, "source": "es"}, "missing target"),
        ({"q": 7, **ES_EN}, "expected q to be a string"),
        ({"q": {"a": 1}, **ES_EN}, "expected q to be a string"),
        ({"q": [TEXT, 7], **ES_EN}, "expected q to be a string or a list"),
        ({"q": TEXT, "source": ["es"], "target": "en"}, "expected source to be a string"),
        ({"q": TEXT, "source": "fr", "target": "en"}, "^fr is not supported"),
        ({"q": TEXT, "source": "es", "target": "x" * 99}, "^x{20} is not supported"),
        ({"q": TEXT, "source": "en", "target": "es"}, "en to es is not supported"),
        ({"q": TEXT, "format": "pdf", **ES_EN}, "expected format to be text or html"),
        ({"q": TEXT, "alternatives": 99, **ES_EN}, "expected alternatives from 0 to 5"),
        ({"q": TEXT, "alternatives": -1, **ES_EN}, "expected alternatives from 0 to 5"),
        ({"q": TEXT, "alternatives": "many", **ES_EN}, "expected alternatives from 0 to 5"),
        ({"q": "\ud800", **ES_EN}, "expected text in Unicode"),
    ],
)
def test_a_request_that_makes_no_sense_is_400(client: Client, body: Any, why: str) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    refused(client("POST", "/translate", content=content, headers=headers), 400, why)
    assert client.post(q="Un libro.", **ES_EN).status_code == 200


@pytest.mark.parametrize("content", [b"\xff=1", b"&".join([b"a=1"] * 200), b"q=%ff"])
def test_a_broken_form_is_400(client: Client, content: bytes) -> None:
    refused(client("POST", "/translate", content=content), 400, "form in UTF-8|missing q")


def test_a_multipart_form_without_its_end_is_400(client: Client) -> None:
    headers = {"content-type": "multipart/form-data"}
    refused(client("POST", "/translate", content=b"--x\r\n", headers=headers), 400, "boundary")


@pytest.mark.parametrize("prefix", ["x", [1.5], [True], ["a"], [10**30], [-1], [0]])
def test_a_prefix_that_makes_no_sense_is_400(client: Client, prefix: Any) -> None:
    refused(
        client.post("/continue_after", q=TEXT, prefix=prefix, **ES_EN), 400, "expected a? ?prefix"
    )
    refused(client.post("/alternatives", q=TEXT, prefix=prefix, **ES_EN), 400, "prefix")


def test_too_much_is_413(client: Client) -> None:
    refused(client.post(q="a" * 2001, **ES_EN), 413, "2001 characters exceed the limit of 2000")
    refused(client.post(q=["a" * 700] * 3, **ES_EN), 413, "2100 characters exceed")
    refused(client.post(q=["a"] * 11, **ES_EN), 413, "11 texts exceed 10")
    refused(client.post("/detect", q="a" * 2001), 413, "exceed")
    refused(client.post("/inspect", q="a" * 2001, **ES_EN), 413, "exceed")
    refused(client.post(q="a" * 10_000_000, **ES_EN), 413, "the request exceeds 1048576 bytes")
    files = {"file": ("a.txt", ("hola " * 1000).encode())}
    refused(client("POST", "/translate_file", data=ES_EN, files=files), 413, "exceed the limit")
    assert client.post(q="Un libro.", **ES_EN).status_code == 200


def test_too_much_without_a_length_is_413(client: Client) -> None:
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
        ("../../etc/passwd", b"hola", "expected a file that ends in"),
    ],
)
def test_a_file_that_is_none_is_400(client: Client, name: str, content: bytes, why: str) -> None:
    answer = client("POST", "/translate_file", data=ES_EN, files={"file": (name, content)})
    refused(answer, 400, why)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd.txt", "..\\..\\boot.txt", "/abs.txt", 'a"\r\nX: y.txt', ".txt"]
)
def test_a_file_name_cannot_lead_elsewhere(client: Client, name: str) -> None:
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
    ["/download_file/x.txt", "/download_file/..%2f..%2fetc%2fpasswd", "/..%2f..%2fpyproject.toml",
     "/../server.py", "/nothing", "/web/index.html"],
)  # fmt: skip
def test_what_is_not_there_is_404(client: Client, path: str) -> None:
    refused(client("GET", path), 404, "")


def test_another_method_is_405(client: Client) -> None:
    refused(client("GET", "/translate"), 405, "Method Not Allowed")
    refused(client("PUT", "/translate"), 405, "Method Not Allowed")


def test_a_file_is_asked_for(client: Client) -> None:
    refused(client("POST", "/translate_file", data=ES_EN), 400, "missing file")
    refused(client("POST", "/translate_file", data={**ES_EN, "file": "x"}), 400, "missing file")


def test_too_often_is_429_with_the_time_to_wait(make: Callable[..., Client]) -> None:
    client = make(per_minute=2)
    assert [client.post(q="Hola.", **ES_EN).status_code for _ in range(2)] == [200, 200]
    answer = client.post(q="Hola.", **ES_EN)
    refused(answer, 429, "more than 2 requests a minute")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert client("GET", "/health").status_code == 200


def test_a_key_is_asked_for(make: Callable[..., Client], tmp_path: Path) -> None:
    key, rare = (new_key(tmp_path / "keys", rate) for rate in (0, 1))
    client = make(api_keys=str(tmp_path / "keys"))
    refused(client.post(q=TEXT, **ES_EN), 403, "an API key is needed")
    refused(client.post(q=TEXT, api_key="guess", **ES_EN), 403, "Invalid API key")
    refused(client.post(q=TEXT, api_key=[key], **ES_EN), 403, "Invalid API key")
    assert [client.post(q=TEXT, api_key=key, **ES_EN).status_code for _ in range(3)] == [200] * 3
    assert client.post(q=TEXT, api_key=rare, **ES_EN).status_code == 200
    refused(client.post(q=TEXT, api_key=rare, **ES_EN), 429, "more than 1 requests")
    assert client("GET", "/frontend/settings").json()["keyRequired"] is True


def test_a_full_queue_and_a_slow_answer_are_503(make: Callable[..., Client]) -> None:
    client = make(begin=False, queue_limit=1, timeout=1.5)  # nothing is ever answered
    slow = client.post(q="Hola. Adiós.", **ES_EN)
    refused(slow, 503, "no answer within 1.5 seconds")
    assert slow.headers["retry-after"] == "1"
    waiting = client.service.scheduler.submit("k", ["a", "b"])
    answer = client.post(q="Hola.", **ES_EN)
    refused(answer, 503, "the queue is full")
    assert int(answer.headers["retry-after"]) >= 1
    waiting.cancel()
    client.service.scheduler._stopping = True
    refused(client.post(q="Hola.", **ES_EN), 503, "the server is stopping")


def test_a_defect_is_500_and_says_nothing(
    make: Callable[..., Client], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
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


def test_nothing_of_a_text_is_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
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


def test_other_origins_are_let_in_only_if_named(make: Callable[..., Client]) -> None:
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


def test_a_request_that_does_not_arrive_is_408(make: Callable[..., Client]) -> None:
    async def body() -> Any:
        yield b"{"
        await asyncio.sleep(30)

    headers = {"content-type": "application/json"}
    slow = make(begin=False, timeout=0.2)("POST", "/translate", content=body(), headers=headers)
    refused(slow, 408, "did not arrive in time")


def test_pages_may_load_nothing_from_elsewhere(client: Client) -> None:
    for path in ("/", "/languages", "/nothing"):
        headers = client("GET", path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert headers["x-content-type-options"] == "nosniff"


def test_fields_that_cannot_be_are_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--serve", "--port", "99999"]) == 2
    assert "0 <= port < 65536, not 99999" in capsys.readouterr().err


# The server as a process


@pytest.fixture(scope="module")
def process(random_checkpoint: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The command, listening on a free port; its address."""
    flags = [
        "--serve",
        "--port",
        "0",
        "--model",
        str(random_checkpoint),
        "--device",
        "cpu",
        "--compute-type",
        "float32",
        "--no-guard",
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "transformer", *flags],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stderr is not None
        url = started.stderr.readline().removeprefix("translate: ").strip()
        assert url.startswith("http://127.0.0.1:"), url
        yield started, url
        started.kill()


def fetch(url: str, **fields: Any) -> Any:
    request = urllib.request.Request(
        url, json.dumps(fields).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def test_the_public_client_works_unchanged(
    process: tuple["subprocess.Popen[str]", str], translate: Call
) -> None:
    client = pytest.importorskip("libretranslatepy", reason="needs libretranslatepy")
    api = client.LibreTranslateAPI(process[1])
    assert [one["code"] for one in api.languages()] == ["es", "en"]
    assert api.detect(TEXT)[0]["language"] == "es"
    assert api.translate(TEXT, "es", "en") == translate(TEXT)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        api.translate(TEXT, "fr", "en")


def test_many_clients_each_get_their_own_answer(
    process: tuple["subprocess.Popen[str]", str], translate: Call
) -> None:
    texts = [f"{TEXT} {'Nadie ve agua. ' * (i % 3)}{i} libros." for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda q: fetch(f"{process[1]}translate", q=q, **ES_EN), texts))
    assert [one["translatedText"] for one in answers] == [translate(text) for text in texts]


def test_sigterm_answers_what_is_under_way_and_ends_well(
    process: tuple["subprocess.Popen[str]", str], translate: Call
) -> None:
    started, url = process
    text = " ".join(f"La niña dibuja {i} coches." for i in range(600))
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(fetch(f"{url}translate", q=text, **ES_EN))
    )
    asking.start()
    while " 0.0\n" in waiting(url) and not answers:
        time.sleep(0.005)
    started.send_signal(signal.SIGTERM)
    asking.join(60)
    assert answers[0]["translatedText"].split(" ")
    assert started.wait(60) == 0
    assert started.stderr is not None
    assert started.stderr.read() == ""
    with pytest.raises(urllib.error.URLError):
        waiting(url)


def waiting(url: str) -> str:
    with urllib.request.urlopen(f"{url}metrics", timeout=60) as answer:
        lines = io.TextIOWrapper(answer).readlines()
    return next(line for line in lines if line.startswith("translate_waiting_sentences"))
