"""A small run that starts anew or goes on, with the same arithmetic wherever it runs."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.processes import ROOT, tsv
from tests.training.runs import (
    LANGS,
    MODEL,
    N_PAIRS,
    SETTINGS,
    Pairs,
    Start,
    prepare_pairs,
    reset_accelerator,
)
from transformer.config import ModelConfig, TrainConfig
from transformer.corpus.prepared import PreparedCorpus
from transformer.text.tokenizer import Tokenizer
from transformer.training import runtime
from transformer.training.trainer import Trainer


@pytest.fixture(scope="module")
def one_cpu_thread() -> Iterator[None]:
    """The same arithmetic here and in the processes that are started with it.

    And Ctrl-C as at a terminal: in the background a shell starts programs with SIGINT ignored.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", str(ROOT))
        yield
    signal.signal(signal.SIGINT, before)
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def new_accelerator() -> Iterator[None]:
    """Each test chooses its precision anew, and leaves none behind."""
    reset_accelerator()
    yield
    reset_accelerator()


@pytest.fixture(scope="session")
def start(phrases: Pairs, phrase_tokenizer: Tokenizer) -> Start:
    """Builds a run of a folder, gone on from what lies there; settings can be replaced."""

    def make(
        folder: Path,
        *,
        data: PreparedCorpus | None = None,
        dev: Sequence[tuple[str, str]] = (),
        model: Mapping[str, Any] = MODEL,
        resume_from: Path | None = None,
        **changes: Any,
    ) -> Trainer:
        reset_accelerator()
        config = TrainConfig(**{**SETTINGS, **changes})
        data = data or prepare_pairs(phrases[:N_PAIRS], phrase_tokenizer)
        accelerator = runtime.make_accelerator(config, folder)
        trainer = Trainer(folder, ModelConfig(**model), config, data, dev, [LANGS], accelerator)
        trainer.resume(resume_from)
        return trainer

    return make


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, phrases: Pairs) -> Path:
    """A folder with a training and a development set; the token cache comes to lie beside them."""
    folder = tmp_path_factory.mktemp("corpus")
    for name, pairs in (("phrases", phrases[:N_PAIRS]), ("dev", phrases[-4:])):
        tsv(folder / f"{name}.tsv", pairs)
    return folder
