"""What noise makes of a pair, how often, and that it is drawn from the generator alone."""

import dataclasses
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import NOISE_PRESETS, SLOTS, NoiseConfig, TrainConfig
from transformer.corpus import noise

A, B = SLOTS[:2]


ALTERATIONS = {
    **noise.PAIR_NOISE,
    **noise.OMISSIONS,
    **{name: one for name, one in noise.BATCH_NOISE.items() if one},
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
    assert noise.add_typos(src, "x", rng()) == (src, "x")
    seen = {noise.add_typos(f"{src} mismo", "x", rng(seed)) for seed in range(200)}
    assert {tgt for _, tgt in seen} == {"x"}
    words = {new.removeprefix(f"{src} ") for new, _ in seen}
    assert {"imsmo", "miso", "missmo", "misno"} <= words
    assert all(new.startswith(src) for new, _ in seen)


def test_slots_stand_for_what_is_equal_and_single_in_the_order_of_the_source() -> None:
    src, tgt = "Hoy, María pagó 35 por a@b.es en Boston.", "In Boston, María paid 35 for a@b.es."
    seen = {noise.insert_slots(src, tgt, rng(seed)) for seed in range(300)}
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
        new = noise.insert_slots(src, tgt, rng(seed))
        assert new in {(src, tgt), ("Hay " + A + " y 3.", "There are " + A + " and 3, not 3.")}


def test_what_is_put_in_to_copy_stands_on_both_sides_once() -> None:
    seen = {noise.insert_copies("Veo a Tom.", "I see Tom.", rng(seed)) for seed in range(400)}
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
    names = {*noise.PAIR_NOISE, *noise.OMISSIONS, *noise.BATCH_NOISE, "noise_names"}
    assert names == {field.name for field in dataclasses.fields(NoiseConfig)}
    # Runs that began with the preset before there were other names go on as they were.
    assert {*NOISE_PRESETS["robust"], "noise_names"} == names
    assert not NoiseConfig().has_noise
    for name in names:
        assert NoiseConfig(**{name: 0.01}).has_noise


def test_pairs_and_batches_are_altered_as_often_as_the_config_says() -> None:
    n, generator = 40_000, rng()
    styles = Counter(noise.sample_batch_noise(ROBUST, generator) for _ in range(n))
    rows: Counter[object] = Counter()
    for _ in range(n):
        share = noise.sample_noise_share(ROBUST, generator)
        rows.update(noise.sample_pair_noise(ROBUST, share, generator) if share else [])
    for name in noise.BATCH_NOISE:
        assert styles[name] / n == pytest.approx(getattr(ROBUST, name), rel=0.2)
    for name, one in {**noise.PAIR_NOISE, **noise.OMISSIONS}.items():
        assert rows[one] / n == pytest.approx(getattr(ROBUST, name), rel=0.1)
    every = NoiseConfig(**dict.fromkeys(("noise_slots", "noise_lower"), 1.0))
    assert noise.sample_pair_noise(
        every, noise.sample_noise_share(every, generator), generator
    ) == [
        noise.insert_slots,
        noise.lowercase,
    ]


def test_rates_outside_0_and_1_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"0 <= noise_typos <= 1, not 1\.5"):
        TrainConfig(noise_typos=1.5)
    with pytest.raises(ValueError, match=r"of 1 together, not 1\.2"):
        NoiseConfig(noise_caps=0.6, noise_title=0.6)
