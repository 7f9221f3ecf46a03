"""Settings: rules and presets."""

import dataclasses
import math
from typing import Any

import pytest

from transformer.config import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    PRESETS,
    UNK_ID,
    CorpusConfig,
    DecodeConfig,
    ModelConfig,
    NoiseConfig,
    ServeConfig,
    TrainConfig,
    UserError,
    model_config,
)

CONFIGS = pytest.mark.parametrize("cls", [ModelConfig, CorpusConfig, TrainConfig, DecodeConfig])


def at_least(least: int, *names: str) -> dict[str, tuple[Any, str]]:
    """A value below the least of each field, and what is said of it."""
    return {name: (least - 1, f"{name} >= {least}, not {least - 1}") for name in names}


BROKEN: dict[type[Any], dict[str, tuple[Any, str]]] = {
    ModelConfig: {
        **at_least(1, "vocab_size", "n_encoder_layers", "n_decoder_layers", "d_ff"),
        "d_model": (7, "an even d_model, not 7"),
        "n_heads": (3, "d_model divisible by n_heads, not 7 by 3"),
        "dropout": (1.0, "0 <= dropout < 1, not 1.0"),
        "max_len": (1, "max_len >= 2, not 1"),
        "norm": ("both", "norm post or pre, not both"),
        "positions": ("rotary", "positions sinusoidal or learned, not rotary"),
        "activation": ("tanh", "activation relu or gelu, not tanh"),
    },
    CorpusConfig: {
        **at_least(1, "max_words", "tokenizer_sample"),
        **at_least(0, "max_pairs", "workers"),
        "max_ratio": (1.0, "max_ratio > 1, not 1.0"),
        "columns": (("es",), "two different columns, not es"),
    },
    TrainConfig: {
        **{
            field.name: (-0.5, f"0 <= {field.name} <= 1, not -0.5")
            for field in dataclasses.fields(NoiseConfig)
        },
        **at_least(8, "batch_tokens"),
        **at_least(1, "accumulate", "save_every", "eval_every"),
        **at_least(-1, "loader_workers"),
        **at_least(0, "warmup", "average", "seed", "max_steps", "max_epochs", "max_minutes",
                   "eval_pairs", "patience", "learning_rate", "clip", "sample_alpha",
                   "pad_multiple", "log_every", "threads"),
        "lr_scale": (0.0, "lr_scale > 0, not 0.0"),
        "cooldown": (2, "cooldown <= max_steps, not 2 of -1"),
        "warmup_ratio": (0.0, "0 < warmup_ratio < 1, not 0.0"),
        "cooldown_ratio": (1.5, "0 <= cooldown_ratio <= 1, not 1.5"),
        "label_smoothing": (1.0, "0 <= label_smoothing < 1, not 1.0"),
        "ema": (1.0, "0 <= ema < 1, not 1.0"),
    },
    DecodeConfig: {
        **at_least(1, "beam_size", "batch_tokens"),
        **at_least(0, "alpha", "no_repeat_ngram"),
        "n_best": (5, "1 <= n_best <= beam_size, not 5 of 0"),
        "max_ratio": (0.0, "0 < max_ratio <= 1000, not 0.0"),
    },
}  # fmt: skip


@CONFIGS
def test_all_broken_rules_stand_in_one_message(cls: type[Any]) -> None:
    broken = BROKEN[cls]
    with pytest.raises(ValueError, match=f"^{cls.__name__}: expected ") as caught:
        cls(**{name: value for name, (value, _) in broken.items()})
    said = str(caught.value).removeprefix(f"{cls.__name__}: expected ").split("; ")
    assert sorted(said) == sorted(rule for _, rule in broken.values())


@CONFIGS
def test_every_number_and_choice_has_a_rule(cls: type[Any]) -> None:
    free = {"drop_long", "skip_bad", "swap", "tokenizer", "optimizer", "schedule", "precision",
            "compile", "track", "report_to", "scores"}  # fmt: skip
    assert {field.name for field in dataclasses.fields(cls)} - free == set(BROKEN[cls])


@pytest.mark.parametrize(
    ("cls", "names"),
    [
        (ModelConfig, "norm positions activation"),
        (CorpusConfig, "tokenizer"),
        (TrainConfig, "optimizer schedule precision report_to"),
    ],
)
def test_a_choice_is_checked_without_the_command_line_too(cls: type[Any], names: str) -> None:
    for name in names.split():
        with pytest.raises(ValueError, match=rf"{cls.__name__}: expected .*{name}|.*not telepathy"):
            cls(**{name: "telepathy"})


@CONFIGS
def test_a_config_is_frozen_and_takes_keywords_only(cls: type[Any]) -> None:
    name = dataclasses.fields(cls)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(cls(), name, 1)
    with pytest.raises(TypeError, match="positional argument"):
        cls(1)


def test_no_heads_are_refused_without_dividing_by_them() -> None:
    with pytest.raises(ValueError, match=r"^ModelConfig: expected n_heads >= 1, not 0$"):
        ModelConfig(n_heads=0)


def test_values_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="0 <= dropout < 1, not nan"):
        ModelConfig(dropout=float("nan"))
    with pytest.raises(ValueError, match="lr_scale > 0, not nan"):
        TrainConfig(lr_scale=float("nan"))


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (DecodeConfig, "alpha", math.inf),
        (DecodeConfig, "max_ratio", math.inf),
        (DecodeConfig, "batch_tokens", 2**64 + 1),
        (ServeConfig, "file_mib", math.inf),
        (ServeConfig, "timeout", math.inf),
        (TrainConfig, "learning_rate", math.inf),
        (TrainConfig, "seed", 2**64),
    ],
)
def test_numbers_that_no_machine_counts_to_are_refused(
    cls: type[Any], name: str, value: float
) -> None:
    with pytest.raises(ValueError, match=f"{name} within 64 bits, not "):
        cls(**{name: value})


def test_a_model_config_comes_back_from_json_as_it_was() -> None:
    config = model_config("tiny", vocab_size=101, positions="learned")
    assert ModelConfig.from_json(dataclasses.asdict(config)) == config


def test_unknown_and_missing_keys_are_named() -> None:
    values = dataclasses.asdict(ModelConfig())
    del values["norm"]
    with pytest.raises(
        ValueError, match=r"ModelConfig: unknown keys \['n_embd'\], missing keys \['norm'\]"
    ):
        ModelConfig.from_json({**values, "n_embd": 512})


def test_base_and_big_have_the_numbers_of_the_papers_table_3() -> None:
    base, big = model_config("base"), model_config("big")
    names = "n_encoder_layers", "n_decoder_layers", "d_model", "d_ff", "n_heads", "dropout"
    assert [getattr(base, name) for name in names] == [6, 6, 512, 2048, 8, 0.1]
    assert [getattr(big, name) for name in names] == [6, 6, 1024, 4096, 16, 0.3]
    for config in (base, big):
        shape = config.norm, config.positions, config.activation
        assert shape == ("post", "sinusoidal", "relu")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_valid_and_single_fields_of_it_can_be_replaced(preset: str) -> None:
    config = model_config(preset)
    assert all(getattr(config, name) == value for name, value in PRESETS[preset].items())
    changed = model_config(preset, n_decoder_layers=5)
    assert changed == dataclasses.replace(config, n_decoder_layers=5)


def test_an_unknown_preset_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="preset out of tiny, small, base, big; got 'huge'"):
        model_config("huge")


def test_the_special_pieces_come_first_and_differ() -> None:
    assert (PAD_ID, BOS_ID, EOS_ID, UNK_ID) == (0, 1, 2, 3)
