"""Checkpoints: bit for bit, all or nothing, and a plain sentence for every defect."""

import dataclasses
import itertools
import json
import os
import pickle
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from transformer.checkpoint import locate
from transformer.checkpoint import weights as checkpoint
from transformer.checkpoint.weights import average_weights, load, load_training, load_weights, save
from transformer.config import ModelConfig, UserError
from transformer.files import latest_version
from transformer.model import Transformer
from transformer.text.tokenizer import Tokenizer

Save = Callable[..., dict[str, Tensor]]


@pytest.fixture
def save_as(
    make_model: Callable[..., Transformer], phrase_tokenizer: Tokenizer, tmp_path: Path
) -> Save:
    """Writes a small random model into a folder and gives its weights."""

    def run(name: str = "model", seed: int = 1, training: Any = None, **changes: Any) -> Any:
        model = make_model(seed, vocab_size=phrase_tokenizer.vocab_size, **changes)
        weights = model.state_dict()
        arguments = (model.config, phrase_tokenizer, [("es", "en")], "# Card\n", training)
        save(tmp_path / name, weights, *arguments)
        return weights

    return run


def damage(path: Path, content: str | bytes) -> None:
    """Write a file anew, and the checksums with it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    locate.write_checksums(path.parent)


def same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> bool:
    return found.keys() == expected.keys() and all(
        torch.equal(found[name], expected[name]) for name in expected
    )


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_what_is_saved_is_loaded_bit_for_bit(
    norm: str, positions: str, save_as: Save, make_model: Callable[..., Transformer],
    tmp_path: Path, phrase_tokenizer: Tokenizer,
) -> None:  # fmt: skip
    weights = save_as(norm=norm, positions=positions)
    loaded = load(tmp_path / "model")
    assert same(loaded.model.state_dict(), weights)
    assert same(load_weights(tmp_path / "model"), weights)
    model = make_model(1, vocab_size=350, norm=norm, positions=positions)
    assert loaded.model.config == model.config
    src, tgt = torch.randint(4, 350, (2, 5)), torch.randint(4, 350, (2, 7))
    assert torch.equal(loaded.model(src, tgt), model(src, tgt))
    assert not loaded.model.training
    assert loaded.tokenizer.model == phrase_tokenizer.model
    assert loaded.directions == (("es", "en"),)
    assert loaded.folder == tmp_path / "model"
    assert (loaded.folder / "README.md").read_text() == "# Card\n"


def test_weights_of_half_the_size_are_loaded_as_float32(
    save_as: Save, tmp_path: Path, phrase_tokenizer: Tokenizer
) -> None:
    weights = {name: tensor.bfloat16() for name, tensor in save_as().items()}
    config = load(tmp_path / "model").model.config
    save(tmp_path / "half", weights, config, phrase_tokenizer, [("es", "en")], "")
    found = load(tmp_path / "half").model.state_dict()
    assert same(found, {name: tensor.float() for name, tensor in weights.items()})


def test_a_released_model_is_its_stored_numbers_in_float32(
    save_as: Save, tmp_path: Path, phrase_tokenizer: Tokenizer
) -> None:
    weights, name = save_as(positions="learned"), "encoder.1.feed_forward.expand.weight"
    config = load(tmp_path / "model").model.config
    for storage in typing.get_args(checkpoint.Storage):
        small = checkpoint.compress(weights, storage)
        save(tmp_path / storage, small, config, phrase_tokenizer, [("es", "en")], "")
        loaded = load(tmp_path / storage).model.state_dict()
        assert {tensor.dtype for tensor in loaded.values()} == {torch.float32}
        stored = load_weights(tmp_path / storage)
        assert same({name: tensor.float() for name, tensor in stored.items()}, loaded)
        for table in ("positions.table", "embedding.weight"):
            assert_close(loaded[table], weights[table], rtol=1e-3, atol=1e-4)
        step = weights[name].abs().amax(1, keepdim=True) / (127 if storage == "int8" else 1000)
        assert ((loaded[name] - weights[name]).abs() <= 0.51 * step).all()
    sizes = [(tmp_path / n / "model.safetensors").stat().st_size for n in ("float16", "int8")]
    assert sizes[1] < sizes[0]


def mapped(path: Path) -> list[range]:
    """The addresses at which this process sees the file itself."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not tell what is mapped")
    lines = [line.split() for line in maps.read_text(encoding="utf-8").splitlines()]
    ends = [line[0].split("-") for line in lines if line[-1] == str(path)]
    return [range(int(start, 16), int(end, 16)) for start, end in ends]


def test_weights_stored_as_float32_are_mapped_and_not_copied(
    save_as: Save, tmp_path: Path, phrase_tokenizer: Tokenizer
) -> None:
    weights = save_as()
    loaded = load(tmp_path / "model")
    places = mapped(tmp_path / "model/model.safetensors")
    assert places
    for name, tensor in loaded.model.named_parameters():
        assert any(tensor.data_ptr() in place for place in places), name
    half = {name: tensor.half() for name, tensor in weights.items()}
    save(tmp_path / "half", half, loaded.model.config, phrase_tokenizer, [("es", "en")], "")
    raw = load_weights(tmp_path / "half")
    places = mapped(tmp_path / "half/model.safetensors")
    assert all(any(t.data_ptr() in place for place in places) for t in raw.values())


def test_what_is_mapped_can_be_changed_and_the_file_stays(save_as: Save, tmp_path: Path) -> None:
    weights = save_as()
    model = load(tmp_path / "model").model
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert same(load_weights(tmp_path / "model"), weights)


def test_loading_draws_no_random_numbers(save_as: Save, tmp_path: Path) -> None:
    save_as()
    before = torch.random.get_rng_state()
    load(tmp_path / "model")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_training_goes_on_from_what_was_given(save_as: Save, tmp_path: Path) -> None:
    tensors = {"exp_avg.a": torch.randn(3, 5), "step": torch.tensor(7)}
    values = {"step": 7, "best": 0.1 + 0.2, "stale": None}
    save_as(training=(tensors, values))
    found, told = load_training(tmp_path / "model")
    assert same(found, tensors)
    assert told == values
    assert load(tmp_path / "model").model is not None


def test_who_may_read_one_file_may_read_all(save_as: Save, tmp_path: Path) -> None:
    save_as(training=({"step": torch.tensor(7)}, {}))
    assert len({path.stat().st_mode for path in (tmp_path / "model").iterdir()}) == 1


def test_a_run_folder_stands_for_its_best_or_last_checkpoint(
    save_as: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_as("run/last")
    assert load(tmp_path / "run").folder.name == "last"
    save_as("run/best")
    assert load(str(tmp_path / "run")).folder.name == "best"
    monkeypatch.chdir(tmp_path / "run/last")
    assert load(".").folder.resolve() == tmp_path / "run/last"


def test_no_folder_or_an_empty_one_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"checkpoint folder, got '.*none': no such folder"):
        load(tmp_path / "none")
    with pytest.raises(UserError, match=r"a folder without config\.json.*scripts/train\.py"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1', r"expected JSON in .*config\.json.*Is the file complete\?"),
        ("[1]", r"expected a JSON object in .*config\.json, got list"),
        ('{"format": 99}', "expected checkpoint format 1 in .*, got 99: it was written by another"),
        ("{}", "expected checkpoint format 1 in .*, got None"),
        ('{"format": 1}', "expected a model configuration in .*: 'model'"),
        ('{"format": 1, "model": 5}', "expected a model configuration in"),
        ("[" * 200_000, r"expected JSON in .*config\.json: maximum recursion depth"),
        (f'{{"format": {"9" * 10_000}}}', r"expected JSON in .*config\.json: Exceeds the limit"),
        ("\xff", r"expected JSON in .*config\.json"),
    ],
)
def test_a_broken_configuration_is_an_error(
    text: str, message: str, save_as: Save, tmp_path: Path
) -> None:
    save_as()
    damage(tmp_path / "model/config.json", text)
    with pytest.raises(UserError, match=message):
        load(tmp_path / "model")


ANOTHER = "^expected the weights of .*{}.*one model\\?$".format


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_experts": 4}, r"unknown keys \['n_experts'\]"),
        ({"d_ff": ...}, r"missing keys \['d_ff'\]"),
        ({"d_model": None}, "expected a model configuration"),
        ({"d_model": 13}, "an even d_model, not 13"),
        ({"norm": "none"}, "norm post or pre, not none"),
        ({"d_model": 12.0}, "d_model must be int, not 12.0"),
        ({"n_heads": True}, "n_heads must be int, not True"),
        ({"dropout": "0.1"}, "dropout must be float, not 0.1"),
        ({"d_model": 10**6}, "d_model <= 65536, not 1000000"),
        ({"max_len": 10**9}, "max_len <= 65536, not 1000000000"),
        ({"n_encoder_layers": 10**5}, "n_encoder_layers <= 1000, not 100000"),
        ({"d_ff": 18}, ANOTHER(r"the shape \[18, 12\], got \[17, 12\]")),
        ({"n_decoder_layers": 1}, ANOTHER("no more, got decoder.1")),
        ({"n_decoder_layers": 3}, ANOTHER("decoder.2.self_attention.query.weight, which is not")),
    ],
)
def test_a_configuration_of_another_model_is_an_error(
    changes: dict[str, Any], message: str, save_as: Save, tmp_path: Path
) -> None:
    save_as()
    path = tmp_path / "model/config.json"
    described = json.loads(path.read_text())
    model = {name: value for name, value in (described["model"] | changes).items() if value != ...}
    damage(path, json.dumps(described | {"model": model}))
    with pytest.raises(UserError, match=message):
        load(tmp_path / "model")


def test_missing_or_damaged_weights_are_an_error(save_as: Save, tmp_path: Path) -> None:
    save_as()
    path = tmp_path / "model/model.safetensors"
    whole = path.read_bytes()
    for damaged in (whole[:-100], whole[:50], b"", b"nonsense" * 9):
        damage(path, damaged)
        with pytest.raises(UserError, match=r"expected weights in .*Is the file complete\?"):
            load(tmp_path / "model")
    path.unlink()
    with pytest.raises(UserError, match=r"expected weights in .*model\.safetensors"):
        load(tmp_path / "model")


def test_a_missing_or_foreign_tokeniser_is_an_error(
    save_as: Save, tmp_path: Path, phrases: list[tuple[str, str]]
) -> None:
    save_as()
    path = tmp_path / "model/tokenizer.model"
    damage(path, Tokenizer.train([src for src, _ in phrases], 310).model)
    with pytest.raises(UserError, match=r"expected 350 pieces in .*, got 310: .*not of one train"):
        load(tmp_path / "model")
    damage(path, b"nonsense")
    with pytest.raises(UserError, match=r"expected a tokeniser in .*: expected a SentencePiece"):
        load(tmp_path / "model")
    path.unlink()
    with pytest.raises(UserError, match=r"expected a tokeniser in .*tokenizer\.model"):
        load(tmp_path / "model")


def test_a_checkpoint_without_its_training_state_is_an_error(save_as: Save, tmp_path: Path) -> None:
    save_as()
    with pytest.raises(UserError, match=r"expected weights in .*training\.safetensors"):
        load_training(tmp_path / "model")
    save_as(training=({"a": torch.ones(1)}, {}))
    (tmp_path / "model/training.json").unlink()
    with pytest.raises(UserError, match=r"expected JSON in .*training\.json"):
        load_training(tmp_path / "model")


def test_a_crash_while_writing_leaves_the_old_checkpoint(
    save_as: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = save_as()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_save_tensors", crash)
        with pytest.raises(KeyboardInterrupt):
            save_as(seed=2)
    assert same(load_weights(tmp_path / "model"), old)
    new = save_as(seed=2)  # what the crash left in the way is cleared
    assert same(load_weights(tmp_path / "model"), new)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_crash_between_the_two_renames_leaves_a_checkpoint_that_loads(
    save_as: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = save_as()
    rename, calls = os.rename, []

    def once(src: Path, dst: Path) -> None:
        calls.append(dst)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(src, dst)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", once)
        with pytest.raises(KeyboardInterrupt):
            save_as(seed=2)
    assert not (tmp_path / "model").exists()
    assert latest_version(tmp_path / "model") == tmp_path / ".model.old"
    assert same(load_weights(tmp_path / "model"), old)
    assert same(dict(load(tmp_path / "model").model.state_dict()), old)
    new = save_as(seed=3)
    assert same(load_weights(tmp_path / "model"), new)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("seeds", [[2], [2, 3, 4]])
def test_a_checkpoint_that_is_replaced_while_it_is_read_is_read_again(
    seeds: list[int], save_as: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_as()
    check, left, saved = locate.verify_checksum, iter(seeds), {}

    def replaced_before(path: Path, content: Any) -> None:
        for seed in itertools.islice(left, 1):
            saved[seed] = save_as(seed=seed)
        check(path, content)

    monkeypatch.setattr(locate, "verify_checksum", replaced_before)
    assert same(load_weights(tmp_path / "model"), saved[seeds[-1]])


def test_a_crash_before_the_predecessor_is_gone_leaves_the_new_checkpoint(
    save_as: Save, tmp_path: Path
) -> None:
    save_as("left")
    os.rename(tmp_path / "left", tmp_path / ".model.old")
    new = save_as(seed=2)
    save_as("left")
    os.rename(tmp_path / "left", tmp_path / ".model.old")
    assert same(load_weights(tmp_path / "model"), new)
    newer = save_as(seed=3)
    assert same(load_weights(tmp_path / "model"), newer)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_mean_is_that_of_each_number_and_of_equal_models_that_model(save_as: Save) -> None:
    first, second = save_as("a", seed=1), save_as("b", seed=2)
    wide = {name: tensor.double() for name, tensor in first.items()}
    assert same(
        average_weights([first, second]), {name: (wide[name] + second[name]) / 2 for name in first}
    )
    assert same(average_weights([first] * 3), wide)


class _Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.path),))


def test_no_pickle_is_opened(save_as: Save, tmp_path: Path) -> None:
    save_as(training=({"a": torch.ones(1)}, {}))
    trap, folder = pickle.dumps(_Trap(tmp_path / "sprung")), tmp_path / "model"
    for name in ("pytorch_model.bin", "model.pt", "model.pkl", "training.bin", "optimizer.pt"):
        (folder / name).write_bytes(trap)
    load(folder)
    load_training(folder)
    assert not (tmp_path / "sprung").exists()
    (folder / "model.safetensors").write_bytes(trap)
    with pytest.raises(UserError, match="expected weights in"):
        load(folder)
    assert not (tmp_path / "sprung").exists()


def test_the_configuration_is_written_for_people_to_read(save_as: Save, tmp_path: Path) -> None:
    save_as()
    described = json.loads((tmp_path / "model/config.json").read_text())
    assert described["format"] == 1
    assert (described["src_lang"], described["tgt_lang"]) == ("es", "en")
    assert set(described["model"]) == {f.name for f in dataclasses.fields(ModelConfig)}
