"""Check the arguments of calls to translate: texts, and options of the search by name."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from transformer.config import DecodeConfig, UserError


def check_texts(texts: object) -> list[str]:
    """Return the text or the texts of an iterable as a list; TypeError for anything else."""
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes | Mapping | set | frozenset) or not isinstance(texts, Iterable):
        raise TypeError(f"expected a text or a list of texts, got {type(texts).__name__}")
    return [check_text(text, number) for number, text in enumerate(texts, 1)]


def check_text(text: object, number: int) -> str:
    """Return `text`; if it is not a string, the TypeError names its `number`, from 1."""
    if not isinstance(text, str):
        raise TypeError(f"expected a string as text {number}, got {type(text).__name__}")
    return text


def search_config(decode: DecodeConfig, changes: Mapping[str, Any]) -> DecodeConfig:
    """Return search settings with some fields changed, as in `translate(..., beam_size=4)`.

    If `n_best` is set, the beam becomes at least as large. TypeError for an unknown option or one
    of a wrong type, UserError for an invalid value.
    """
    if not isinstance(decode, DecodeConfig):
        got = type(decode).__name__
        raise TypeError(
            f'expected a DecodeConfig, or options as to="es" and beam_size=4; got {got}'
        )
    defaults = {field.name: field.default for field in dataclasses.fields(DecodeConfig)}
    for name, value in changes.items():
        if name not in defaults:
            raise TypeError(f"there is no option {name}: a search has {', '.join(defaults)}")
        kind = type(defaults[name])
        if type(value) is not kind and (kind, type(value)) != (float, int):
            raise TypeError(f"expected {name} of type {kind.__name__}, got {value!r}")
    fewest = {"beam_size": max(decode.beam_size, changes.get("n_best", 1))}
    try:
        return dataclasses.replace(decode, **{**fewest, **changes})
    except ValueError as error:
        raise UserError(str(error).removeprefix("DecodeConfig: ")) from error
