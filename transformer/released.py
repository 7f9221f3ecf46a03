"""Where the models are that come with the project: in the installed package, or the repository.

Looks at folders only, so that a model that is not there is told of before torch is imported.
"""

from collections.abc import Sequence
from pathlib import Path

from transformer.config import UserError
from transformer.detect import LANGUAGES
from transformer.folder import existing

Langs = tuple[str, str]

PACKAGE = Path(__file__).resolve().parent
DIRECTIONS: tuple[Langs, ...] = (("es", "en"), ("en", "es"))


def direction(src_lang: str | None, tgt_lang: str | None) -> Langs:
    """The languages asked for; the one not named is the other one; es to en without any."""
    other = dict(zip(LANGUAGES, reversed(LANGUAGES), strict=True))
    tgt_lang = tgt_lang or (other[src_lang] if src_lang else "en")
    src_lang = src_lang or other[tgt_lang]
    if src_lang == tgt_lang:
        raise UserError(f"expected two languages, got --from {src_lang} --to {tgt_lang}")
    return src_lang, tgt_lang


def places() -> tuple[Path, ...]:
    """The folders of checkpoints: that of the package, then that of the repository."""
    return PACKAGE / "checkpoints", PACKAGE.parent / "checkpoints"


def released(langs: Langs, among: Sequence[Path] = ()) -> Path | None:
    """The folder of the model for these languages, the first there is; None without any."""
    folders = (place / "-".join(langs) for place in among or places())
    return next((folder for folder in folders if existing(folder)), None)


def default_model(langs: Langs, among: Sequence[Path] = ()) -> Path:
    """The same; a UserError without any."""
    found = released(langs, among)
    if found is None:
        name = "-".join(langs)
        raise UserError(
            f"expected a model for {name} in {(among or places())[-1] / name}, there is none: "
            f"train one with scripts/train.py --from {langs[0]} --to {langs[1]}, "
            "and name it with --model"
        )
    return found
