"""The server as a process of its own: many clients, its end."""

import io
import platform
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.processes import python
from tests.serving.server import ES_EN, TEXT, Call, Process, ask, started

pytest.importorskip("fastapi", reason="needs the extra `serve`")


@pytest.fixture(scope="module")
def process(random_checkpoint: Path) -> Iterator[Process]:
    """The command, listening on a free port, and its address."""
    model = ("--model", random_checkpoint, "--device", "cpu", "--compute-type", "float32")
    with started(*model, "--no-guard") as process:
        yield process


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
@pytest.mark.parametrize("word", ["serve", "--serve"])
def test_memory_goes_back_by_the_page(word: str) -> None:
    """The first thing that the command does, and once only."""
    for more, starts in ({}, 2), ({"PYTHONMALLOC": "malloc"}, 1):
        done = python("-v", "-m", "transformer", word, "--port", "no number", **more)
        assert done.returncode == 2
        assert "argument --port: " in done.stderr, "with all that it was given"
        assert done.stderr.count("import 'site'") == starts


def test_many_clients_each_get_their_own_answer(process: Process, translate: Call) -> None:
    texts = [f"{TEXT} {'Nadie ve agua. ' * (i % 3)}{i} libros." for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda q: ask(f"{process[1]}translate", q=q, **ES_EN), texts))
    assert [one["translatedText"] for one in answers] == [translate(text) for text in texts]


@pytest.mark.parametrize("path", ["translate_file", "inspect"])
def test_a_body_that_comes_after_its_headers_is_answered(process: Process, path: str) -> None:
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    files = {"file": ("a.txt", TEXT.encode())}
    whole = httpx.Request("POST", f"{process[1]}{path}", data=ES_EN | {"q": TEXT}, files=files)

    def slowly() -> Iterator[bytes]:
        body = whole.read()
        for part in (body[:9], body[9:]):
            time.sleep(0.2)
            yield part

    for _ in range(3):
        answer = httpx.post(whole.url, content=slowly(), headers=whole.headers, timeout=20)
        assert answer.status_code == 200


def test_a_broken_form_is_refused(process: Process) -> None:
    """Without a line on standard error, which is read when the server ends."""
    headers = {"content-type": "multipart/form-data; boundary=x"}
    broken = urllib.request.Request(f"{process[1]}translate", b"--y secreto", headers)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(broken, timeout=60)


def test_sigterm_answers_what_is_under_way_and_ends_well(process: Process, translate: Call) -> None:
    command, url = process
    text = " ".join(f"La niña dibuja {i} coches." for i in range(600))
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(ask(f"{url}translate", q=text, **ES_EN))
    )
    asking.start()
    while " 0.0\n" in waiting(url) and not answers:
        time.sleep(0.005)
    command.send_signal(signal.SIGTERM)
    asking.join(60)
    assert answers[0]["translatedText"].split(" ")
    assert command.wait(60) == 0
    assert command.stderr is not None
    assert command.stderr.read() == ""
    with pytest.raises(urllib.error.URLError):
        waiting(url)


def waiting(url: str) -> str:
    with urllib.request.urlopen(f"{url}metrics", timeout=60) as answer:
        lines = io.TextIOWrapper(answer).readlines()
    return next(line for line in lines if line.startswith("translate_waiting_sentences"))
