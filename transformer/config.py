"""Settings as frozen dataclasses, whose fields make flags; ValueError for values out of range."""

import dataclasses
import ipaddress
import itertools
import operator
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

FORMAT, FORMAT_BOTH = 1, 2  # of the checkpoint folder, of one direction and of several
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)  # the special pieces of every vocabulary
# Pieces that stand for what is copied as it is (a name, an address): private-use characters.
SLOTS = tuple(chr(code) for code in range(0xE000, 0xE008))
BACK_TRANSLATED, COPIED = "<bt>", "<copy>"  # begin a side of a pair that nobody wrote
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
Direction = tuple[str, str]  # source and target language
SentencePair = tuple[str, str]  # source and target text


def source_tags(langs: Iterable[str]) -> tuple[str, ...]:
    """Return the control pieces that begin a source: <2LANG> of each target language, and <bt>."""
    return (*(target_tag(lang) for lang in sorted(langs)), BACK_TRANSLATED)


def target_tag(lang: str) -> str:
    """Return the first source piece for a target language, if a model has several directions."""
    return f"<2{lang}>"


class UserError(Exception):
    """An error that the user can fix; the message says what was expected, what came, what to do."""


def option(
    default: Any, help: str, *, auto: bool = False, metavar: str | tuple[str, ...] | None = None
) -> Any:
    """Return a dataclass field with a help text for its flag.

    `auto`: the flag takes the word auto for 0. `metavar` names the values of a flag that has
    several: each one, or all by one word.
    """
    metadata = {"help": help, "auto": auto, "metavar": metavar}
    return dataclasses.field(default=default, metadata=metadata)


def choices(hint: Any) -> tuple[Any, ...]:
    """Return the values that a Literal type allows; empty for any other type."""
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


def validate(config: Any, bounds: Mapping[str, str], rules: Mapping[str, bool]) -> None:
    """Raise a ValueError that lists every broken rule; each config below calls this when made.

    `bounds` maps a condition to the names of fields, as {"0 <= {} < 1": "dropout ema"}; `rules`
    maps the text of any other rule to whether it holds. Choices of Literal fields and the range
    of 64-bit numbers are checked, too.
    """
    rules = dict(rules)
    for bound, names in bounds.items():
        for name in map(sys.intern, names.split()):  # Python keeps each name that is looked up
            value = getattr(config, name)
            rules[f"{bound.format(name)}, not {value}"] = _is_within(bound, value)
    for name, hint in typing.get_type_hints(type(config)).items():
        value = getattr(config, name)
        if isinstance(value, int | float):
            rules[f"{name} within 64 bits, not {value}"] = -(2**63) <= value < 2**63
        if allowed := choices(hint):
            rules[f"{name} {' or '.join(allowed)}, not {value}"] = value in allowed
    broken = [rule for rule, holds in rules.items() if not holds]
    if broken:
        raise ValueError(f"{type(config).__name__}: expected {'; '.join(broken)}")


def _is_within(bound: str, value: float) -> bool:
    terms = bound.split()
    numbers = itertools.pairwise(value if term == "{}" else float(term) for term in terms[::2])
    return all(OPERATORS[sign](*pair) for sign, pair in zip(terms[1::2], numbers, strict=True))


# Beyond what any machine trains; a damaged or hostile checkpoint may ask for anything.
MAX_SIZES = {2**16: "d_model max_len", 2**18: "d_ff", 2**22: "vocab_size",
           1000: "n_encoder_layers n_decoder_layers"}  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """The shape of the model, in the letters of Vaswani et al. 2017, Table 3."""

    vocab_size: int = option(8000, "pieces of the joint vocabulary")
    d_model: int = option(512, "width of the residual stream")
    n_heads: int = option(8, "attention heads; d_model is divided among them")
    n_encoder_layers: int = option(6, "encoder layers")
    n_decoder_layers: int = option(6, "decoder layers")
    d_ff: int = option(2048, "inner width of the feed-forward sublayer")
    dropout: float = option(0.1, "dropout on embeddings and on every sublayer's output")
    max_len: int = option(512, "longest source or target in pieces")
    norm: Literal["post", "pre"] = option("post", "normalise after the sublayer (paper) or before")
    positions: Literal["sinusoidal", "learned"] = option("sinusoidal", "position encodings")
    activation: Literal["relu", "gelu"] = option("relu", "activation of the feed-forward sublayer")

    def __post_init__(self) -> None:
        validate(self, {
            "{} >= 1": "vocab_size d_model n_heads n_encoder_layers n_decoder_layers d_ff",
            "{} >= 2": "max_len", "0 <= {} < 1": "dropout",
            **{f"{{}} <= {most}": names for most, names in MAX_SIZES.items()},
        }, {
            f"an even d_model, not {self.d_model}": self.d_model % 2 == 0,
            f"d_model divisible by n_heads, not {self.d_model} by {self.n_heads}": (
                self.n_heads < 1 or self.d_model % self.n_heads == 0
            ),
        })  # fmt: skip

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Build a config from what `dataclasses.asdict` gave; ValueError otherwise."""
        fields = {field.name: type(field.default) for field in dataclasses.fields(cls)}
        names = fields.keys()
        if names != set(values):
            raise ValueError(
                f"{cls.__name__}: unknown keys {sorted(set(values) - names)}, "
                f"missing keys {sorted(names - set(values))}"
            )
        for name, kind in fields.items():
            if type(values[name]) not in ((float, int) if kind is float else (kind,)):
                raise ValueError(f"{name} must be {kind.__name__}, not {str(values[name])[:40]}")
        return cls(**values)


# `base` and `big` are the paper's; `small` and `tiny` are for a CPU: a deep encoder is cheap
# to run (once per sentence), a shallow decoder is cheap per token (Kasai et al. 2021).
PRESETS: Mapping[str, Mapping[str, Any]] = types.MappingProxyType({
    "tiny": {"d_model": 128, "n_heads": 4, "n_encoder_layers": 3, "n_decoder_layers": 2,
             "d_ff": 512, "max_len": 256, "norm": "pre"},
    "small": {"d_model": 256, "n_heads": 4, "n_encoder_layers": 4, "n_decoder_layers": 2,
              "d_ff": 1024, "max_len": 256, "norm": "pre"},
    "base": {"d_model": 512, "n_heads": 8, "n_encoder_layers": 6, "n_decoder_layers": 6,
             "d_ff": 2048},
    "big": {"d_model": 1024, "n_heads": 16, "n_encoder_layers": 6, "n_decoder_layers": 6,
            "d_ff": 4096, "dropout": 0.3},
})  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ColumnConfig:
    """Which columns of a table hold source and target, where its header does not say so.

    ValueError unless `columns` are none or two different names.
    """

    columns: tuple[str, ...] = option(
        (), "names of the source and the target column, in tables that have them (default: those "
        "named as the languages, es or Spanish, else source and target)", metavar=("SRC", "TGT")
    )  # fmt: skip
    swap: bool = option(False, "exchange source and target of a corpus whose columns look swapped; "
                        "without it, training on one stops")  # fmt: skip

    def __post_init__(self) -> None:
        validate(self, {}, self._column_rules())

    def _column_rules(self) -> dict[str, bool]:
        rule = f"two different columns, not {' '.join(self.columns)}"
        return {rule: not self.columns or len({*self.columns}) == len(self.columns) == 2}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CorpusConfig(ColumnConfig):
    """Which pairs are kept, and how the vocabulary is made."""

    max_words: int = option(200, "drop pairs with more words on a side")
    max_ratio: float = option(3.0, "drop pairs in which one side has more than this many times the "
                              "characters of the other, plus 15")  # fmt: skip
    max_pairs: int = option(0, "read at most this many pairs of each source; 0: all")
    drop_long: bool = option(False, "drop pairs with more than max_len pieces instead of stopping")
    skip_bad: bool = option(False, "skip and count rows that are not a pair instead of stopping")
    tokenizer: Literal["unigram", "bpe"] = option("unigram", "kind of subword vocabulary")
    tokenizer_sample: int = option(200_000, "sentences to train the vocabulary on")
    workers: int = option(0, "processes that clean and tokenise; 0: one for each core")

    def __post_init__(self) -> None:
        bounds = {"{} >= 1": "max_words tokenizer_sample", "{} > 1": "max_ratio",
                  "{} >= 0": "max_pairs workers"}  # fmt: skip
        validate(self, bounds, self._column_rules())


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class NoiseConfig:
    """How often training alters pairs to look like everyday typing, from 0 (never) to 1."""

    noise_accents: float = option(0.0, "share of the sources without accents: manana")
    noise_opening: float = option(0.0, "share of the sources without ¿ and ¡")
    noise_stop: float = option(0.0, "share of the pairs without the final stop")
    noise_lower: float = option(0.0, "share of the sources in lower case")
    noise_typos: float = option(0.0, "share of the sources with one or two typos")
    noise_slots: float = option(0.0, "share of the pairs with placeholders for some of the names, "
                                "numbers and addresses that both sides have")  # fmt: skip
    noise_names: float = option(0.0, "share of the pairs with other names of people and places")
    noise_caps: float = option(0.0, "share of the batches in capitals")
    noise_title: float = option(0.0, "share of the batches with every word capitalised")
    noise_joined: float = option(0.0, "share of the batches with two or three pairs joined to one")
    noise_copied: float = option(0.0, "share of the batches with a random token or a placeholder "
                                 "inserted on both sides, to learn to copy")  # fmt: skip

    def __post_init__(self) -> None:
        validate(self, {"0 <= {} <= 1": " ".join(NOISE_FIELDS)}, self._noise_rules())

    @property
    def has_noise(self) -> bool:
        """Whether training alters any pair."""
        return any(getattr(self, name) for name in NOISE_FIELDS)

    def _noise_rules(self) -> dict[str, bool]:
        styles = self.noise_caps + self.noise_title + self.noise_joined + self.noise_copied
        return {f"caps, title, joined and copied of 1 together, not {styles:.3g}": styles <= 1}


NOISE_FIELDS = tuple(field.name for field in dataclasses.fields(NoiseConfig))
NOISE_PRESETS: Mapping[str, Mapping[str, Any]] = types.MappingProxyType({
    "none": {},
    "robust": {"noise_accents": 0.06, "noise_opening": 0.05, "noise_stop": 0.05,
               "noise_lower": 0.03, "noise_typos": 0.05, "noise_slots": 0.30, "noise_caps": 0.02,
               "noise_title": 0.01, "noise_joined": 0.04, "noise_copied": 0.02},
})  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig(NoiseConfig):
    """How to train. Schedule and optimiser: Vaswani et al. 2017, section 5."""

    batch_tokens: int = option(0, "source plus target tokens of a micro-batch (one forward pass), "
                               "padding included; auto: by the size of the corpus",
                               auto=True)  # fmt: skip
    pad_multiple: int = option(0, "pad batches to lengths that are multiples of this: there are "
                               "fewer shapes to prepare kernels for; usual: 4 or 8; 0: off"
                               )  # fmt: skip
    accumulate: int = option(1, "micro-batches of each process in one optimiser step")
    optimizer: Literal["auto", "adam", "muon"] = option(
        "auto", "muon: Muon for the matrices and Adam for the rest; auto: muon if --norm is pre, "
        "else adam"
    )  # fmt: skip
    schedule: Literal["auto", "paper", "constant", "wsd"] = option(
        "auto", "learning rate after warm-up: paper: falls as step^-0.5; constant; wsd (warm-up, "
        "stable, decay): constant, then falls to zero; auto: wsd if --norm is pre, else paper"
    )  # fmt: skip
    learning_rate: float = option(
        0.0, "highest learning rate; auto: the paper's peak rate at this --d-model and 4,000 "
        "warm-up steps; with muon three times that, unless --init is given; with --schedule paper "
        "and --warmup, the paper's peak rate at that --warmup", auto=True
    )  # fmt: skip
    lr_scale: float = option(1.0, "factor on the learning rate")
    warmup: int = option(0, "steps of linear warm-up; auto: by --warmup-ratio", auto=True)
    warmup_ratio: float = option(0.08, "warm-up as a share of all steps")
    cooldown: int = option(0, "number of final steps, of --max-steps, over which the rate falls to "
                           "zero, with any --schedule; 0: by --cooldown-ratio")  # fmt: skip
    cooldown_ratio: float = option(0.4, "share of final steps over which the rate of wsd falls to "
                                   "zero; --cooldown replaces it")  # fmt: skip
    label_smoothing: float = option(0.1, "probability mass spread over the whole vocabulary")
    clip: float = option(1.0, "largest gradient norm; 0: no clipping")
    sample_alpha: float = option(0.0, "draw the segmentation into pieces anew each time, with a "
                                 "probability P^alpha (Kudo 2018); usual: 0.2; 0: off")  # fmt: skip
    ema: float = option(0.999, "decay of the moving average of the weights; 0: off")
    average: int = option(5, "checkpoints averaged at the end; 0: off")
    seed: int = option(1, "random seed of the weights, the batches and the dropout")
    max_steps: int = option(0, "stop after this many optimiser steps; 0: no limit")
    max_epochs: int = option(0, "stop after this many passes over the data; 0: no limit")
    max_minutes: float = option(
        0.0, "stop after this many minutes of training, counting earlier parts of a resumed run; "
        "with --fine-tune the limit includes preparing and measuring; 0: no limit"
    )  # fmt: skip
    save_every: int = option(500, "steps between checkpoints to resume from")
    eval_every: int = option(500, "steps between validations")
    eval_pairs: int = option(500, "development pairs translated for the validation BLEU")
    log_every: int = option(
        0, "steps between progress lines; auto: one after the first step and every ten seconds",
        auto=True
    )  # fmt: skip
    patience: int = option(0, "stop after this many validations without a better score; 0: never")
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto", "number type; auto: bfloat16 where the device is faster with it, else float32"
    )
    compile: bool = option(False, "compile the layers with torch.compile")
    threads: int = option(0, "CPU threads of each process; 0: one for each core")
    loader_workers: int = option(
        -1, "processes that prepare batches ahead; 0: none; -1: none on a CPU; for a GPU its share "
        "of the cores, less one, at most 12"
    )  # fmt: skip
    report_to: Literal["none", "tensorboard"] = option(
        "none", "also write curves for TensorBoard into the run's folder (extra `tracking`)"
    )
    track: bool = option(False, "the same as --report-to tensorboard")

    @property
    def is_tracked(self) -> bool:
        return self.track or self.report_to == "tensorboard"

    def __post_init__(self) -> None:
        validate(self, {
            "0 <= {} <= 1": " ".join((*NOISE_FIELDS, "cooldown_ratio")),
            "{} >= 1": "accumulate save_every eval_every",
            "{} >= 0": "max_steps max_epochs max_minutes patience warmup cooldown average clip "
            "eval_pairs sample_alpha seed learning_rate pad_multiple log_every threads",
            "{} >= -1": "loader_workers",
            "{} > 0": "lr_scale", "0 < {} < 1": "warmup_ratio",
            "0 <= {} < 1": "label_smoothing ema",
        }, {
            **self._noise_rules(),
            f"batch_tokens >= 8, not {self.batch_tokens}": (
                self.batch_tokens == 0 or self.batch_tokens >= 8
            ),
            f"cooldown <= max_steps, not {self.cooldown} of {self.max_steps}": (
                self.cooldown <= self.max_steps
            ),
        })  # fmt: skip


# A finished model goes on: a low rate that falls to zero; 15 minutes, measuring included.
FINE_TUNE: Mapping[str, Any] = types.MappingProxyType({
    "optimizer": "adam", "schedule": "wsd", "learning_rate": 3e-4, "cooldown_ratio": 0.6,
    "dropout": 0.1, "drop_long": True, "average": 0, "eval_every": 200, "ema": 0.99,
})  # fmt: skip
FINE_TUNE_LIMITS: Mapping[str, Any] = types.MappingProxyType({"max_epochs": 6, "max_minutes": 15.0})
MAX_BEAM_SIZE = 256  # beams: memory and time grow with them, and translations get no better
ComputeType = Literal["auto", "float32", "bfloat16", "int8"]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class DecodeConfig:
    """How to search for a translation."""

    beam_size: int = option(1, "hypotheses kept at each step; 1: greedy")
    n_best: int = option(1, "translations to output for each sentence, at most --beam-size")
    alpha: float = option(0.6, "length penalty of beam search (Wu et al. 2016, eq. 14)")
    max_ratio: float = option(2.0, "longest translation: this times the subword pieces of the "
                              "source, plus 10")  # fmt: skip
    no_repeat_ngram: int = option(0, "never write the same N pieces twice; 0: no such rule")
    batch_tokens: int = option(4096, "source pieces translated at once, padding included")
    scores: bool = option(True, "also score greedy translations, which takes a little longer")

    def __post_init__(self) -> None:
        bounds = {"{} >= 1": "beam_size batch_tokens", f"{{}} <= {MAX_BEAM_SIZE}": "beam_size",
                  "{} >= 0": "alpha no_repeat_ngram", "0 < {} <= 1000": "max_ratio"}  # fmt: skip
        validate(self, bounds, {
            f"1 <= n_best <= beam_size, not {self.n_best} of {self.beam_size}": (
                1 <= self.n_best <= self.beam_size
            ),
        })  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ServeConfig:
    """Where the server listens, and its limits."""

    host: str = option("127.0.0.1", "address to listen on; 0.0.0.0 lets other machines in")
    port: int = option(5000, "port to listen on; 0: any free one")
    char_limit: int = option(20_000, "most characters of a request, all its texts together")
    batch_limit: int = option(100, "most texts of a request")
    file_mib: float = option(8.0, "largest file to translate, in MiB")
    file_char_limit: int = option(500_000, "most characters of a file to translate")
    per_minute: int = option(0, "requests a minute of each client without a key; 0: no limit")
    queue_limit: int = option(10_000, "most waiting sentences, of all clients together")
    timeout: float = option(60.0, "seconds until a request is aborted; ten times that for a file")
    glossary_limit: int = option(5000, "most terms in the glossary of a request")
    max_alternatives: int = option(5, "most alternative translations that a request may ask for")
    api_keys: str = option("", "file of API keys, made with --new-api-key; needed for all requests")
    connections: int = option(1024, "most open connections, of all clients together")
    address_connections: int = option(256, "most open connections from one address")
    behind_proxy: tuple[str, ...] = option(
        (), "addresses or networks of proxies whose headers are trusted for the client "
        "(X-Forwarded-For), the scheme (-Proto) and the host (-Host, Host)", metavar="ADDRESS"
    )  # fmt: skip
    cors: str = option("", "origin whose pages may call the server, such as https://a.org; *: any")

    def __post_init__(self) -> None:
        validate(self, {
            "{} > 0": "char_limit batch_limit file_mib file_char_limit glossary_limit queue_limit "
            "timeout connections address_connections",
            "0 <= {} < 65536": "port", "{} >= 0": "per_minute", "0 <= {} <= 20": "max_alternatives",
        }, {
            f"behind_proxy addresses or networks, not {' '.join(self.behind_proxy)}": all(
                map(_is_network, self.behind_proxy)
            ),
        })  # fmt: skip


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def model_config(preset: str, **changes: Any) -> ModelConfig:
    """Return a preset with fields replaced; UserError if it is unknown, ValueError for a value."""
    if preset not in PRESETS:
        raise UserError(f"expected a preset out of {', '.join(PRESETS)}; got {preset!r}")
    return ModelConfig(**{**PRESETS[preset], **changes})
