"""Every engine that decodes, behind one method: this project's, Hugging Face and CTranslate2.

All read the same weights, from a file that `write_weights` made. What is not installed, or
cannot express the model, is a UserError.
"""

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import torch

from transformer.config import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    ComputeType,
    DecodeConfig,
    ModelConfig,
    UserError,
)
from transformer.decoding import decoder as ours
from transformer.decoding import native
from transformer.decoding.search import BatchDecoder
from transformer.export import to_ctranslate2, to_huggingface
from transformer.model import Transformer, source_batch

WEIGHTS = "weights.pt"
OURS = ("plain", "native")  # the model in PyTorch, and the decoder in C++
NAMES = (
    "plain float32", "native float32", "native int8",
    "Hugging Face float32", "Hugging Face bfloat16", "CTranslate2 float32", "CTranslate2 int8",
)  # fmt: skip
SPECIAL = (PAD_ID, BOS_ID, EOS_ID)
Ids = list[list[int]]


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """How the cores and the sentences are divided: `workers` batches at a time."""

    workers: int
    threads: int  # of each worker
    batch: int
    unit: Literal["sentences", "tokens"]

    def __str__(self) -> str:
        threads = "thread" if self.threads == 1 else "threads"
        if self.batch == 1:
            return f"{self.threads} {threads}"
        return f"{self.workers} x {self.threads} {threads}, {self.batch} {self.unit}"


# Batch sizes worth a trial in bulk.
BATCHES: dict[str, tuple[tuple[int, Literal["sentences", "tokens"]], ...]] = {
    "plain": ((1024, "tokens"), (2048, "tokens"), (4096, "tokens")),
    "native": ((1024, "tokens"), (2048, "tokens"), (4096, "tokens")),
    "Hugging Face": ((32, "sentences"), (64, "sentences"), (128, "sentences")),
    "CTranslate2": ((32, "sentences"), (64, "sentences"), (1024, "tokens"), (2048, "tokens")),
}


class Decoder(Protocol):
    """An engine that is ready: `configure` makes what a setting needs, and is not timed.

    `translate` gives the best translation of each source, without special ids, in order.
    """

    def configure(self, setting: Setting) -> None: ...
    def translate(self, sources: Ids, config: DecodeConfig, setting: Setting) -> Ids: ...


def family(name: str) -> str:
    """An engine's name without its compute type."""
    return name.rpartition(" ")[0]


def compute_type(name: str) -> str:
    """An engine's name without its family."""
    return name.rpartition(" ")[2]


def layouts(name: str, cores: int) -> list[tuple[int, int]]:
    """The (workers, threads) worth a trial in bulk; our search knows one way to use cores."""
    return [(cores, 1)] if family(name) in OURS or cores == 1 else [(cores, 1), (1, cores)]


def n_processes(name: str, setting: Setting) -> int:
    """One a worker for Hugging Face; the others have threads of their own."""
    return setting.workers if family(name) == "Hugging Face" else 1


def write_weights(model: Transformer, folder: Path, names: Sequence[str]) -> None:
    """Leaves the model in a folder, in all formats that the named engines read."""
    contents = {"config": dataclasses.asdict(model.config), "weights": model.state_dict()}
    torch.save(contents, folder / WEIGHTS)
    installed = find_spec("ctranslate2") is not None
    for name in names:
        if family(name) == "CTranslate2" and installed:
            kind: Literal["int8", "none"] = "int8" if compute_type(name) == "int8" else "none"
            to_ctranslate2.to_ctranslate2(model, None, folder / name, kind)


def open_decoder(name: str, folder: Path) -> Decoder:
    """The named engine with the weights of a folder; UserError where it cannot run them."""
    if family(name) == "CTranslate2":
        return CTranslate2(folder, name)
    model = read_weights(folder)
    if family(name) == "plain":
        return Ours(BatchDecoder(model, "float32"))
    if family(name) == "native":
        if native.library() is None or not native.fits(model.config):
            raise UserError("it needs a C++ compiler at installation and widths that 64 divides")
        return Ours(ours.model_decoder(model, cast(ComputeType, compute_type(name))))
    return HuggingFace(model, getattr(torch, compute_type(name)))


def read_weights(folder: Path) -> Transformer:
    """The model that `write_weights` left, in evaluation mode."""
    contents = torch.load(folder / WEIGHTS, weights_only=True, mmap=True)
    model = Transformer(ModelConfig.from_json(contents["config"]))
    model.load_state_dict(contents["weights"], assign=True)
    return model.eval()


class Ours:
    """The plain model or the native decoder, as `Translator` uses them."""

    def __init__(self, decoder: ours.Decoder) -> None:
        self.decoder = decoder

    def configure(self, setting: Setting) -> None:
        """The threads of all workers: the search itself gives each batch one."""
        n_threads = setting.workers * setting.threads
        torch.set_num_threads(n_threads)
        if isinstance(self.decoder, native.NativeDecoder):
            self.decoder.n_threads = n_threads

    def translate(self, sources: Ids, config: DecodeConfig, setting: Setting) -> Ids:
        config = dataclasses.replace(config, scores=False)  # nor do the others give any
        if setting.unit == "tokens":
            config = dataclasses.replace(config, batch_tokens=setting.batch)
        return [list(best.ids) for best, *_ in self.decoder.search(sources, config)]


def batches(sources: Ids, size: int) -> Iterator[list[int]]:
    """The places of the sources, the longest first, in batches of so many."""
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


class HuggingFace:
    """`generate` of Marian or Pegasus, in batches of about equal length."""

    def __init__(self, model: Transformer, dtype: torch.dtype) -> None:
        self.model = to_huggingface.huggingface_model(model).to(dtype)
        self.max_len = model.config.max_len
        self.model.generation_config.bad_words_ids = None  # a mask at each step, here for nothing
        logging.getLogger("transformers").setLevel(logging.ERROR)

    def configure(self, setting: Setting) -> None:
        torch.set_num_threads(setting.threads)

    @torch.inference_mode()
    def translate(self, sources: Ids, config: DecodeConfig, setting: Setting) -> Ids:
        """With our limits of length, and a beam search that stops as ours does."""
        outputs: Ids = [[] for _ in sources]
        beams: dict[str, Any] = {"num_beams": config.beam_size}
        if config.beam_size > 1:
            beams |= {"early_stopping": True, "length_penalty": config.alpha}
        for rows in batches(sources, setting.batch):
            src = source_batch([sources[i] for i in rows])
            most = min(int(src.size(1) * config.max_ratio) + 10, self.max_len) + 1
            mask = (src != PAD_ID).long()
            output = self.model.generate(
                input_ids=src, attention_mask=mask, do_sample=False, max_length=most, **beams
            )
            for row, ids in zip(rows, output.tolist(), strict=True):
                outputs[row] = [i for i in ids if i not in SPECIAL]
        return outputs


class CTranslate2:
    """Its own translator, which sorts, batches and shares out the sentences itself."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.type = folder / name, compute_type(name)
        self.setting: tuple[int, int] | None = None
        if find_spec("ctranslate2") is None:
            raise UserError("CTranslate2 is not installed")
        config = ModelConfig.from_json(torch.load(folder / WEIGHTS, weights_only=True)["config"])
        self.pieces = to_ctranslate2.vocabulary(None, config.vocab_size)
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.max_len = config.max_len

    def configure(self, setting: Setting) -> None:
        """Opens the translator anew where the number of threads changes."""
        if self.setting == (setting.workers, setting.threads):
            return
        self.setting = (workers, threads) = setting.workers, setting.threads
        self.translator = to_ctranslate2.open_ctranslate2(
            self.folder, compute_type=self.type, inter_threads=workers, intra_threads=threads
        )

    def translate(self, sources: Ids, config: DecodeConfig, setting: Setting) -> Ids:
        """With our limit of length, that of the longest source."""
        pieces = self.pieces
        most = int((max(map(len, sources)) + 1) * config.max_ratio) + 10
        results = self.translator.translate_batch(
            [[pieces[i] for i in ids] for ids in sources],
            beam_size=config.beam_size,
            length_penalty=config.alpha if config.beam_size > 1 else 1,
            max_batch_size=setting.batch,
            batch_type="examples" if setting.unit == "sentences" else "tokens",
            min_decoding_length=0,
            max_decoding_length=min(most, self.max_len) - 1,
        )
        return [[self.ids[piece] for piece in result.hypotheses[0]] for result in results]
