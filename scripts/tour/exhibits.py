"""What each stop shows: its numbers and pictures as HTML, by the name of their placeholder."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from scripts.tour import digits as digit_images
from scripts.tour import figures as draw
from scripts.tour import lessons, page, trained_model
from scripts.tour.captions import PAPER, say, verdict
from scripts.tour.comparison import Settings
from scripts.tour.recurrent import Recurrent
from transformer import model as network
from transformer.decoding import search
from transformer.explain import trace as insight
from transformer.explain.trace import Trace, trace
from transformer.translation.translator import Translator

N_SHOWN = 5  # candidates of a step
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


@dataclasses.dataclass(frozen=True, slots=True)
class Trained:
    """What had to be trained or timed, as JSON keeps it."""

    digits: dict[str, Any]
    runners: list[dict[str, Any]]
    reading: dict[str, list[float]]
    lengths: Sequence[int]
    settings: Settings


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """Everything that the page shows, before it is drawn."""

    translator: Translator
    trained: Trained
    stack: trained_model.Stack
    stepped: Trace
    looks: trained_model.Looks

    @classmethod
    def collect(cls, translator: Translator, trained: Trained) -> "Findings":
        """Asks the model everything that the stops 9 to 11 need."""
        stack, stepped = trained_model.stack(translator.model), trained_model.STEPPED
        looks = trained_model.look(translator)
        return cls(translator, trained, stack, trace(translator, stepped), looks)


def mixture(mixed: lessons.Mixture, t: Callable[[str], str], picture: str = "") -> str:
    """X, A and A X side by side, and where the points go."""
    shown = [
        page.matrix(mixed.values, "X", 1, signed=True),
        page.matrix(mixed.weights, "A"),
        page.matrix(mixed.output, "A X", signed=True),
    ]
    if picture:
        shown.append(draw.plane(mixed.values.tolist(), mixed.output.tolist(), t(picture)))
    return page.figure("".join(shown), t("Rings: X. Discs: A X.") if picture else "")


def worked(t: Callable[[str], str]) -> dict[str, str]:
    """Stops 1 to 7."""
    itself, first = lessons.hard()
    mostly, mean = lessons.soft()
    alone = lessons.self_attention()
    scores, context = lessons.recurrent()
    scaled, heads, masks = lessons.scaled(), lessons.heads(), lessons.masks()
    both = [
        (t("undivided"), scaled["scores"][0], scaled["sharp"][0]),
        (t("divided by 8"), scaled["divided"][0], scaled["weights"][0]),
    ]
    rows = [
        (name, *(page.number(float(x), 0) for x in s), *(page.number(float(x), 4) for x in w))
        for name, s, w in both
    ]
    numbers = page.table(("", t("score 1"), t("score 2"), t("weight 1"), t("weight 2")), rows)
    shown = [
        page.matrix(lessons.ENCODER, t("h, encoder states"), 0, signed=True),
        page.matrix(lessons.DECODER, t("s, decoder state"), 0, signed=True),
        page.matrix(context.weights, t("α, weights")),
        page.matrix(context.output, t("c, context"), signed=True),
    ]
    weights = heads.weights[None]
    return {
        "hard_figure": mixture(itself, t, "hard attention") + mixture(first, t),
        "soft_figure": mixture(mostly, t, "soft attention") + mixture(mean, t, "the mean"),
        "self_figure": mixture(alone, t, "self-attention"),
        "self_third": page.number(float(alone.weights[2, 2]), 4),
        "recurrent_figure": page.figure("".join(shown)),
        "recurrent_scores": ", ".join(page.number(float(x), 0) for x in scores[0]),
        "recurrent_weights": ", ".join(page.number(float(x), 4) for x in context.weights[0]),
        "scaled_figure": numbers,
        "heads_figure": page.figure(
            draw.heads(weights, t("weights of eight heads"), side=17),
            t("Heads 1 to 8; each row is a word that looks at the four columns."),
        ),
        "heads_difference": f"{heads.difference:.0e}",
        "heads_soft": page.number(float(heads.weights.amax(-1).mean()), 2),
        "heads_sharp": page.number(float(heads.undivided.amax(-1).mean()), 2),
        "masks_scores": ", ".join(page.number(float(x), 4) for x in masks.scores[0]),
        "masks_leaked": page.number(100 * masks.leaked, 0),
        "masks_figure": page.figure(
            page.matrix(masks.may_look.float(), t("may look"), 0)
            + page.matrix(masks.weights, t("right: −∞"))
            + page.matrix(masks.slip, t("slip: −1e−9"))
        ),
    }


def digits(found: dict[str, Any], t: Callable[[str], str]) -> dict[str, str]:
    """Stop 8."""
    rows = []
    for kind, name in (("attention", "attention over patches"), ("perceptron", "perceptron"),
                       ("linear", "linear layer alone")):  # fmt: skip
        values = found["accuracy"][kind]
        each = ", ".join(page.number(value, 1) for value in values)
        rows.append((t(name), page.number(found["parameters"][kind], 0),
                     page.number(fmean(values), 1), each))  # fmt: skip
    heads = ("", t("parameters"), t("right, in %"), t("of three splits"))
    names = [
        f"{label} → {guess}" for label, guess in zip(found["labels"], found["guesses"], strict=True)
    ]
    return {
        "digits_images": page.number(digit_images.N_IMAGES, 0),
        "digits_table": page.table(heads, rows),
        "digits_figure": page.figure(
            draw.digits(found["images"], found["weights"], names, t("digits and their patches")),
            t("Above: test images, their patches, the digit and what the model says. "
              "Below: how much weight each patch gets on average from all patches."),
        ),
    }  # fmt: skip


def stack(found: Findings, t: Callable[[str], str]) -> dict[str, str]:
    """Stop 9."""
    config, facts = found.translator.config, found.stack
    names = {name: t(words) for name, words in PAPER.items()}
    codes = facts.positions[None, None]
    return {
        "n_encoder": str(config.n_encoder_layers),
        "n_decoder": str(config.n_decoder_layers),
        "d_model": str(config.d_model),
        "n_heads": str(config.n_heads),
        "parameters": f"{facts.parameters:,}",
        "paper_parameters": f"{facts.paper_parameters:,}",
        "stack_figure": page.figure(
            draw.stack(config.n_encoder_layers, config.n_decoder_layers, names, t("the stack"))
        ),
        "likeness_figure": page.figure(
            page.matrix(facts.likeness, t("cosine between encoder layers"), 3, signed=True)
        ),
        "positions_figure": page.figure(
            draw.heads(codes, t("position codes"), side=9),
            t("Rows: positions 0 to 23. Columns: the first 48 channels."),
        ),
    }


def candidates(choices: Sequence[insight.Choice]) -> str:
    """The likeliest pieces with their probabilities as bars."""
    return "<br>".join(
        f'<span class="piece">{escape(choice.piece)}</span>'
        f'<span class="bar" style="--v:{choice.probability:.3f}"></span>'
        f"{page.number(choice.probability, 3)}"
        for choice in choices[:N_SHOWN]
    )


def steps(found: Findings, t: Callable[[str], str]) -> dict[str, str]:
    """Stop 10."""
    traced, rows = found.stepped, []
    for number, choices in enumerate(traced.steps):
        before = "".join(traced.target_pieces[:number]).replace("▁", " ").strip()
        rows.append((str(number + 1), escape(before or "—"), candidates(choices)))
    shown = page.table((t("step"), t("written so far"), t("what may follow")), rows)
    return {
        "vocab_size": page.number(found.translator.config.vocab_size, 0),
        "stepped_source": traced.source,
        "steps_figure": shown.replace('class="plain"', 'class="plain steps"'),
    }


def looks(found: trained_model.Looks, t: Callable[[str], str]) -> dict[str, str]:
    """Stop 11."""
    free, forced = found.free, found.forced
    encoder, decoder = found.encoder, found.decoder
    step = trained_model.word(forced.target_words, "it").first
    read = ("<s>", *forced.target_pieces[:-1])
    cross = forced.cross[found.layer].mean(0)
    maps = [
        (t("encoder"), free.encoder, encoder.place),
        (t("decoder, looking back"), forced.decoder, decoder.place),
        (t("decoder, looking at the source"), forced.cross, None),
    ]
    source = free.source_pieces
    return {
        "sentence": free.source,
        "free_target": free.target,
        **ties(encoder, "encoder", free.encoder),
        **ties(decoder, "decoder", forced.decoder),
        "encoder_figure": page.figure(
            draw.heat(source, source, free.encoder[encoder.place], t("encoder"))
        ),
        "decoder_figure": page.figure(
            draw.heat(
                forced.target_pieces,
                read,
                forced.decoder[decoder.place],
                t("decoder, looking back"),
            ),
            t("Rows: the piece that a step writes. Columns: the pieces read so far."),
        ),
        "it_chance": page.number(found.chance, 2),
        "choices_figure": f"<p>{candidates(forced.steps[step])}</p>",
        "cross_layer": str(found.layer + 1),
        "cross_figure": page.figure(
            draw.heat(forced.target_pieces, source, cross, t("decoder, looking at the source"))
        ),
        "maps_figure": "".join(
            page.figure(draw.heads(of_kind, name, place), name) for name, of_kind, place in maps
        ),
    }


def ties(tie: trained_model.Tie, name: str, maps: Tensor) -> dict[str, str]:
    """What the text says of one head; layers and heads are counted from 1 there."""
    shown = {
        "layer": str(tie.place[0] + 1),
        "head": str(tie.place[1] + 1),
        "weight": page.number(tie.weight, 2),
        "rival": page.number(tie.rival, 2),
        "won": str(tie.won),
        "heads": str(maps.size(0) * maps.size(1)),
    }
    if name == "decoder":
        del shown["won"], shown["heads"]
    return {f"{name}_{key}": value for key, value in shown.items()}


def comparison(found: Trained, t: Callable[[str], str]) -> dict[str, str]:
    """Stop 12."""
    rows = [
        (
            t(runner["name"]),
            f"{runner['parameters']:,}",
            page.number(runner["laps"][-1]["seconds"] / len(runner["laps"]), 1),
            "{value:.1f} [{low:.1f}, {high:.1f}]".format(**runner["test"]),
        )
        for runner in found.runners
    ]
    series = {
        t(runner["name"]): [(0.0, 0.0), *((lap["seconds"], lap["bleu"]) for lap in runner["laps"])]
        for runner in found.runners
    }
    lengths = [f"{n} {t('pieces')}" for n in found.lengths]
    reading = [
        (t(name), *(page.number(value, 1) for value in values))
        for name, values in found.reading.items()
    ]
    tokens = found.runners[0]["tokens"]
    return {
        "path_figure": page.figure(
            draw.path(9, (t("recurrence: 8 steps"), t("attention: 1 step")), t("paths"))
        ),
        "reading_figure": page.table((t("milliseconds"), *lengths), reading),
        "race_corpus": escape(Path(found.settings.train).name),
        "race_epochs": str(found.settings.epochs),
        "race_sentences": str(found.runners[0]["sentences"]),
        "race_length": page.number(tokens, 0),
        "race_table": page.table(("", t("parameters"), t("seconds a pass"), "BLEU"), rows),
        "race_figure": page.figure(
            draw.curves(series, t("seconds of processor time"), "BLEU"),
            t("BLEU on development sentences after each pass."),
        ),
    }


def exhibits(found: Findings, language: str) -> dict[str, str]:
    """Every placeholder of a template with its HTML."""

    def t(english: str) -> str:
        return say(english, language)

    formulas = {f"f_{name}": formula for name, formula in page.formulas().items()}
    told = {
        **worked(t),
        **digits(found.trained.digits, t),
        **stack(found, t),
        **steps(found, t),
        **looks(found.looks, t),
        **comparison(found.trained, t),
        "race_words": verdict(found.trained.runners, language),
    }
    if language == "es":  # the comma is a decimal sign to many readers: a space for thousands
        told = {name: THOUSANDS.sub("\u202f", html) for name, html in told.items()}
    model_name = Path(found.translator.name).name
    return {"model_name": model_name, "torch": torch.__version__, **formulas, **codes(), **told}


def codes() -> dict[str, str]:
    """The lines of the source that each stop shows."""
    weights, many = network.attention_weights, network.MultiHeadAttention
    shown: dict[str, Sequence[tuple[Any, str, str]]] = {
        "hard": [(weights, "if mask is not None", "return")],
        "soft": [(weights, "return", "return"), (lessons.Mixture, "return", "")],
        "self": [(network.EncoderLayer.forward, "attend =", "")],
        "recurrent": [(Recurrent.read, "weights =", "context")],
        "scaled": [(many.kv, "def kv", ""), (weights, "scores =", "scores =")],
        "heads": [(many._split, "def", ""), (many.forward, "def", "")],
        "masks": [
            (network.padding_mask, "def", ""),
            (network.causal_mask, "return", ""),
            (weights, "if mask is not None", "return"),
        ],
        "digits": [(digit_images.PatchClassifier, "def __init__", "return")],
        "stack": [
            (network.Residual.forward, "def", ""),
            (network.Transformer.encode, "def", ""),
            (network.sinusoids, "positions =", ""),
        ],
        "steps": [(search.greedy_search, "while True", "tokens = torch.cat")],
        "maps": [(many.weights, "def", ""), (insight._watched, "def watch", "return module")],
        "race": [(Recurrent.encode, "def", "memory, _"), (network.EncoderLayer.forward, "def", "")],
    }
    return {
        f"{stop}_code": "".join(page.snippet(*lines) for lines in of_stop)
        for stop, of_stop in shown.items()
    }
