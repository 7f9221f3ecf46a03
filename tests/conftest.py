"""What several test files share: small models and a small language."""

import contextlib
import itertools
import logging
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer.checkpoint import weights as checkpoint
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

# A shell that runs the tests in the background ignores Ctrl-C; what they start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

PHRASES = (  # subject, verb, object, end
    (("el gato", "the cat"), ("la niña", "the girl"), ("mi hermano", "my brother"),
     ("un médico", "a doctor"), ("nadie", "nobody"), ("la señora García", "Mrs García")),
    (("ve", "sees"), ("quiere", "wants"), ("compra", "buys"), ("no encuentra", "does not find"),
     ("dibuja", "draws"), ("limpia", "cleans")),
    (("la casa", "the house"), ("un libro", "a book"), ("el coche rojo", "the red car"),
     ("dos manzanas", "two apples"), ("agua", "water"), ("mi mesa", "my table")),
    (("", ""), ("hoy", "today"), ("en la ciudad", "in the city"),
     ("por la mañana temprano", "early in the morning")),
)  # fmt: skip


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """Commands run in a test's own process set the levels of logs: each test finds its own."""
    logs = [logging.getLogger(), logging.getLogger("transformer")]
    levels = [log.level for log in logs]
    yield
    for log, level in zip(logs, levels, strict=True):
        log.setLevel(level)


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Transformer]:
    """Builds a tiny model without dropout; fields of its configuration can be replaced."""

    def make(seed: int = 1, **changes: Any) -> Transformer:
        sizes = {"vocab_size": 13, "d_model": 12, "n_heads": 3, "d_ff": 17, "max_len": 23}
        layers = {"n_encoder_layers": 2, "n_decoder_layers": 2}
        torch.manual_seed(seed)
        model = Transformer(ModelConfig(**{**sizes, **layers, **changes}))
        with torch.no_grad():  # no bias is 0 and no gain is 1: a forgotten one shows
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        return model.eval()

    return make


@pytest.fixture(scope="session")
def make_wanderer() -> Callable[..., Transformer]:
    """Builds a tiny untrained model that says now this and now that, and comes to an end.

    As the output is the embedding table, an untrained model would repeat its last token for
    ever; strong position codes drown it. Rows of equal length give each word the same chance.
    """

    def make(seed: int = 5, max_len: int = 23) -> Transformer:
        torch.manual_seed(seed)
        model = Transformer(ModelConfig(
            vocab_size=13, d_model=12, n_heads=3, d_ff=17, max_len=max_len,
            n_encoder_layers=2, n_decoder_layers=2, positions="learned",
        ))  # fmt: skip
        with torch.no_grad():
            model.positions.get_parameter("table").normal_(std=3.0)
            table = model.embedding.weight
            table.copy_(1.5 * table / table.norm(dim=1, keepdim=True))
        return model.eval()

    return make


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 2 MB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs the right to mount a small disk: {error}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def fill() -> Callable[[Path], Path]:
    """Fills the disk of a folder to the last byte; gives the file that does."""

    def run(folder: Path) -> Path:
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        return filler

    return run


@pytest.fixture(scope="session")
def phrases() -> list[tuple[str, str]]:
    """864 different sentences of a small language, Spanish and English, shuffled."""
    pairs = []
    for chosen in itertools.product(*PHRASES):
        src, tgt = (" ".join(filter(None, side)) for side in zip(*chosen, strict=True))
        pairs.append((f"{src[0].upper()}{src[1:]}.", f"{tgt[0].upper()}{tgt[1:]}."))
    random.Random(5).shuffle(pairs)
    return pairs


@pytest.fixture(scope="session")
def phrase_tokenizer(phrases: list[tuple[str, str]]) -> Tokenizer:
    """A vocabulary of that language, of 350 pieces."""
    return Tokenizer.train((text for pair in phrases for text in pair), 350)


@pytest.fixture(scope="session")
def random_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, phrase_tokenizer: Tokenizer
) -> Path:
    """A checkpoint whose model has learnt nothing: all but the quality of its output is real."""
    config = ModelConfig(
        vocab_size=phrase_tokenizer.vocab_size, d_model=16, n_heads=2, n_encoder_layers=1,
        n_decoder_layers=1, d_ff=32, max_len=64, norm="pre",
    )  # fmt: skip
    torch.manual_seed(7)
    folder = tmp_path_factory.mktemp("model") / "es-en"
    weights = Transformer(config).state_dict()
    checkpoint.save(folder, weights, config, phrase_tokenizer, [("es", "en")], "# A test\n")
    return folder


@pytest.fixture(scope="session")
def both_checkpoint(random_checkpoint: Path) -> Path:
    """The same for both directions, of which the first piece of a source says which."""
    opened, folder = checkpoint.load(random_checkpoint), random_checkpoint.with_name("both")
    values = (opened.model.state_dict(), opened.model.config, opened.tokenizer)
    checkpoint.save(folder, *values, [("es", "en"), ("en", "es")], "# Both\n")
    return folder
