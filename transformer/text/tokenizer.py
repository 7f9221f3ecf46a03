"""Turn text into subword ids and back, by one SentencePiece vocabulary for both languages.

Byte fallback keeps every character; NFKC normalisation unifies the ways to write it. The special
ids are defined in `config`. `group_words` joins pieces to the words that a person sees.
"""

import dataclasses
import functools
import io
import math
import random
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, Self

import sentencepiece

from transformer.config import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    SLOTS,
    UNK_ID,
    Direction,
    UserError,
    source_tags,
    target_tag,
)

TRAINING_THREADS = 16  # whatever the machine: their number changes the last digits of the scores
N_BEST = 8  # segmentations that subword sampling chooses among
BOUNDARY = "▁"  # SentencePiece writes it for the space before a word
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]+")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_TAG = re.compile(r"<2\w+>")  # names the language to write; nobody's word
_ENCODING = ("utf-8", "surrogateescape")  # a translation may hold half a character


class Tokenizer:
    """Cuts text into ids of a vocabulary and back; made of the bytes of a SentencePiece model.

    ValueError for other bytes, and for a model whose pad, bos, eos, unk ids are not 0, 1, 2, 3.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise ValueError(f"expected a SentencePiece model, got {len(model)} bytes") from error
        special = tuple(getattr(self._processor, f"{n}_id")() for n in ("pad", "bos", "eos", "unk"))
        if special != (PAD_ID, BOS_ID, EOS_ID, UNK_ID):
            raise ValueError(
                "expected a vocabulary with pad, bos, eos, unk ids "
                f"{(PAD_ID, BOS_ID, EOS_ID, UNK_ID)}, got {special}"
            )

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int,
        kind: Literal["unigram", "bpe"] = "unigram",
        tags: Sequence[str] = source_tags(("en", "es")),
    ) -> Self:
        """Make a vocabulary of `vocab_size` pieces out of sentences of both languages.

        `tags` become pieces that no text is cut into (see `tag_id`). A unigram vocabulary gets
        fewer pieces where the text holds no more; UserError where the text holds too few.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                vocab_size=vocab_size,
                hard_vocab_limit=False,
                model_type=kind,
                normalization_rule_name="nmt_nfkc",
                character_coverage=1.0 if vocab_size >= 4000 else 0.9995,
                byte_fallback=True,
                split_digits=True,
                user_defined_symbols=list(SLOTS),
                control_symbols=list(tags),
                pad_id=PAD_ID,
                bos_id=BOS_ID,
                eos_id=EOS_ID,
                unk_id=UNK_ID,
                num_threads=TRAINING_THREADS,
                max_sentence_length=16384,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise UserError(
                f"expected text for a vocabulary of {vocab_size} pieces: choose another "
                f"--vocab-size or give more text ({str(error).rpartition('] ')[2] or 'too few'})"
            ) from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a SentencePiece model file; FileNotFoundError, or ValueError for another file."""
        return cls(Path(path).read_bytes())

    @property
    def vocab_size(self) -> int:
        """The number of pieces, special ones and bytes included."""
        return int(self._processor.vocab_size())

    @functools.cached_property
    def alphabet(self) -> frozenset[str]:
        """The characters that the pieces are written in, bytes and special pieces apart."""
        known = self._processor
        pieces = (
            known.IdToPiece(i)
            for i in range(self.vocab_size)
            if not (known.IsByte(i) or known.IsControl(i) or known.IsUnknown(i))
        )
        return frozenset("".join(pieces)) - {BOUNDARY}

    @property
    def has_slots(self) -> bool:
        """Whether each of SLOTS, which stand for what is copied, is one piece, as in new models."""
        return self.alphabet.issuperset(SLOTS)

    def tag_id(self, name: str) -> int:
        """Return the id of the tag `name` ("<2es>") of a source; UserError where there is none."""
        number = int(self._processor.PieceToId(name))
        if not self._processor.IsControl(number):
            raise UserError(
                f"expected a vocabulary with the piece {name}, as new ones have; "
                "train without --tokenizer-model and --init, or name one that has it"
            )
        return number

    def direction_tags(self, langs: Direction, served: Sequence[Direction]) -> list[int]:
        """Return a source's first ids: its target's `tag_id`; none if one direction is `served`."""
        return [self.tag_id(target_tag(langs[1]))] if len(served) > 1 else []

    def split_tags(self, ids: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the tags that a source begins with, and the rest of it."""
        n_tags = 0
        while n_tags < len(ids) and self._processor.IsControl(int(ids[n_tags])):
            n_tags += 1
        return list(ids[:n_tags]), list(ids[n_tags:])

    def encode(self, text: str) -> list[int]:
        """Return the ids of the likeliest segmentation, without special ids."""
        return list(self._processor.EncodeAsIds(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode each text, in less time than one by one."""
        return list(self._processor.Encode(list(texts), num_threads=1))

    def sample(self, text: str, alpha: float, random: random.Random) -> list[int]:
        """Draw one of the 8 best segmentations of a text into ids (Kudo 2018, 3.2).

        The probability of each is P^alpha, normalised over the 8, with P by the vocabulary.
        `random` is the only source of randomness, so that training can be repeated. UserError for a
        BPE vocabulary, which has no probabilities.
        """
        try:
            best = self._processor.NBestEncodeAsIds(text, N_BEST)
        except (RuntimeError, NotImplementedError) as error:
            raise UserError("expected a unigram vocabulary for --sample-alpha") from error
        if not best:
            return self.encode(text)
        scores = [sum(map(self._processor.GetScore, ids)) for ids in best]
        weights = [math.exp(alpha * (score - scores[0])) for score in scores]
        return list(random.choices(best, weights)[0])

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids are left out."""
        return str(self._processor.DecodeIds([int(i) for i in ids if i != UNK_ID]))

    def pieces(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Return each id as it is written in the vocabulary."""
        return tuple(self._processor.IdToPiece(int(i)) for i in ids)


@dataclasses.dataclass(frozen=True, slots=True)
class Word:
    """A word or a run of marks, written by the pieces from `first` up to `last`, not included."""

    text: str
    first: int
    last: int


def group_words(pieces: Sequence[str]) -> tuple[Word, ...]:
    """Return the words that pieces spell; a lone word-boundary piece belongs to the next word.

    A piece with parts of two words belongs to both; a piece of white space alone to none.
    """
    raw = [_piece_bytes(piece) for piece in pieces]
    ends = list(accumulate(map(len, raw)))
    text = b"".join(raw).decode(*_ENCODING)
    grouped = []
    for match in _WORD.finditer(text):
        start, end = (len(text[:at].encode(*_ENCODING)) for at in match.span())
        inside = [
            i
            for i, piece in enumerate(raw)
            if piece and ends[i] > start and ends[i] - len(piece) < end
        ]
        first = inside[0]
        while first and pieces[first - 1] == BOUNDARY:
            first -= 1
        shown = match[0].encode(*_ENCODING).decode("utf-8", "replace")
        grouped.append(Word(shown, first, inside[-1] + 1))
    return tuple(grouped)


def align_words(
    attention: Any, source: Sequence[Word], target: Sequence[Word]
) -> list[list[float]]:
    """Return the attention of each target word to each source word: (target, source words).

    `attention` is an array (T, S) of pieces. It is the mean over the target word's steps, summed
    over the source word's pieces. If a row adds up to less than 1, the rest went to the end mark or
    to white space.
    """
    rows = (attention[word.first : word.last].mean(0) for word in target)
    return [[float(row[word.first : word.last].sum()) for word in source] for row in rows]


def _piece_bytes(piece: str) -> bytes:
    if _TAG.fullmatch(piece):
        return b""
    byte = _BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace(BOUNDARY, " ").encode()
