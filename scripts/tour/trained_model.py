"""Stops 5 to 13: what the trained model is made of, what it looks at, what each part is good for.

Shapes: L layers, H heads, S source pieces, T target pieces, Q queries, K keys, D model width.
"""

import contextlib
import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast
from unittest import mock

import torch
from torch import Tensor, nn

from scripts.tour import lessons
from scripts.tour.walk import FOLLOWED, find_word
from transformer.config import BOS_ID, EOS_ID, PAD_ID, DecodeConfig, model_config
from transformer.decoding import search
from transformer.decoding.search import greedy_search
from transformer.explain.alignment import Trace
from transformer.explain.trace import best_alignment_layer, trace
from transformer.model import EncoderLayer, Transformer, source_batch
from transformer.text.tokenizer import Word
from transformer.translation.translator import Translator

# The sentence of stop 12, from Spanish, where nothing stands for "it".
EXAMPLE = "El animal no cruzó la calle porque estaba demasiado cansado."
FORCED_TRANSLATION = "The animal didn't cross the street because it was too tired."
STEPS_SENTENCE = "¿Dónde está la biblioteca?"
BEAM_SENTENCE, BEAM_SIZE = "Acabo de comer.", 2
PAPER_VOCABULARY = 37_000
PAPER_MILLIONS = {"base": 65, "big": 213}  # its table 3
KINDS = ("embedding", "self_attention", "cross_attention", "feed_forward", "norm")
MIN_SHARE = 0.4  # of a head's attention, from which on it has the name of what gets it
N_UNITS, N_PIECES = 3, 8


def parameters_by_part(model: nn.Module) -> dict[str, int]:
    """Count the parameters of each kind and in all, and the biases."""
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        kind = next((kind for kind in KINDS if kind in name), "positions")
        counts.update({kind: parameter.numel(), "all": parameter.numel()})
        counts["biases"] += parameter.numel() if name.endswith("bias") else 0
    return dict(counts)


def paper() -> dict[str, Any]:
    """Count the paper's two models with its vocabulary, beside what it states of them."""
    shown = {}
    for preset, millions in PAPER_MILLIONS.items():
        with torch.device("meta"):
            model = Transformer(model_config(preset, vocab_size=PAPER_VOCABULARY))
        counts = parameters_by_part(model)
        rest, width = counts["all"] - counts["embedding"], model.config.d_model
        shown[preset] = {
            **counts,
            "rest": rest,
            "said": millions,
            # with how many pieces the count would round to what the paper says
            "pieces": [math.ceil((1e6 * (millions + off) - rest) / width) for off in (-0.5, 0.5)],
        }
    return shown


def stack(model: Transformer) -> dict[str, Any]:
    """Compute stop 9: the parameters, and the likeness of the layers."""
    rows = torch.stack([
        torch.cat([p.flatten().float() for n, p in layer.named_parameters() if "norm" not in n])
        for layer in model.encoder
    ])  # fmt: skip
    rows = rows / rows.norm(dim=1, keepdim=True)
    return {
        "config": model.config,
        "parts": parameters_by_part(model),
        "paper": paper(),
        "likeness": (rows @ rows.T).tolist(),  # (L, L), cosine of the encoder layers' weights
        "positions": model.positions(0, 24)[:, :48].tolist(),
    }


def real_attention(model: Transformer, traced: Trace) -> dict[str, Any]:
    """Compute stops 5 to 8: the first encoder layer on the sentence of the walk."""
    layer = cast(EncoderLayer, model.encoder[0])
    src = source_batch([traced.source_ids[:-1]])
    pre = model.config.norm == "pre"

    def attend(x: Tensor) -> Tensor:
        y = layer.self_residual.norm(x) if pre else x
        return layer.self_attention(y, layer.self_attention.kv(y))

    x = model.embed(src)
    weights, undivided, difference = lessons.heads(
        layer.self_attention, layer.self_residual.norm(x) if pre else x
    )
    plain = model.embedding(src) * math.sqrt(model.config.d_model)
    order = torch.arange(src.size(1)).flip(0)
    moved = attend(model.embed(src[:, order]))[:, order]
    longer = torch.nn.functional.pad(src, (0, 5), value=PAD_ID)
    own = layer(x, src[:, None, None] != PAD_ID)
    masked = layer(model.embed(longer), (longer != PAD_ID)[:, None, None])[:, : src.size(1)]
    open_to_all = torch.ones_like(longer, dtype=torch.bool)[:, None, None]
    unmasked = layer(model.embed(longer), open_to_all)[:, : src.size(1)]
    return {
        "heads": weights.tolist(),
        "bound": upper_bound(difference),
        "soft": float(weights.amax(-1).mean()),
        "sharp": float(undivided.amax(-1).mean()),
        "shuffled": upper_bound((attend(plain[:, order])[:, order] - attend(plain)).abs().max()),
        "shuffled_codes": _relative_change(moved, attend(x)),
        "padded": upper_bound((masked - own).abs().max()),
        "padding_seen": _relative_change(unmasked, own),
    }


def upper_bound(difference: Tensor | float) -> float:
    """Return a power of ten, 1e-5 at least, that a rounding difference stays below anywhere."""
    return float(10.0 ** max(-5, math.ceil(math.log10(max(float(difference), 1e-9)))))


def _relative_change(x: Tensor, of: Tensor) -> float:
    """Return how far vectors have moved, as a share of their length."""
    return float(((x - of).norm(dim=-1) / of.norm(dim=-1)).mean())


def norms(model: Transformer, traced: Trace) -> list[tuple[float, float]]:
    """Compute stop 10: the size of the vectors before and after each norm of the encoder.

    The root of the mean square, over the pieces; one pair for each norm.
    """
    sizes: list[tuple[float, float]] = []

    def watch(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        before, after = (float(x.pow(2).mean(-1).sqrt().mean()) for x in (inputs[0], output))
        sizes.append((before, after))

    with _forward_hooks(model, r"encoder.*norm", watch):
        model.encode(source_batch([traced.source_ids[:-1]]))
    return sizes


@contextlib.contextmanager
def _forward_hooks(model: nn.Module, names: str, hook: Callable[..., Any]) -> Iterator[None]:
    """Call a hook after the modules whose names match; what it returns replaces their output."""
    with contextlib.ExitStack() as handles:
        for name, module in model.named_modules():
            if re.fullmatch(names, name) and not isinstance(module, nn.Identity):
                handles.enter_context(module.register_forward_hook(hook))
        yield


ABLATED = {  # what is switched off: the names of its modules
    "whole": r"-",
    "positions": r"positions",
    "norm": r".*norm",
    "feed_forward": r".*feed_forward",
    "encoder": r"encoder.*self_attention",
    "decoder": r"decoder.*self_attention",
    "cross": r".*cross_attention",
}


def ablations(translator: Translator, traced: Trace) -> dict[str, tuple[str, float]]:
    """Compute stop 10: what becomes of a sentence without a part of the model.

    Returns the translation, and the probability that the rest gives to a piece of the whole model's
    translation (the geometric mean).
    """
    model, rows = translator.model, {}
    src = source_batch([traced.source_ids[:-1]])
    read, wanted = torch.tensor([[BOS_ID, *traced.target_ids[:-1]]]), list(traced.target_ids)
    for name, pattern in ABLATED.items():
        hook = (lambda _, x, y: x[0]) if name == "norm" else (lambda _, x, y: torch.zeros_like(y))
        with _forward_hooks(model, pattern, hook):
            shares = model(src, read)[0].log_softmax(-1)[range(len(wanted)), wanted]
            ids = greedy_search(model, src)[0].ids
        rows[name] = translator.tokenizer.decode(ids), float(shares.mean().exp())
    return rows


def units(translator: Translator, traced: Trace, texts: Sequence[str]) -> dict[str, Any]:
    """Compute stop 10: which pieces excite units of the first feed-forward network.

    Those that the word followed excites most beside their mean over the texts, each with the
    pieces of the texts that excite it most.
    """
    model = translator.model
    layer = cast(EncoderLayer, model.encoder[0])
    activation, answers = layer.feed_forward.activation, []
    row = find_word(traced.source_words, FOLLOWED).first
    src = source_batch([list(traced.source_ids[:-1]), *map(translator.source_ids, texts)])
    with _forward_hooks(activation, "", lambda *call: answers.append(call[-1])):
        layer(model.embed(src), (src != PAD_ID)[:, None, None])
    hidden, kept = answers[0][1:], src[1:] != PAD_ID
    ids, values = src[1:][kept].tolist(), hidden[kept]  # (N,), (N, F)
    own = answers[0][0, row]
    chosen = (own / (values.mean(0) + 0.05)).topk(N_UNITS).indices.tolist()
    shown = []
    for unit in chosen:
        best: dict[int, float] = {}
        for place in values[:, unit].argsort(descending=True).tolist():
            best.setdefault(ids[place], float(values[place, unit]))
            if len(best) == N_PIECES:
                break
        pieces = translator.tokenizer.pieces(list(best))
        shown.append((unit, float(own[unit]), list(zip(pieces, best.values(), strict=True))))
    return {"texts": len(texts), "awake": float((values > 0).float().mean()), "units": shown}


@torch.inference_mode()
def beam_tree(translator: Translator) -> dict[str, Any]:
    """Compute stop 11: search by beams; 2 x BEAM_SIZE candidates at each step.

    Of each: its piece, the sum of the log-probabilities up to it, the place of its parent among the
    candidates of the step before, that sum divided by the length penalty, whether it is kept, ended
    or pruned, and whether it belongs to the results of beam search and of greedy search.
    """
    model, tokenizer = translator.model, translator.tokenizer
    src = source_batch([translator.source_ids(BEAM_SENTENCE)])
    config = DecodeConfig(beam_size=BEAM_SIZE)
    rounds: list[tuple[Any, ...]] = []
    select_beams = search._select_beams

    def watch(finished: Any, tokens: Any, candidates: Any, config: Any) -> Any:
        places, going = select_beams(finished, tokens, candidates, config)
        scores, parents, chosen = (c[0].tolist() for c in candidates)
        rounds.append((tokens[:, 1:].tolist(), scores, parents, chosen, places[0] * going[0]))
        return places, going

    with mock.patch.object(search, "_select_beams", watch):
        ((best, *_),) = search.beam_search(model, src, config)
    (greedy,) = greedy_search(model, src)
    ends = {"beam": (*best.ids, EOS_ID), "greedy": (*greedy.ids, EOS_ID)}
    steps, before = [], [0]  # the places of the beams among the candidates of the step before
    for history, scores, parents, chosen, kept in rounds:
        rows = []
        for place, (score, parent, token) in enumerate(zip(scores, parents, chosen, strict=True)):
            path = (*history[parent], token)
            ended = token == EOS_ID and place < BEAM_SIZE
            rows.append({
                "piece": tokenizer.pieces([token])[0],
                "score": score,
                "parent": before[parent],
                "final": score / search.length_penalty(len(path), config.alpha),
                "state": "ended" if ended else "kept" if place in kept else "pruned",
                **{name: path == ids[: len(path)] for name, ids in ends.items()},
            })  # fmt: skip
        steps.append(rows)
        before = kept
    results = {"beam": tokenizer.decode(best.ids), "greedy": tokenizer.decode(greedy.ids)}
    shown = {"source": BEAM_SENTENCE, "size": BEAM_SIZE, "alpha": config.alpha, "steps": steps}
    return {**shown, **results}


def attention_examples(translator: Translator) -> dict[str, Any]:
    """Compute stop 12: the sentence with the model's translation, and with the lessons'."""
    free = trace(translator, EXAMPLE)
    forced = trace(translator, EXAMPLE, (*translator.tokenizer.encode(FORCED_TRANSLATION), EOS_ID))
    source, target = free.source_words, forced.target_words
    animal, street, tired = (find_word(source, w) for w in ("animal", "calle", "cansado"))
    it, beast, road = (find_word(target, w) for w in ("it", "animal", "street"))
    # The step that writes "it" reads the piece before it; its column 0 is the start mark.
    later = [dataclasses.replace(w, first=w.first + 1, last=w.last + 1) for w in (beast, road)]
    layer = best_alignment_layer(forced.cross)
    kinds = {"encoder": free.encoder, "decoder": forced.decoder, "cross": forced.cross}
    read = ("<s>", *forced.target_pieces[:-1])
    columns = {"encoder": free.source_pieces, "decoder": read, "cross": free.source_pieces}
    return {
        "free": free,
        "forced": forced,
        "read": read,
        "encoder": strongest_head(free.encoder, tired.first, animal, street),
        "decoder": strongest_head(forced.decoder, it.first, *later),
        "chance": forced.probabilities[it.first],
        "choices": [(c.piece, c.probability) for c in forced.steps[it.first][:5]],
        "cross_layer": layer + 1,
        "cross": forced.cross[layer].mean(0).tolist(),
        "maps": {kind: maps.tolist() for kind, maps in kinds.items()},
        "roles": {kind: roles(kind, maps, columns[kind]) for kind, maps in kinds.items()},
    }


def strongest_head(maps: Tensor, row: int, to: Word, rival: Word) -> dict[str, Any]:
    """Find the head with most weight from the row to a word, and to its rival: (L, H, Q, K)."""
    wanted = maps[:, :, row, to.first : to.last].sum(-1)  # (L, H)
    other = maps[:, :, row, rival.first : rival.last].sum(-1)
    own = int(wanted.argmax())
    layer, head = divmod(own, wanted.size(1))
    return {
        "layer": layer + 1,
        "head": head + 1,
        "weight": float(wanted[layer, head]),
        "rival": float(other[layer, head]),  # what the same head gives to the other word
        "won": int((wanted > other).sum()),  # heads that look more at the first word
        "of": wanted.numel(),
        "own": own,  # its place in `every`
        "every": list(zip(wanted.flatten().tolist(), other.flatten().tolist(), strict=True)),
    }


def roles(kind: str, maps: Tensor, columns: Sequence[str]) -> list[list[tuple[str, float]]]:
    """Name where most of the attention of each layer and head goes, and how much.

    (L, H, Q, K) -> L x H. The first row of the decoder, which sees itself alone, does not count.
    """
    n_rows, n_columns = maps.shape[-2:]
    place = torch.arange(n_columns)
    away = place - torch.arange(n_rows)[:, None]  # (Q, K)
    marks = [not any(map(str.isalnum, piece)) for piece in columns]
    masks = {"marks": torch.tensor(marks).expand(n_rows, -1)}
    if kind == "cross":
        nearest = maps.mean((0, 1))[:, :-1].argmax(-1)
        masks |= {"aligned": place == nearest[:, None]}
    else:
        masks |= {"previous": away == -1, "same": away == 0}
    if kind == "decoder":
        masks |= {"start": (place == 0).expand(n_rows, -1)}
    else:
        masks |= {"end": (place == n_columns - 1).expand(n_rows, -1)}
    if kind == "encoder":
        masks |= {"next": away == 1}
    first = int(kind == "decoder")
    shares = {name: (maps * mask)[..., first:, :].sum(-1).mean(-1) for name, mask in masks.items()}
    names = list(shares)
    best = torch.stack(list(shares.values())).max(0)  # (L, H)
    return [
        [
            (names[n] if share >= MIN_SHARE else "mixed", share)
            for n, share in zip(*layer, strict=True)
        ]
        for layer in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
