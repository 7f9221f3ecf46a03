"""The directions that a folder of checkpoints offers, each opened when it is first asked for."""

import re
from collections.abc import Sequence
from pathlib import Path

from transformer.config import ComputeType, UserError
from transformer.folder import find, read_config
from transformer.translate import Translator


class Directions:
    """Translators by (source, target) language."""

    def __init__(
        self, folders: Sequence[Path], device: str = "auto", compute_type: ComputeType = "auto"
    ) -> None:
        self._device, self._compute_type = device, compute_type
        found = {read_config(find(folder))[1]: folder for folder in reversed(folders)}
        if not found:
            raise UserError("expected a checkpoint to serve, there is none: train one, or --model")
        self._folders = found
        self._opened: dict[tuple[str, str], Translator] = {}

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What can be translated, (source, target) each."""
        return tuple(self._folders)

    def open(self, pair: tuple[str, str]) -> Translator:
        """The translator of a direction; KeyError for one that is not there."""
        if pair not in self._opened:
            self._opened[pair] = Translator.load(
                self._folders[pair], self._device, self._compute_type
            )
        return self._opened[pair]


_ES = set(
    [
        "el",
        "la",
        "de",
        "que",
        "y",
        "a",
        "en",
        "un",
        "ser",
        "se",
        "no",
        "haber",
        "por",
        "con",
        "su",
        "para",
        "como",
        "estar",
        "tener",
        "le",
        "lo",
        "todo",
        "pero",
        "más",
        "hacer",
        "o",
        "poder",
        "este",
        "ir",
        "otro",
        "ese",
        "si",
        "me",
        "ya",
        "ver",
        "porque",
        "dar",
        "cuando",
        "él",
        "muy",
        "sin",
        "vez",
        "mucho",
        "saber",
        "qué",
        "sobre",
        "mi",
        "alguno",
        "mismo",
        "yo",
        "también",
        "hasta",
        "año",
        "dos",
        "querer",
        "entre",
        "así",
        "desde",
        "grande",
        "eso",
        "ni",
        "nos",
        "llegar",
        "pasar",
        "tiempo",
        "ella",
        "sí",
        "es",
        "los",
        "las",
        "una",
        "del",
        "al",
        "dónde",
        "está",
    ]
)
_EN = set(
    [
        "the",
        "be",
        "to",
        "of",
        "and",
        "a",
        "in",
        "that",
        "have",
        "i",
        "it",
        "for",
        "not",
        "on",
        "with",
        "he",
        "as",
        "you",
        "do",
        "at",
        "this",
        "but",
        "his",
        "by",
        "from",
        "they",
        "we",
        "say",
        "her",
        "she",
        "or",
        "an",
        "will",
        "my",
        "one",
        "all",
        "would",
        "there",
        "their",
        "what",
        "so",
        "up",
        "out",
        "if",
        "about",
        "who",
        "get",
        "which",
        "go",
        "me",
        "when",
        "make",
        "can",
        "like",
        "time",
        "no",
        "just",
        "him",
        "know",
        "take",
        "is",
        "are",
        "was",
        "where",
    ]
)


def detect(text: str) -> tuple[tuple[str, float], ...]:
    words = re.findall(r"\w+", text.lower())
    es = 1 + sum(w in _ES for w in words) + 2 * len(re.findall("[ñáéíóú¿¡]", text.lower()))
    en = 1 + sum(w in _EN for w in words)
    both = sorted([("es", es / (es + en)), ("en", en / (es + en))], key=lambda x: -x[1])
    return tuple(both)
