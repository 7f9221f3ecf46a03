"""Every engine that decodes, behind one method: this project's and CTranslate2.

All engines read the same weights, from a folder that `write_weights` made. An engine that is not
installed, or cannot express the model, is a UserError.
"""

import dataclasses
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, cast

import torch

from scripts.benchmark.driver import Ids
from transformer.config import ComputeType, DecodeConfig, ModelConfig, UserError
from transformer.decoding import decoder as own_decoder
from transformer.decoding import native
from transformer.decoding.search import BatchDecoder
from transformer.export import to_ctranslate2
from transformer.model import Transformer

WEIGHTS = "weights.pt"
OURS = ("plain float32", "native float32", "native int8")  # in PyTorch, and in C++
NAMES = (*OURS, "CTranslate2 float32", "CTranslate2 int8")
CTRANSLATE2_BATCHES: Sequence[tuple[int, Literal["sentences", "tokens"]]] = (
    (32, "sentences"), (64, "sentences"), (1024, "tokens"), (2048, "tokens"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """How an engine divides the cores and the sentences: `workers` batches at a time."""

    workers: int
    threads: int  # of each worker
    batch: int
    unit: Literal["sentences", "tokens"]

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        many = f"{self.workers} x {threads}, {self.batch} {self.unit}"
        return threads if self.batch == 1 else many


DEFAULT = Setting(1, 1, 1, "sentences")


def settings(name: str, cores: int, in_bulk: bool) -> list[Setting]:
    """Return the settings of an engine that are worth a trial."""
    if not in_bulk:
        return [Setting(1, threads, 1, "sentences") for threads in range(1, cores + 1)]
    if name in OURS:
        return [Setting(cores, 1, size, "tokens") for size in (1024, 2048, 4096)]
    return [
        Setting(workers, threads, size, unit)
        for workers, threads in sorted({(cores, 1), (1, cores)})
        for size, unit in CTRANSLATE2_BATCHES
    ]


def write_weights(model: Transformer, folder: Path, names: Sequence[str]) -> None:
    """Write the model to a folder in all formats that the named engines read."""
    contents = {"config": dataclasses.asdict(model.config), "weights": model.state_dict()}
    torch.save(contents, folder / WEIGHTS)
    for name in names:
        if name not in OURS and find_spec("ctranslate2") is not None:
            kind: Literal["int8", "none"] = "int8" if name.endswith("int8") else "none"
            to_ctranslate2.to_ctranslate2(model, None, folder / name, kind)


def open_decoder(name: str, folder: Path) -> "Decoder":
    """Open the named engine with the weights of a folder; UserError where it cannot run them."""
    contents = torch.load(folder / WEIGHTS, weights_only=True, mmap=True)
    config, compute_type = ModelConfig.from_json(contents["config"]), name.rpartition(" ")[2]
    if name not in OURS:
        return CTranslate2(folder / name, config, compute_type)
    model = Transformer(config)
    model.load_state_dict(contents["weights"], assign=True)
    model.eval()
    if name == OURS[0]:
        return Ours(BatchDecoder(model, "float32"))
    if native.load_library() is None or not native.is_supported(config):
        raise UserError("it needs a C++ compiler at installation and widths that 64 divides")
    return Ours(own_decoder.decoder_from_model(model, cast(ComputeType, compute_type)))


class Ours:
    """The plain model or the native decoder, as `Translator` uses them.

    `configure` makes what a setting needs, and is not timed. `translate` gives the best translation
    of each source, without special ids, in order.
    """

    def __init__(self, decoder: own_decoder.Decoder) -> None:
        self.decoder = decoder

    def configure(self, setting: Setting) -> None:
        """Set the threads of all workers: the search itself gives each batch one."""
        n_threads = setting.workers * setting.threads
        torch.set_num_threads(n_threads)
        if isinstance(self.decoder, native.NativeDecoder):
            self.decoder.n_threads = n_threads

    def translate(self, sources: Ids, config: DecodeConfig, setting: Setting) -> Ids:
        config = dataclasses.replace(config, scores=False)  # nor do the others give any
        if setting.unit == "tokens":
            config = dataclasses.replace(config, batch_tokens=setting.batch)
        return [list(best.ids) for best, *_ in self.decoder.search(sources, config)]


class CTranslate2:
    """The translator of CTranslate2, which sorts, batches and shares out the sentences itself.

    Its methods are those of `Ours`.
    """

    def __init__(self, folder: Path, config: ModelConfig, compute_type: str) -> None:
        if find_spec("ctranslate2") is None:
            raise UserError("CTranslate2 is not installed")
        self.folder, self.compute_type, self.max_len = folder, compute_type, config.max_len
        self.layout: tuple[int, int] | None = None
        self.pieces = to_ctranslate2.vocabulary(None, config.vocab_size)
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}

    def configure(self, setting: Setting) -> None:
        """Open the translator anew where the number of threads changes."""
        if self.layout != (setting.workers, setting.threads):
            self.layout = workers, threads = setting.workers, setting.threads
            self.translator = to_ctranslate2.open_ctranslate2(
                self.folder, compute_type=self.compute_type, inter_threads=workers,
                intra_threads=threads,
            )  # fmt: skip

    def translate(self, sources: Ids, config: DecodeConfig, setting: Setting) -> Ids:
        """Search with this project's limit of length for the longest source."""
        max_length = int((max(map(len, sources)) + 1) * config.max_ratio) + 10
        results = self.translator.translate_batch(
            [[self.pieces[i] for i in ids] for ids in sources],
            beam_size=config.beam_size,
            length_penalty=config.alpha if config.beam_size > 1 else 1,
            max_batch_size=setting.batch,
            batch_type="examples" if setting.unit == "sentences" else "tokens",
            min_decoding_length=0,
            max_decoding_length=min(max_length, self.max_len) - 1,
        )
        return [[self.ids[piece] for piece in result.hypotheses[0]] for result in results]


Decoder = Ours | CTranslate2
