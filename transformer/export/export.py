"""Export a trained model for other engines, and compare the translations of both.

The folder is written only if the engine, with greedy search in float32, translates test sentences
as our model does. A difference is tolerated if the model finds both tokens equally likely.

Shapes: B batch, S source, V vocabulary.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from transformer.checkpoint import weights
from transformer.checkpoint.locate import MODEL_CARD, VOCABULARY, resolve_direction
from transformer.command import os_errors_as_user_errors
from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig, Direction, UserError
from transformer.decoding.search import greedy_search, length_limits
from transformer.export import to_ctranslate2, to_huggingface
from transformer.export.to_ctranslate2 import Quantization
from transformer.files import atomic_folder
from transformer.model import Transformer, source_batch
from transformer.text.tokenizer import Tokenizer

Target = Literal["ctranslate2", "huggingface", "marian"]  # the last two are the same
ORIGINAL_CARD = "CARD.md"
EXAMPLES = {"es": "¿Dónde está la biblioteca?", "en": "Where is the library?"}
# Greedy search by another engine. It takes (B, S) sources with their end marks and the largest
# number of tokens in a translation, and returns B lists of ids without special ids.
GreedySearch = Callable[[Tensor, int], list[list[int]]]

# Nats. Engines add float32 numbers in different orders, so tokens this close are equally likely.
TIE_TOLERANCE = 1e-4
BATCH_SIZE = 32  # sentences searched at once
MAX_RATIO = DecodeConfig().max_ratio
SENTENCES = (
    "¿Dónde está la biblioteca?",
    "No lo sé.",
    "Me gustaría un vaso de agua, por favor.",
    "El tren de las 9:35 a Zaragoza sale hoy con veinte minutos de retraso.",
    "¡Qué sorpresa! Nadie esperaba que llegaras tan pronto.",
    "Mi hermana compró dos libros y me regaló uno.",
    "Sí.",
    "Cuando era niño, mi abuelo me contaba historias de barcos y de islas lejanas.",
    "Ningún médico quiso firmar el informe, y el juez aplazó la decisión hasta el lunes.",
    "Escríbeme a ana.perez@example.org antes del 15/03/2024.",
    "Where is the library?",
    "I don't know.",
    "She bought two books and gave me one of them.",
    "If it rains tomorrow, we will stay at home and play cards.",
    "The train to Zaragoza leaves at 9:35, twenty minutes late.",
    "Nobody expected you so soon!",
    "東京 😀 straße",
)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ExportRequest:
    """An export: the checkpoint `model`, the `folder` to write, and the engine (`target`).

    `texts` are compared in addition to SENTENCES. `langs` is one of the directions of the
    checkpoint; None stands for its first one. UserError for a quantization, if the target is not
    ctranslate2.
    """

    model: str | Path
    folder: Path
    target: Target
    quantization: Quantization = "none"
    texts: tuple[str, ...] = ()
    langs: Direction | None = None

    def __post_init__(self) -> None:
        if self.target != "ctranslate2" and self.quantization != "none":
            raise UserError(
                f"expected no --quantization with --to {self.target}, got {self.quantization}: "
                "such a folder holds float32"
            )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """The result of the check of an export.

    In float32 both engines translate all of `n_sentences` alike, except `n_ties` sentences where
    two tokens were equally likely. With the weights that were saved, quantized if that was asked
    for, they translate `n_quantized` alike.
    """

    n_sentences: int
    n_ties: int
    n_quantized: int


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """A sentence that two implementations translate differently, to the pieces `ours` and `theirs`.

    `margin`: nats by which our model prefers its token where they first differ.
    """

    text: str
    ours: str
    theirs: str
    margin: float


def _preference_margin(
    model: Transformer, src: Tensor, ours: Sequence[int], theirs: Sequence[int]
) -> float:
    """Return by how many nats the model prefers our token where two translations first differ.

    These are ids without end mark, of the only source in `src`: (1, S).
    """
    pairs = list(itertools.zip_longest(ours, theirs, fillvalue=EOS_ID))
    place = next(i for i, (own, other) in enumerate(pairs) if own != other)
    own, other = pairs[place]
    tgt = torch.tensor([[BOS_ID, *ours[:place]]], device=src.device)
    with torch.inference_mode():
        scores = model(src, tgt)[0, -1].float()  # (V,)
    return math.inf if other in (PAD_ID, BOS_ID) else float(scores[own] - scores[other])


def find_differences(
    model: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    search: GreedySearch,
    tags: Sequence[int] = (),
) -> Iterator[Difference]:
    """Yield the texts that `search`, of another engine, translates differently from our search.

    Sources begin with `tags` and are cut at half of the model's positions. Both searches limit the
    length of translations by the default `max_ratio` of `DecodeConfig`.
    """
    longest = max(1, model.config.max_len // 2 - 1)
    sources = {text: [*tags, *ids][:longest] for text in texts if (ids := tokenizer.encode(text))}
    order = sorted(sources, key=lambda text: -len(sources[text]))
    for start in range(0, len(order), BATCH_SIZE):
        rows = order[start : start + BATCH_SIZE]
        src = source_batch([sources[text] for text in rows]).to(model.device)
        most = length_limits(model, src, MAX_RATIO) - 1  # (B,) without the end mark
        hypotheses = greedy_search(model, src)
        others = search(src, int(most.max()))
        for row, (text, hypothesis) in enumerate(zip(rows, hypotheses, strict=True)):
            theirs = others[row][: int(most[row])]
            if tuple(theirs) == hypothesis.ids:
                continue
            alone = source_batch([sources[text]]).to(model.device)
            margin = _preference_margin(model, alone, hypothesis.ids, theirs)
            ours, other = (" ".join(tokenizer.pieces(ids)) for ids in (hypothesis.ids, theirs))
            yield Difference(text, ours, other, margin)


def _count_ties(differences: Iterable[Difference], engine: str) -> int:
    """Count differences between equally likely tokens; raise UserError for any other difference."""
    n_ties = 0
    for pair in differences:
        if pair.margin >= TIE_TOLERANCE:
            raise UserError(
                f"expected {engine} to translate {pair.text!r} as the model does, to "
                f"{pair.ours!r}; it gives {pair.theirs!r}. Nothing was written; try another "
                f"version of {engine}"
            )
        n_ties += 1
    return n_ties


def _export_ctranslate2(
    opened: weights.Checkpoint,
    tags: Sequence[int],
    folder: Path,
    texts: Sequence[str],
    quantization: Quantization,
) -> Agreement:
    """Write and check a CTranslate2 folder in float32, then once more in the requested type.

    `tags` are the first ids of a source. UserError for a difference in float32.
    """
    model, tokenizer = opened.model, opened.tokenizer
    pieces = to_ctranslate2.vocabulary(tokenizer, model.config.vocab_size)

    def differences(stored: Quantization, compute_type: str) -> Iterator[Difference]:
        to_ctranslate2.to_ctranslate2(model, tokenizer, folder, stored, tags)
        translator = to_ctranslate2.open_ctranslate2(folder, compute_type=compute_type)
        search = to_ctranslate2.ctranslate2_search(translator, pieces, tags)
        return find_differences(model, tokenizer, texts, search, tags)

    n_ties = n_different = _count_ties(differences("none", "float32"), "CTranslate2")
    if quantization != "none":
        n_different = len(list(differences(quantization, "auto")))
    (folder / VOCABULARY).write_bytes(tokenizer.model)
    return Agreement(n_sentences=len(texts), n_ties=n_ties, n_quantized=len(texts) - n_different)


def _export_huggingface(
    opened: weights.Checkpoint,
    langs: Direction,
    tags: Sequence[int],
    folder: Path,
    texts: Sequence[str],
) -> Agreement:
    """Write a Hugging Face folder; UserError unless it translates and cuts `texts` as we do."""
    to_huggingface.to_huggingface(opened.model, opened.tokenizer, folder, langs, tags)
    model, tokenizer = to_huggingface.open_huggingface(folder)
    to_huggingface.check_tokenizer(tokenizer, opened.tokenizer, texts, tags)
    search = to_huggingface.huggingface_search(model)
    differences = find_differences(opened.model, opened.tokenizer, texts, search, tags)
    n_ties = _count_ties(differences, "Transformers")
    return Agreement(n_sentences=len(texts), n_ties=n_ties, n_quantized=len(texts) - n_ties)


def export(request: ExportRequest) -> Agreement:
    """Export a checkpoint to a folder for another engine, and compare translations of both.

    Raises UserError, and writes nothing, if the folder is not empty, if the engine is not installed
    or cannot represent the model, if the model lacks the direction, or if a translation differs.
    """
    opened = weights.load(request.model)
    langs = resolve_direction(request.model, opened.directions, request.langs)
    tags = opened.tokenizer.direction_tags(langs, opened.directions)
    distinct = dict.fromkeys((*SENTENCES, *request.texts))
    texts = [text for text in distinct if opened.tokenizer.encode(text)]
    folder = request.folder.resolve()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(
            f"expected a new or empty folder to write, got {str(folder)!r}, where something is: "
            "remove that or name another folder"
        )
    with os_errors_as_user_errors(f"write {str(folder)!r}"), atomic_folder(folder) as new:
        if request.target == "ctranslate2":
            usage, tagged = to_ctranslate2.USAGE, to_ctranslate2.TAG_USAGE
            agreement = _export_ctranslate2(opened, tags, new, texts, request.quantization)
        else:
            usage, tagged = to_huggingface.USAGE, to_huggingface.TAG_USAGE
            agreement = _export_huggingface(opened, langs, tags, new, texts)
        max_len, tag = opened.model.config.max_len, "".join(opened.tokenizer.pieces(tags))
        text = (usage + tagged if tags else usage).format(
            src=langs[0], tgt=langs[1], example=EXAMPLES.get(langs[0], SENTENCES[0]),
            max_len=max_len, longest=max_len - 1 - len(tags), tag=tag,
        )  # fmt: skip
        (new / "README.md").write_text(text, encoding="utf-8")
        (new / ORIGINAL_CARD).write_bytes((opened.folder / MODEL_CARD).read_bytes())
    return agreement
