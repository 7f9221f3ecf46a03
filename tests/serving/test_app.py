"""The LibreTranslate API: what it answers."""

import asyncio
import html
import re
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from tests.processes import python
from tests.serving.server import ES_EN, ON, TEXT, Call
from transformer.config import DecodeConfig
from transformer.decoding import native
from transformer.documents.formats import FORMATS
from transformer.documents.worker import N_PROCESSES
from transformer.translation.directions import load


def test_a_text_is_translated_from_json_form_and_query(client: Any, translate: Call) -> None:
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


def test_a_list_gives_a_list_in_order(client: Any, translate: Call) -> None:
    texts = ["Nadie ve agua.", "", TEXT, "  Un libro.\n\nDos. ", "😀"]
    answer = client.post(q=texts, **ES_EN).json()
    assert answer == {"translatedText": [translate(text) for text in texts]}


def test_an_upload_that_is_no_utf_8_is_recognised_or_names_its_encoding(client: Any) -> None:
    def translated(content: bytes, **more: str) -> tuple[str, list[str]]:
        files = {"file": ("a.txt", content)}
        answer = client("POST", "/translate_file", data={**ES_EN, **more}, files=files).json()
        path = "/download_file/" + answer["translatedFileUrl"].rpartition("/")[2]
        return client("GET", path).content.decode(), answer.get("warnings", [])

    expected, warnings = translated("La niña está aquí.\r\n".encode())
    assert warnings == []
    found, warnings = translated("La niña está aquí.\r\n".encode("cp1252"))
    assert found == expected
    assert warnings == ["no UTF-8: read as Windows-1252 (Latin-1), written in UTF-8"]
    dos = "La niña está aquí.\r\n".encode("cp850")
    assert translated(dos, encoding="cp850") == (expected, [])
    answer = client("POST", "/translate_file", data={**ES_EN, "encoding": "x"},
                    files={"file": ("a.txt", dos)})  # fmt: skip
    assert answer.status_code == 400
    assert "such as latin-1 or cp850, got 'x'" in answer.json()["error"]


@pytest.mark.parametrize(("source", "target"), [("es-MX", "en_US"), ("ES", "EN"), ("spa", "eng")])
def test_codes_of_clients_with_a_region_mean_the_language(
    client: Any, translate: Call, source: str, target: str
) -> None:
    asked = {"q": TEXT, "source": source, "target": target}
    assert client.post(**asked).json() == {"translatedText": translate(TEXT)}
    files = {"file": ("a.txt", TEXT.encode())}
    assert client("POST", "/translate_file", data=asked, files=files).status_code == 200
    assert client.post("/inspect", **asked).json()["parts"]


def test_the_language_is_detected(client: Any, translate: Call) -> None:
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
    assert sum(one["confidence"] for one in found) == pytest.approx(100)
    french = "Bonjour, je voudrais une chambre pour deux personnes."
    found = client.post("/detect", q=french).json()
    assert sum(one["confidence"] for one in found) < 50  # of a third language


def test_alternatives_are_the_further_hypotheses(client: Any, random_checkpoint: Path) -> None:
    answer = client.post(q=TEXT, alternatives=2, **ES_EN).json()
    decode = DecodeConfig(beam_size=3, n_best=3)
    translator = load(random_checkpoint, guard=False, **ON)
    found = translator.translate([TEXT], decode)[0].candidates
    assert [answer["translatedText"], *answer["alternatives"]] == [one.text for one in found]
    answer = client.post(q=[TEXT], alternatives="1", **ES_EN).json()
    assert [len(one) for one in answer["alternatives"]] == [1]


def test_what_the_guard_warns_of_is_told(make: Call, random_checkpoint: Path) -> None:
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
    make: Call, random_checkpoint: Path, text: str
) -> None:
    found = load(random_checkpoint, **ON).translate([text])[0]
    answer = make(guard=True).post(q=text, **ES_EN).json()
    assert answer["translatedText"] == found.text
    assert answer.get("warnings", []) == list(found.warnings)


def test_html_keeps_its_tags(client: Any, translate: Call) -> None:
    text = "<p>Nadie ve <b>agua</b>.<script>if (a<b) alert('hola')</script></p>"
    answer = client.post(q=text, format="html", **ES_EN).json()["translatedText"]
    assert re.sub(r">[^<>]*<", "><", answer.replace("a<b", "")) == re.sub(
        r">[^<>]*<", "><", text.replace("a<b", "")
    )
    assert "if (a<b) alert('hola')" in answer
    again = client.post(q=[text], format="html", alternatives=1, **ES_EN).json()
    assert again["translatedText"] != [text]
    assert again["alternatives"][0][0].count("<b>") == 1


def test_a_language_into_itself_stays(client: Any) -> None:
    assert client.post(q=TEXT, source="es", target="es").json() == {"translatedText": TEXT}


def test_languages_health_and_settings(client: Any) -> None:
    assert client("GET", "/languages").json() == [
        {"code": "es", "name": "Spanish", "targets": ["en", "es"]},
        {"code": "en", "name": "English", "targets": ["en"]},
    ]
    assert client("GET", "/health").json() == {"status": "ok"}
    settings = client("GET", "/frontend/settings").json()
    assert settings["charLimit"] == 2000
    assert settings["supportedFilesFormat"] == [*FORMATS]
    assert settings["language"]["source"] == {"code": "es", "name": "Spanish"}


def test_counts_are_written_as_prometheus_reads_them() -> None:
    module = pytest.importorskip("transformer.serving.metrics")
    metrics = module.Metrics(lambda: 3)
    for seconds in (0.02, 0.025, 100.0):
        metrics.count_request("/a", 200, seconds)
    metrics.count_batch(3, 0.5)
    text = metrics.to_text().decode()
    for line in (
        'translate_requests_total{route="/a",status="200"} 3.0',
        'translate_request_seconds_bucket{le="0.01",route="/a"} 0.0',
        'translate_request_seconds_bucket{le="0.025",route="/a"} 2.0',
        'translate_request_seconds_bucket{le="+Inf",route="/a"} 3.0',
        'translate_request_seconds_count{route="/a"} 3.0',
        'translate_request_seconds_sum{route="/a"} 100.045',
        'translate_batch_sentences_bucket{le="4.0"} 1.0',
        "translate_waiting_sentences 3.0",
    ):
        assert f"\n{line}\n" in text
    assert "_created" not in text


def test_requests_are_counted(client: Any) -> None:
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le"])
def test_a_file_is_translated_and_fetched(client: Any, translate: Call, encoding: str) -> None:
    text = f"{TEXT}\nUn libro.\n"
    text = f"\ufeff{text}" if encoding != "utf-8" else text
    files = {"file": ("mi carta.txt", text.encode(encoding))}
    url = client("POST", "/translate_file", data=ES_EN, files=files).json()["translatedFileUrl"]
    fetched = client("GET", url)
    assert fetched.text.removeprefix("\ufeff") == translate(text.removeprefix("\ufeff"))
    assert fetched.headers["content-type"].endswith(f"charset={encoding}")
    assert fetched.headers["content-disposition"].endswith("filename*=UTF-8''mi%20carta_en.txt")


def test_named_keys_of_a_file_alone_are_translated(client: Any, translate: Call) -> None:
    files = {"file": ("a.json", b'{"id": "Un libro.", "nota": "Un libro."}')}
    data = {**ES_EN, "columns": "nota"}
    answer = client("POST", "/translate_file", data=data, files=files).json()
    fetched = client("GET", answer["translatedFileUrl"])
    assert fetched.headers["content-type"] == "application/json"
    assert fetched.json() == {"id": "Un libro.", "nota": translate("Un libro.")}


def test_text_behind_an_entity_and_signs_that_nobody_sees_stay(
    client: Any, translate: Call
) -> None:
    answer = client.post(q="<p>Un \u202e&lt;b&gt; libro\0.</p>", format="html", **ES_EN).json()
    before, after = (html.escape(translate(text), quote=False) for text in ("Un ", "<b> libro"))
    assert answer["translatedText"] == f"<p>{before}\u202e{after}\0.</p>"


def test_words_can_be_looked_into_and_changed(client: Any, translate: Call) -> None:
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


WITHOUT_TORCH = """
import asyncio, sys, httpx
from pathlib import Path
from transformer.cli import main
from transformer.config import DecodeConfig, ServeConfig
from transformer.serving.app import application
from transformer.translation.directions import load

source, target = map(Path, sys.argv[1:])
assert main(["--from", "es", "--to", "en", "-i", str(source), "-o", str(target)]) == 0
app = application(load(), DecodeConfig(), ServeConfig())
pair = {"source": "es", "target": "en"}


async def main():
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        async def post(path, q, **fields):
            answer = await client.post(path, json={"q": q, **pair, **fields})
            return answer.raise_for_status().json()

        await post("/translate", "Tengo <b>mucha</b> hambre.", format="html", alternatives=1)
        file = {"file": ("a.docx", source.read_bytes())}
        await client.post("/translate_file", data=pair, files=file)
        (part,) = (await post("/inspect", "Tengo hambre."))["parts"]
        words = (await post("/alternatives", "Tengo hambre.", prefix=part["ids"][:1]))
        chosen = part["ids"][:1] + words["alternatives"][1]["ids"]
        await post("/continue_after", "Tengo hambre.", prefix=chosen)
        maps = await post("/inspect", "Tengo hambre.", attention=True)
        assert maps["parts"][0]["cross"]
        assert "torch" not in sys.modules, "torch was imported"


asyncio.run(main())
"""


@pytest.mark.skipif(native.load_library() is None, reason="the native decoder was not built")
def test_a_server_loads_no_torch_attention_maps_are_made_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="needs the extra `serve`")
    document = pytest.importorskip("docx").Document()
    document.add_paragraph("Vivo en una ").add_run("casa grande").bold = True
    document.save(str(tmp_path / "a.docx"))
    done = python("-c", WITHOUT_TORCH, tmp_path / "a.docx", tmp_path / "b.docx")
    assert done.returncode == 0, done.stderr
    written = pytest.importorskip("docx").Document(str(tmp_path / "b.docx"))
    assert "house" in "".join(run.text for run in written.paragraphs[0].runs if run.bold)


def test_what_no_request_needs_is_given_back(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformer.serving import api, app, downloads

    class Held:
        def __init__(self) -> None:
            self.itself, self.content = self, bytearray(2**26)

    async def released() -> None:
        monkeypatch.setattr(app, "RELEASE_INTERVAL", 0.01)
        api.parse_glossary("perro\thound")
        asked = api.Api(client.service, client.limits, client.metrics)
        monkeypatch.setattr(downloads, "KEPT_SECONDS", 0.2)
        asked._downloads.put("a.txt", b"old", "b.txt")
        assert asked._downloads.get("a.txt") == (b"old", "b.txt")
        held = weakref.ref(Held())
        releasing = asyncio.ensure_future(app._release_memory(asked))
        while held() or api.parse_glossary.cache_info().currsize or asked._downloads.get("a.txt"):
            await asyncio.sleep(0.01)
        releasing.cancel()

    asyncio.run(asyncio.wait_for(released(), 60))


def test_files_that_take_long_keep_no_page_waiting(client: Any) -> None:
    from transformer.serving import api

    asked, done = api.Api(client.service, client.limits, client.metrics), threading.Event()
    files = [asked._workers._threads.submit(done.wait) for _ in range(N_PROCESSES)]
    page = {"q": "<p>123</p>", "source": "es", "target": "en", "format": "html"}
    try:
        answer = asyncio.run(asyncio.wait_for(asked.translate(page), 60))
        assert answer["translatedText"] == page["q"]
    finally:
        done.set()
        asked.close()
    assert all(file.result() for file in files)


def test_of_too_many_files_the_oldest_go_and_a_full_disk_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transformer.serving import downloads, errors

    monkeypatch.setattr(downloads, "KEPT_BYTES", 10)
    files = downloads.Downloads()
    for name, size in (("a", 4), ("b", 4), ("c", 4), ("d", 20)):
        files.put(name, size * b"x", name)
        held = [other for other in "abcd" if files.get(other)]
        assert held == {"a": ["a"], "b": ["a", "b"], "c": ["b", "c"], "d": ["d"]}[name]
    (n_pages,) = files._database.execute("PRAGMA page_count").fetchone()
    files._database.execute(f"PRAGMA max_page_count = {n_pages}")
    with pytest.raises(errors.RequestError, match=r"cannot keep the translated file: .* full"):
        files.put("e", bytes(2**20), "e")
    assert files.get("d")
    files.close()
