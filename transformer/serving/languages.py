"""The languages of a server: those that it translates between, and those that a text may be in."""

from collections.abc import Collection

from transformer.serving.access import RequestError
from transformer.serving.schema import Detected, Language
from transformer.text.language import LANGUAGES, NAMES, detect

DETECT_CHARS = 2000  # that are enough to tell a language by
Pair = tuple[str, str]


def check_pair(pair: Pair, pairs: Collection[Pair]) -> Pair:
    """A direction that is served, or a language into itself; anything else is refused."""
    known = {lang for served in pairs for lang in served}
    for lang in pair:
        if lang not in known:
            raise RequestError(400, f"{lang[:20]} is not supported")
    if pair[0] != pair[1] and pair not in pairs:
        raise RequestError(400, f"{pair[0]} to {pair[1]} is not supported")
    return pair


def languages(pairs: Collection[Pair]) -> list[Language]:
    """Each language and what it can be translated to."""
    codes = dict.fromkeys(lang for pair in pairs for lang in pair)
    return [
        {
            "code": code,
            "name": NAMES.get(code, code),
            "targets": [*dict.fromkeys([*(t for s, t in pairs if s == code), code])],
        }
        for code in codes
    ]


def detected(text: str) -> list[Detected]:
    """The languages that a text may be in, likeliest first, with per cent."""
    likeliest = detect(text[:DETECT_CHARS])
    shares = dict.fromkeys(LANGUAGES, 1 - likeliest.confidence) | {
        likeliest.lang: likeliest.confidence
    }
    return [
        {"confidence": round(100 * share, 1), "language": lang}
        for lang, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
