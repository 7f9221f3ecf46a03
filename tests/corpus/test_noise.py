"""What noise makes of a pair and of a micro-batch, how often, and from its generator alone."""

import dataclasses
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import NOISE_PRESETS, PAD_ID, SLOTS, NoiseConfig, TrainConfig
from transformer.corpus import noise
from transformer.corpus.batching import TokenPairs, collate
from transformer.corpus.noise import apply_noise, join_pairs, micro_batch, resampled, within
from transformer.corpus.prepare import PreparedCorpus
from transformer.text.tokenizer import Tokenizer

Pairs = list[tuple[str, str]]
ROWS, MAX_LEN = range(40), 64
A, B = SLOTS[:2]
ALTERATIONS = {
    **noise.OTHERS,
    **noise.TYPED,
    **{name: one for name, one in noise.STYLES.items() if one},
}
ROBUST = NoiseConfig(**NOISE_PRESETS["robust"])


def rng(seed: int = 1) -> random.Random:
    return random.Random(seed)


@pytest.mark.parametrize(
    ("name", "src", "tgt", "new_src", "new_tgt"),
    [
        ("accents", "¿El niño comió pingüino?", "Zoé?", "¿El nino comio pinguino?", "Zoé?"),
        ("opening", "Hola, ¿qué tal? ¡Bien!", "¿", "Hola, qué tal? Bien!", "¿"),
        ("stop", "Ya voy.", "I'm coming.", "Ya voy", "I'm coming"),
        ("stop", "Ya voy.", "I'm coming!", "Ya voy", "I'm coming!"),
        ("stop", "¿Vienes?", "Are you coming?", "¿Vienes", "Are you coming?"),
        ("stop", "Pues...", "Well...", "Pues...", "Well..."),
        ("lower", "Tom vive en Boston.", "Tom lives in Boston.", "tom vive en boston.",
         "Tom lives in Boston."),
        ("caps", "¿Él?", "Don't he?", "¿ÉL?", "DON'T HE?"),
        ("title", "¿no es así?", "don't they go?", "¿No Es Así?", "Don't They Go?"),
    ],
)  # fmt: skip
def test_what_an_alteration_does(name: str, src: str, tgt: str, new_src: str, new_tgt: str) -> None:
    assert ALTERATIONS[f"noise_{name}"](src, tgt, rng()) == (new_src, new_tgt)


def test_a_slip_changes_one_word_and_leaves_names_and_addresses_alone() -> None:
    src = "Pregunta a María por www.ejemplo.es hoy"
    assert noise.typos(src, "x", rng()) == (src, "x")
    seen = {noise.typos(f"{src} mismo", "x", rng(seed)) for seed in range(200)}
    assert {tgt for _, tgt in seen} == {"x"}
    words = {new.removeprefix(f"{src} ") for new, _ in seen}
    assert {"imsmo", "miso", "missmo", "misno"} <= words
    assert all(new.startswith(src) for new, _ in seen)


def test_slots_stand_for_what_is_equal_and_single_in_the_order_of_the_source() -> None:
    src, tgt = "Hoy, María pagó 35 por a@b.es en Boston.", "In Boston, María paid 35 for a@b.es."
    seen = {noise.slots(src, tgt, rng(seed)) for seed in range(300)}
    slots = SLOTS[:4]
    all_src = "Hoy, {} pagó {} por {} en {}.".format(*slots)
    all_tgt = f"In {slots[3]}, {slots[0]} paid {slots[1]} for {slots[2]}."
    assert (all_src, all_tgt) in seen
    assert (
        f"Hoy, María pagó {A} por a@b.es en {B}.",
        f"In {B}, María paid {A} for a@b.es.",
    ) in seen
    for new, other in seen:
        n = sum(map(new.count, SLOTS))
        assert [c for c in new if c in SLOTS] == list(SLOTS[:n])
        assert sorted(c for c in other if c in SLOTS) == list(SLOTS[:n])


@pytest.mark.parametrize(
    ("src", "tgt"),
    [
        ("María está aquí.", "María is here."),  # first, where any word has a capital
        ("Vi a Juan.", "I saw John."),
        ("Vi a Tom y Tom me vio.", "I saw Tom and he saw me."),
        ("Hay 13 y 3.", "There are 13 and 3, not 3.") ,
        (f"Vi {A} a Tom.", f"I saw {A} Tom."),
    ],
)  # fmt: skip
def test_there_are_no_slots_where_it_is_not_clear_what_they_stand_for(src: str, tgt: str) -> None:
    for seed in range(20):
        new = noise.slots(src, tgt, rng(seed))
        assert new in {(src, tgt), ("Hay " + A + " y 3.", "There are " + A + " and 3, not 3.")}


def test_what_is_put_in_to_copy_stands_on_both_sides_once() -> None:
    seen = {noise.copied("Veo a Tom.", "I see Tom.", rng(seed)) for seed in range(400)}
    assert {
        (f"{A}: Veo a Tom.", f"{A}: I see Tom."), (f"Veo a Tom {A}.", f"I see Tom {A}."),
        (f"{A}Veo a Tom.{B}", f"{A}I see Tom.{B}"), (f"Veo a {A}Tom{B}.", f"I see {A}Tom{B}."),
        (f"Veo a Tom ({A}).", f"I see Tom ({A})."),
    } <= seen  # fmt: skip
    assert any("@" in src for src, _ in seen)
    for src, tgt in seen:
        slots = [sorted(c for c in text if c in SLOTS) for text in (src, tgt)]
        assert slots == [list(SLOTS[: len(slots[0])])] * 2
        left = [text.replace(own, "") for text, own in ((src, "Veo a"), (tgt, "I see"))]
        assert left[0] == left[1]


@given(
    st.text(max_size=40), st.text(max_size=40), st.sampled_from(sorted(ALTERATIONS)), st.integers()
)
def test_any_pair_can_be_altered_and_always_in_the_same_way(
    src: str, tgt: str, name: str, seed: int
) -> None:
    found = [ALTERATIONS[name](src, tgt, rng(seed)) for _ in range(2)]
    assert found[0] == found[1]


def test_every_rate_of_the_config_has_an_alteration() -> None:
    assert set(noise.NAMES) == {field.name for field in dataclasses.fields(NoiseConfig)}
    # Runs that began with the preset before there were other names go on as they were.
    assert {*NOISE_PRESETS["robust"], "noise_names"} == set(noise.NAMES)
    assert not noise.is_on(NoiseConfig())
    for name in noise.NAMES:
        assert noise.is_on(NoiseConfig(**{name: 0.01}))


def test_pairs_and_batches_are_altered_as_often_as_the_config_says() -> None:
    n, generator = 40_000, rng()
    styles = Counter(noise.draw_style(ROBUST, generator) for _ in range(n))
    rows: Counter[object] = Counter()
    for _ in range(n):
        share = noise.draw_share(ROBUST, generator)
        rows.update(noise.draw(ROBUST, share, generator) if share else [])
    for name in noise.STYLES:
        assert styles[name] / n == pytest.approx(getattr(ROBUST, name), rel=0.2)
    for name, one in {**noise.OTHERS, **noise.TYPED}.items():
        assert rows[one] / n == pytest.approx(getattr(ROBUST, name), rel=0.1)
    every = NoiseConfig(**dict.fromkeys(("noise_slots", "noise_lower"), 1.0))
    assert noise.draw(every, noise.draw_share(every, generator), generator) == [
        noise.slots,
        noise.lower,
    ]


def test_rates_outside_0_and_1_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"0 <= noise_typos <= 1, not 1\.5"):
        TrainConfig(noise_typos=1.5)
    with pytest.raises(ValueError, match=r"of 1 together, not 1\.2"):
        NoiseConfig(noise_caps=0.6, noise_title=0.6)


@pytest.fixture
def data(phrases: Pairs, phrase_tokenizer: Tokenizer) -> PreparedCorpus:
    """Forty pairs that lie in memory."""
    sides = [phrase_tokenizer.encode_all(side) for side in zip(*phrases[:40], strict=True)]
    chunks = [[(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))] for rows in sides]
    return PreparedCorpus(TokenPairs(*chunks), ((40, 1.0),), phrase_tokenizer, {})


def batch(data: PreparedCorpus, seed: int = 1, max_len: int = MAX_LEN, **changes: Any) -> Any:
    return micro_batch(data, ROWS, TrainConfig(**changes), max_len, seed)


def texts(made: Any, tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """The pairs of a batch."""
    sides = ([tokenizer.decode(row[row > PAD_ID].tolist()) for row in side]
             for side in (made.src, made.tgt_out))  # fmt: skip
    return list(zip(*sides, strict=True))


def same(one: Any, other: Any) -> bool:
    return all(
        torch.equal(getattr(one, n), getattr(other, n)) for n in ("src", "tgt_in", "tgt_out")
    )


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_without_noise_a_batch_is_what_it_always_was(
    data: PreparedCorpus, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [data.pairs[i] for i in ROWS]
    if alpha:
        rng = random.Random(1)
        drawn = [[resampled(x, data.tokenizer, alpha, MAX_LEN, rng) for x in p] for p in pairs]
        pairs = [(src, tgt) for src, tgt in drawn]
    monkeypatch.delattr(noise, "apply_noise")
    assert same(batch(data, sample_alpha=alpha), collate(pairs))


def test_the_same_seed_makes_the_same_batch(data: PreparedCorpus) -> None:
    on: dict[str, Any] = {**NOISE_PRESETS["robust"], "sample_alpha": 0.2}
    made = [batch(data, seed, **on) for seed in range(12)]
    assert all(same(one, batch(data, seed, **on)) for seed, one in enumerate(made))
    plain = [batch(data, seed, sample_alpha=0.2) for seed in range(12)]
    assert not all(same(one, other) for one, other in zip(made, plain, strict=True))


def test_single_pairs_are_altered_and_the_others_left_alone(data: PreparedCorpus) -> None:
    before = texts(batch(data), data.tokenizer)
    counts = []
    for seed in range(10):
        after = texts(batch(data, seed, noise_stop=0.5), data.tokenizer)
        changed = [(b, a) for b, a in zip(before, after, strict=True) if a != b]
        assert all(a == (b[0][:-1], b[1][:-1]) for b, a in changed)
        counts.append(len(changed))
    assert set(counts) == {0, 40}, "at a rate of a half every other batch has them all"
    drawn = [texts(batch(data, s, noise_stop=0.1), data.tokenizer) for s in range(10)]
    numbers = {sum(a != b for a, b in zip(one, before, strict=True)) for one in drawn}
    assert max(numbers - {0}) < 40


def test_a_style_alters_the_whole_batch(data: PreparedCorpus) -> None:
    before = texts(batch(data), data.tokenizer)
    after = texts(batch(data, noise_title=1.0, batch_tokens=100_000), data.tokenizer)
    assert after == [noise.title(*pair, random.Random()) for pair in before]


def test_a_batch_that_a_style_makes_too_large_gives_pairs_away(data: PreparedCorpus) -> None:
    made = batch(data, noise_caps=1.0, batch_tokens=600)
    assert 1 <= len(made.src) < 40
    assert made.src.numel() + made.tgt_in.numel() <= 600
    assert all(src.isupper() for src, _ in texts(made, data.tokenizer))
    assert within([([5] * 9, [5])], 8, random.Random()) == [([5] * 9, [5])]


def test_joined_pairs_hold_every_sentence_once(data: PreparedCorpus) -> None:
    before = texts(batch(data), data.tokenizer)
    for seed in range(4):
        after = texts(batch(data, seed, 200, noise_joined=1.0), data.tokenizer)
        assert len(after) in (14, 20)
        for side in (0, 1):
            assert " ".join(pair[side] for pair in after) == " ".join(p[side] for p in before)


def test_joined_pairs_stay_single_where_they_get_too_long_or_have_slots(
    data: PreparedCorpus,
) -> None:
    pairs = [([i] * 3, [i] * 4) for i in range(20, 25)]
    assert join_pairs(pairs, {1}, 2, 9, data.tokenizer) == [
        pairs[1],
        ([20] * 3 + [22] * 3, [20] * 4 + [22] * 4),
        ([23] * 3 + [24] * 3, [23] * 4 + [24] * 4),
    ]
    assert join_pairs(pairs, (), 2, 8, data.tokenizer) == pairs


def test_no_pair_gets_longer_than_the_model_reads(data: PreparedCorpus) -> None:
    pairs = [data.pairs[i] for i in ROWS]
    longest = max(len(side) for pair in pairs for side in pair)
    for name in noise.STYLES:
        changes: dict[str, Any] = {name: 1.0}
        new = apply_noise(pairs, data.tokenizer, TrainConfig(**changes), longest + 1, 1)
        assert max(len(side) for pair in new for side in pair) <= longest


def test_single_pairs_hardly_widen_a_batch(data: PreparedCorpus) -> None:
    pairs = [data.pairs[i] for i in ROWS]
    wide = max(len(src) for src, _ in pairs)
    for seed in range(10):
        config = TrainConfig(noise_accents=1.0, noise_typos=1.0)
        new = apply_noise(pairs, data.tokenizer, config, MAX_LEN, seed)
        assert new != pairs
        assert max(len(src) for src, _ in new) <= round(noise.SLACK * wide)


def test_a_slot_is_one_id_of_a_batch(data: PreparedCorpus) -> None:
    (slot,) = (i for i in data.tokenizer.encode(f"a{SLOTS[0]}")
               if data.tokenizer.pieces([i]) == (SLOTS[0],))  # fmt: skip
    made = batch(data, noise_slots=1.0)
    rows = (made.src == slot).sum(dim=1)
    assert rows.max() == 1
    assert torch.equal(rows, (made.tgt_out == slot).sum(dim=1))
    assert 0 < rows.sum() == sum("García" in src for src, _ in texts(batch(data), data.tokenizer))
