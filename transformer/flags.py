"""The flags of the `translate` command and of its commands, with their help and examples."""

import argparse
from pathlib import Path

from transformer.command import Parser, add_arguments, warn
from transformer.config import ComputeType, DecodeConfig, ServeConfig, choices
from transformer.files import Errors, encoding_name
from transformer.text.language import LANGUAGES, language_code

GUARD_HELP = (
    "keep placeholders, addresses, tags and emoji, translate text in capitals as lower case, retry "
    "faulty translations and warn of remaining faults; --no-guard: the model's translation "
    "unchanged (default: --guard)"
)
COMPUTE_TYPE_HELP = (
    "number type; auto: bfloat16 on a GPU; on a CPU int8 with the native decoder, else float32 "
    "(default: auto)"
)
DESCRIPTIONS = {
    "": "Translate between Spanish and English, offline: texts, files, folders, or standard "
    "input, line by line.",
    "serve": "Serve over HTTP: a page for people, and the LibreTranslate API for programs.",
    "selftest": "Translate the test sentences of each released model; exit code 1 if a translation "
    "differs from that at its release.",
    "completion": "Print the script with which bash or zsh complete the flags by the Tab key.",
}
EXAMPLES = {
    "": """commands, each with its own --help:
  translate serve              serve a web page and an API over HTTP
  translate selftest           check that the model translates as at its release
  translate completion bash    print a script that completes options with the Tab key

examples:
  translate "¿Qué hora es?"
  translate -i letters.es -o letters.en
  translate -i manual.docx -o manual.en.docx
  translate -i documents/ -o translated/ -f es
  translate -- serve           translate the word "serve"; do not run the command""",
    "serve": "example:\n  translate serve --port 8080 --host 0.0.0.0 --api-keys keys",
    "selftest": "example:\n  translate selftest --from es",
    "completion": "example:\n  translate completion bash > "
    "~/.local/share/bash-completion/completions/translate",
}


def completion_parser() -> Parser:
    """Build the parser from which the completion script of the Tab key is generated."""
    flags = build_parser(has_texts=False)
    commands = flags.add_subparsers()
    for name in filter(None, DESCRIPTIONS):
        commands.add_parser(
            name, parents=[build_parser(name)], add_help=False, help=DESCRIPTIONS[name]
        )
    return flags


def build_parser(command: str = "", *, has_texts: bool = True) -> Parser:
    """Build the parser of `translate`, or of one of its commands; without `has_texts` no TEXTs."""
    flags = Parser(
        prog=f"translate {command}".rstrip(),
        description=DESCRIPTIONS[command],
        epilog=EXAMPLES[command],
    )
    if command == "completion":
        flags.add_argument("completion", choices=("bash", "zsh"), help="the shell")
        return flags
    if not command:
        flags.usage = "translate [options] [TEXT or FILE ...]"
        if has_texts:
            flags.add_argument(
                "text", nargs="*", help="texts or files to translate (default: standard input)"
            )
        _add_text_arguments(flags)
    _add_model_arguments(flags)
    for name in ("serve", "selftest"):
        flags.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    flags.set_defaults(**{command: True} if command else {})
    if command != "selftest":
        flags.add_argument("--glossary", type=Path, metavar="FILE", help="one "
                           "term<TAB>translation per line; without a translation the term is "
                           "kept")  # fmt: skip
        is_hidden = not command
        about = argparse.SUPPRESS if is_hidden else "print a new key, add its hash to FILE"
        flags.add_argument("--new-api-key", type=Path, metavar="FILE", help=about)
        add_arguments(flags, DecodeConfig, skip=("scores",))
        add_arguments(flags, ServeConfig, hidden=is_hidden)
    return flags


def _add_text_arguments(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument
    add("--text", dest="literal_texts", metavar="TEXT", action="append", default=[],
        help="a text to translate even if it is the name of a file or a command")  # fmt: skip
    file = add("-i", "--input", type=Path, metavar="PATH", help="file or folder to translate; - is "
               "standard input; lines of text, or a document: %(formats)s")  # fmt: skip
    file.formats = _LazyFormatList()  # type: ignore[attr-defined]
    add("--format", default="", metavar="NAME", help="format of files whose names do not "
        "show it, one of the above; txt is plain lines (standard input always is)")  # fmt: skip
    add("-o", "--output", type=Path, metavar="PATH", help="file or folder to write")
    add("--per-line", action="store_true", help="recognise the language of each line instead of "
        "that of the whole file")  # fmt: skip
    add("--columns", help="columns of a table to translate, by name or number, or keys of JSON or "
        "YAML, separated by commas: title,body")  # fmt: skip
    add("--resume", action="store_true", help="continue an interrupted translation: a file "
        "continues after the lines in OUTPUT.part, a folder with the files not yet written"
        )  # fmt: skip
    add("--errors", choices=choices(Errors), default="strict", help="what to do with bytes that "
        "are not UTF-8: stop, write \ufffd instead, or skip them (default: strict)")  # fmt: skip
    add("--encoding", type=encoding_name, help="encoding of the input, such as cp850; UTF-8 "
        "and Windows-1252 are recognised (output is UTF-8)")  # fmt: skip
    add("--json", action="store_true", help="write one JSON object per line: source, "
        "translation, score, tokens, langs, warnings")  # fmt: skip
    add("--explain", action="store_true", help="print step by step how each sentence was decoded")
    add(
        "--attention",
        type=Path,
        metavar="FILE",
        help="draw the attention of the translation: .png, .svg or .html",
    )
    add(
        "--version", action="store_true", help="print the versions of the project and of the models"
    )


def join_words(words: list[str]) -> list[str]:
    """Join arguments to one text, with a warning, if all are words: quotes seem to be left out."""
    if len(words) < 2 or any(len(word.split()) != 1 for word in words):
        return words
    warn("translate: the words are translated as one text (--text WORD: a word by itself)")
    return [" ".join(words)]


class _LazyFormatList:
    """A value for the % of a help text: names of formats, imported only when --help prints them."""

    def __str__(self) -> str:
        from transformer.documents.formats import FORMATS

        return ", ".join(ending[1:] for ending in FORMATS)


def _add_model_arguments(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument
    add("-f", "--from", dest="src_lang", choices=LANGUAGES, type=language_code,
        help="source language (default: recognised); regional codes such as es-MX count as es"
        )  # fmt: skip
    add("-t", "--to", dest="tgt_lang", choices=LANGUAGES, type=language_code,
        help="target language (default: the other one)")  # fmt: skip
    add("--model", help="checkpoint folder (default: the released model)")
    add_device_arguments(flags)
    add("--guard", action=argparse.BooleanOptionalAction, default=True, help=GUARD_HELP)


def add_device_arguments(flags: argparse.ArgumentParser) -> None:
    """Add the flags --device and --compute-type."""
    flags.add_argument(
        "--device",
        default="auto",
        help="where to compute: auto, cpu, cuda, cuda:1, mps (default: auto)",
    )
    flags.add_argument(
        "--compute-type", choices=choices(ComputeType), default="auto", help=COMPUTE_TYPE_HELP
    )
