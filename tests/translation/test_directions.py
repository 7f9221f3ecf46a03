"""Both directions: which model a text goes to, that only what is needed is opened, the order."""

import copy
import json
import pickle
import pydoc
import shutil
from pathlib import Path
from typing import Any

import pytest

import transformer
from tests.processes import ROOT
from transformer.checkpoint import locate
from transformer.checkpoint.locate import default_model, find_checkpoint
from transformer.config import DecodeConfig, UserError
from transformer.decoding import native
from transformer.translation.directions import Directions, load
from transformer.translation.guard import GuardedTranslator
from transformer.translation.translator import Translator

ES, EN = ("es", "en"), ("en", "es")


@pytest.fixture(scope="module")
def folders(
    random_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Path]:
    """Two folders of checkpoints: es-en, and a copy that says it is en-es."""
    place = tmp_path_factory.mktemp("checkpoints")
    for langs in (ES, EN):
        copy = shutil.copytree(random_checkpoint, place / "-".join(langs))
        values = json.loads((copy / "config.json").read_text(encoding="utf-8"))
        values |= {"src_lang": langs[0], "tgt_lang": langs[1]}
        (copy / "config.json").write_text(json.dumps(values), encoding="utf-8")
        locate.write_checksums(copy)
    return {langs: place / "-".join(langs) for langs in (ES, EN)}


def test_the_public_names_are_there_when_they_are_used() -> None:
    assert transformer.load is load
    assert transformer.Translator is Translator
    assert all(getattr(transformer, name) for name in transformer.__all__)
    assert {*transformer.__all__} <= {*dir(transformer)}
    assert "load(model:" in pydoc.plain(pydoc.render_doc(transformer))
    with pytest.raises(AttributeError, match="no attribute 'Guarded'"):
        transformer.Guarded  # type: ignore[attr-defined]  # noqa: B018


@pytest.fixture
def both(folders: dict[tuple[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Directions:
    monkeypatch.setattr(locate, "checkpoint_roots", lambda: (folders[ES].parent,))
    return load(device="cpu", compute_type="float32", guard=False)


def test_texts_go_by_their_language_and_come_back_in_order(both: Directions) -> None:
    texts = ["El gato ve la casa.", "The girl wants water.", "123", "Nadie compra agua.", "ok"]
    found = both.translate(texts)
    assert [one.source for one in found] == texts
    assert [one.langs for one in found] == [ES, EN, EN, ES, EN]
    assert [one.text for one in both.stream(iter(texts), window=2)] == [one.text for one in found]


def test_an_undecided_text_goes_with_the_one_before_it_also_across_windows(
    both: Directions,
) -> None:
    texts = ["123", "The girl wants water.", "123", "123"]
    assert [one.langs for one in both.stream(iter(texts), window=1)] == [ES, EN, EN, EN]


def test_a_model_is_opened_when_it_is_needed_and_once(
    both: Directions, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    original = Translator.load

    def watched(folder: str | Path, *rest: str) -> Translator:
        opened.append(Path(folder).name)
        return original(folder, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Translator, "load", watched)
    both.translate(["El gato ve la casa."])
    both.translate(["Nadie compra agua."])
    assert opened == ["es-en"]
    both.translate(["The girl wants water."], langs=EN)
    assert opened == ["es-en", "en-es"]


def test_one_direction_takes_all_texts(random_checkpoint: Path) -> None:
    opened = load(random_checkpoint, device="cpu")
    assert opened.available == (ES,)
    assert opened.translate(["The girl wants water."])[0].langs == ES
    assert isinstance(opened.translator(ES), GuardedTranslator)
    with pytest.raises(UserError, match="expected a direction out of es-en; got en-es"):
        opened.translator(EN)


def test_of_the_released_models_all_are_loaded_or_those_asked_for(both: Directions) -> None:
    assert both.available == (ES, EN)
    assert both.select([EN]).available == (EN,)
    assert both.select([EN]).translate(["El gato ve la casa."])[0].langs == EN


def test_without_a_released_model_there_is_nothing_to_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "checkpoint_roots", lambda: (tmp_path,))
    with pytest.raises(UserError, match=r"expected a model for es-en in .*, there is none"):
        load()


@pytest.mark.usefixtures("both")
def test_a_released_model_is_found_by_its_name_from_any_folder(
    folders: dict[tuple[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("en-es") == find_checkpoint("checkpoints/en-es") == folders[EN]
    assert load("en-es", device="cpu").available == (EN,)
    assert Translator.load("checkpoints/es-en", "cpu").src_lang == "es"
    for name in ("other", "elsewhere/es-en", "/es-en"):
        with pytest.raises(UserError, match="no such folder"):
            find_checkpoint(name)
    (tmp_path / "es-en").mkdir()
    with pytest.raises(UserError, match=r"without config\.json"):  # what lies here comes first
        load("es-en")


def test_one_released_model_of_both_directions_goes_by_three_names(
    both_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "checkpoints"
    shutil.copytree(both_checkpoint, place / "both")
    monkeypatch.setattr(locate, "checkpoint_roots", lambda: (place,))
    monkeypatch.chdir(tmp_path.parent)
    assert load(device="cpu").available == (ES, EN)
    named: dict[str | Path, tuple[tuple[str, str], ...]]
    named = {"both": (ES, EN), "es-en": (ES,), "checkpoints/en-es": (EN,), place / "en-es": (EN,)}
    for name, directions in named.items():
        assert find_checkpoint(name) == place / "both"
        assert load(name, device="cpu").available == directions
        assert Translator.load(name, "cpu").src_lang == directions[0][0]
    (tmp_path / "en-es").symlink_to(place / "both")  # what lies at a path serves all it can
    assert load(tmp_path / "en-es", device="cpu").available == (ES, EN)


def test_the_package_comes_before_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "PACKAGE", tmp_path / "transformer")
    with pytest.raises(UserError, match=r"expected a model for en-es in .*checkpoints/en-es"):
        default_model(EN)
    (tmp_path / "checkpoints" / "es-en").mkdir(parents=True)
    assert default_model(ES) == tmp_path / "checkpoints" / "es-en"
    (tmp_path / "transformer" / "released" / "es-en").mkdir(parents=True)
    assert default_model(ES) == tmp_path / "transformer" / "released" / "es-en"


def test_a_call_may_name_the_languages_in_any_form(both: Directions) -> None:
    text = "El gato ve la casa."
    expected = both.translate([text], langs=EN)
    for named in ({"to": "es"}, {"to": "es-MX"}, {"langs": "en-es"}, {"langs": ["EN", "es_ES"]}):
        assert both.translate([text], **named) == expected
        assert [*both.stream([text], **named)] == expected


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"to": "fr"}, "a direction out of es-en, en-es; got 'fr'"),
        ({"langs": ("es", "es")}, r"a direction out of es-en, en-es; got \('es', 'es'\)"),
        ({"langs": "es"}, r'langs=\("es", "en"\), or to="en"; got langs=.es., to=None'),
        ({"langs": "es-en", "to": "es"}, "got langs='es-en', to='es'"),
        ({"langs": 3}, "got langs=3"),
        ({"to": 3}, "got langs=None, to=3"),
    ],
)
def test_languages_that_cannot_be_are_one_line(
    both: Directions, named: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        both.translate("Hola.", **named)


def test_a_string_gives_one_translation_with_its_languages(both: Directions) -> None:
    text = "The girl wants water."
    (expected,) = both.translate([text])
    assert both.translate(text) == expected
    assert both.translate(text, beam_size=2) == both.translate([text], DecodeConfig(beam_size=2))[0]
    assert both.translate(iter([text])) == [expected]


def test_a_copy_and_another_process_open_the_models_anew(both: Directions) -> None:
    expected = both.translate("El gato ve la casa.")
    for other in (pickle.loads(pickle.dumps(both)), copy.deepcopy(both)):
        assert other.translate("El gato ve la casa.") == expected
    assert "es-en, en-es" in repr(both)
    if native.load_library() is not None:
        with pytest.raises(TypeError, match=r"call load\(\) in each process"):
            pickle.dumps(Translator.load(ROOT / "checkpoints" / "both", "cpu"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"compute_type": "fp16"},
            "a compute type out of auto, float32, bfloat16, int8; got 'fp16'",
        ),
        ({"device": "gpu"}, "a device such as cpu or cuda, got 'gpu'"),
        ({"device": 0}, "a device such as cpu or cuda, got 0"),
        ({"device": "cuda:99"}, "a device such as cpu or cuda, got 'cuda:99'"),
    ],
)
def test_a_device_or_type_that_there_is_not_is_told_at_once(
    both: Directions, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        load(**options)


def test_a_glossary_may_be_a_dictionary_or_pairs() -> None:
    for terms in ({"Zorvex": "Blip"}, [("Zorvex", "Blip")], [["es", "en"], ["Zorvex", "Blip"]]):
        assert "Blip" in load(glossary=terms, device="cpu").translate("Me gusta Zorvex.").text
        assert "Blip" in load(device="cpu").translate("Me gusta Zorvex.", glossary=terms).text
