"""What all commands share: flags derived from the fields of settings, and how they end."""

import argparse
import dataclasses
import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from transformer.command import (
    Progress,
    add_arguments,
    from_arguments,
    os_errors_as_user_errors,
    resumable_output,
    run_command,
)
from transformer.config import (
    CorpusConfig,
    DecodeConfig,
    ModelConfig,
    TrainConfig,
    UserError,
    model_config,
    option,
)

CONFIGS = pytest.mark.parametrize("cls", [ModelConfig, CorpusConfig, TrainConfig, DecodeConfig])


def parsed(cls: type[Any], *flags: str, from_preset: bool = False) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser, cls, from_preset=from_preset)
    return parser.parse_args(flags)


@CONFIGS
def test_parsing_no_flag_gives_the_defaults(cls: type[Any]) -> None:
    assert from_arguments(cls, parsed(cls)) == cls()


@CONFIGS
def test_every_field_has_a_flag_with_its_help_text(cls: type[Any]) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, cls)
    text = " ".join(parser.format_help().split())
    for field in dataclasses.fields(cls):
        assert f"--{field.name.replace('_', '-')} " in text
        assert field.metadata["help"] in text


def test_flags_have_the_types_of_their_fields() -> None:
    flags = ["--batch-tokens", "17", "--lr-scale", "3", "--precision", "bfloat16", "--compile"]
    config = from_arguments(TrainConfig, parsed(TrainConfig, *flags))
    expected = TrainConfig(batch_tokens=17, lr_scale=3.0, precision="bfloat16", compile=True)
    assert config == expected
    assert isinstance(config.lr_scale, float)


def test_what_is_left_open_is_spelt_auto(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--batch-tokens", "auto", "--learning-rate", "auto", "--warmup", "auto"]
    assert from_arguments(TrainConfig, parsed(TrainConfig, *flags)) == TrainConfig()
    with pytest.raises(SystemExit, match="2"):
        parsed(TrainConfig, "--warmup", "some")
    assert "argument --warmup: invalid int or auto value: 'some'" in capsys.readouterr().err


def test_the_choices_of_a_flag_are_those_of_its_field(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parsed(ModelConfig, "--norm", "both")
    assert "argument --norm: invalid choice: 'both'" in capsys.readouterr().err


def test_the_help_shows_a_default_unless_a_preset_will_give_it() -> None:
    shown, left_open = argparse.ArgumentParser(), argparse.ArgumentParser()
    add_arguments(shown, DecodeConfig)
    add_arguments(left_open, DecodeConfig, from_preset=True)
    assert "greedy (default: 1)" in " ".join(shown.format_help().split())
    assert "default" not in left_open.format_help()
    assert set(vars(left_open.parse_args([])).values()) == {None}


def test_flags_can_be_left_out() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, DecodeConfig, skip=("n_best", "max_ratio", "batch_tokens", "scores"))
    assert vars(parser.parse_args([])) == {"beam_size": 1, "alpha": 0.6, "no_repeat_ngram": 0}


def test_a_flag_that_is_not_given_stays_as_in_the_base() -> None:
    base = model_config("base")
    flags = parsed(ModelConfig, "--n-decoder-layers", "2", from_preset=True)
    changed = from_arguments(ModelConfig, flags, base)
    assert changed == dataclasses.replace(base, n_decoder_layers=2)
    assert from_arguments(ModelConfig, argparse.Namespace(), base) == base


def test_a_switch_in_the_base_can_be_turned_off() -> None:
    flags = parsed(TrainConfig, "--no-compile", from_preset=True)
    assert not from_arguments(TrainConfig, flags, TrainConfig(compile=True)).compile


def test_a_broken_rule_on_the_command_line_is_an_error_of_the_user() -> None:
    flags = parsed(DecodeConfig, "--beam-size", "2", "--n-best", "3")
    with pytest.raises(UserError, match="1 <= n_best <= beam_size, not 3 of 2"):
        from_arguments(DecodeConfig, flags)
    with pytest.raises(UserError, match=r"^expected beam_size <= 256, not 257$"):
        from_arguments(DecodeConfig, parsed(DecodeConfig, "--beam-size", "257"))


def test_a_percent_sign_in_a_help_text_is_shown_as_it_is() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Config:
        """One option."""

        share: float = option(0.1, "100 % of it")

    parser = argparse.ArgumentParser()
    add_arguments(parser, Config)
    assert "100 % of it (default: 0.1)" in " ".join(parser.format_help().split())


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UserError("expected this"), 2, "name: expected this\n"),
        (KeyboardInterrupt(), 130, "name: stopped\n"),
        (
            ModuleNotFoundError(name="torch"),
            2,
            "name: the library torch is not installed: install it with pip\n",
        ),
        (KeyboardInterrupt(15), 143, "name: stopped\n"),
        (
            MemoryError(),
            2,
            "name: not enough memory: end other programs, or translate less at a time\n",
        ),
        (BrokenPipeError(), 141, "name: stopped: the reader of the output has closed it\n"),
    ],
)
def test_what_ends_a_command_is_its_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    def work() -> None:
        raise error

    assert run_command(work, "name") == code
    assert capsys.readouterr() == ("", said)
    assert run_command(lambda: None, "name") == 0


@pytest.mark.parametrize("is_shown", [False, True])
def test_a_defect_of_the_program_is_one_line_and_a_traceback_where_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_shown: bool
) -> None:
    def work() -> None:
        raise ZeroDivisionError("a defect\nof two lines")

    monkeypatch.setenv("TRANSFORMER_TRACEBACK", "1" if is_shown else "")
    assert run_command(work, "name") == 70
    *before, line = capsys.readouterr().err.splitlines()
    wanted = "defect: ZeroDivisionError: a defect (TRANSFORMER_TRACEBACK=1 shows the place)"
    assert line == f"name: {wanted}"
    assert any("in work" in own for own in before) == is_shown


def test_lines_are_kept_in_a_part_file_until_the_last(tmp_path: Path) -> None:
    target, part = tmp_path / "out", tmp_path / "out.part"

    def interrupted() -> None:
        with resumable_output(target, resume=False) as (write, *_):
            write("first")
            write("second")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as ended:
        interrupted()
    assert (part.read_text(), target.exists()) == ("first\nsecond\n", False)
    assert ended.value.__notes__ == [f"the finished lines are in {part}, use --resume to continue"]
    with pytest.raises(UserError, match="use --resume to continue, or remove it"):
        resumable_output(target, resume=False).__enter__()
    part.write_text("first\nsecond\nthi")  # as after a full disk
    with resumable_output(target, resume=True) as (write, n, last):
        write("third")
    assert last == "second"
    assert (n, target.read_text(), part.exists()) == (2, "first\nsecond\nthird\n", False)
    with (
        resumable_output(tmp_path / "both", resume=False),
        pytest.raises(UserError, match=r"/both is being written by another process"),
    ):
        resumable_output(tmp_path / "both", resume=True).__enter__()
    (tmp_path / "both").unlink()
    with pytest.raises(UserError, match=r"nothing to resume: .* is complete"):
        resumable_output(target, resume=True).__enter__()
    with pytest.raises(UserError, match="soon"), resumable_output(tmp_path / "new", resume=False):
        raise UserError("soon")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_library_that_stumbles_after_a_full_disk_hides_it_not() -> None:
    """Arrow's writer, closed by an error, is closed once more."""
    message = r"^cannot write it: No space left on device$"
    with pytest.raises(UserError, match=message), os_errors_as_user_errors("write it"):  # noqa: PT012
        try:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            raise ValueError("I/O operation on closed file")
    with pytest.raises(ValueError, match="a defect"), os_errors_as_user_errors("write it"):
        raise ValueError("a defect")


def test_what_a_full_standard_error_does_not_take_ends_no_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = Mock(write=Mock(side_effect=OSError(errno.ENOSPC, "full")))
    monkeypatch.setattr("sys.stderr", full)
    Progress(1, is_shown=False).write("translate: a\nfile, line 1: a warning")
    full.write.assert_called_once_with("translate: a file, line 1: a warning")
