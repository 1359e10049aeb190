"""All commands: their sections, summaries and examples, and the application that imports them when they are used.

Commands and options are listed under headings: commands under the one they are registered with, options under their
`rich_help_panel`. Help stays plain text, so that names such as formalimg[web] are not read as markup.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from formalimg import __version__
from formalimg._util.io import refuse_special_file
from formalimg.cli.streams import VisibleFormatter

# Typer brings its own copy of click in some versions and uses the package in others, so its types are not named here.

SECTIONS = ("What to run", "Model", "Judge", "Cost", "Where")
"""The headings of options that several commands share, in their order."""

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class GroupedCommand(TyperCommand):
    """A command whose options are listed in sections, and which takes `--verbose`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, and `--verbose` before `--help`."""
        *params, help_option = super().get_params(ctx)
        return [*params, _verbose_option(), help_option]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; errors that quote them show no API key, and what is missing is explained."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if isinstance(message := getattr(error, "message", None), str):
                from formalimg.cli.option_errors import value_problem  # these here, so that commands start faster
                from formalimg.models.secrets import redact

                message = value_problem(error) or message
                missing = type(error).__name__ == "MissingParameter" and getattr(error, "param", None)
                error.message = (missing and missing.help) or redact(message)  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless a path that it was given is no file or folder."""
        for value in ctx.params.values():
            for path in value if isinstance(value, list | tuple) else (value,):
                if isinstance(path, Path):
                    refuse_special_file(path)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then the options of each section, then the options without one."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *SECTIONS)}
        rest: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(param, "rich_help_panel", None)
            record = _readable(*record)
            if param.param_type_name == "argument":
                sections["Arguments"].append(record)
            elif panel:
                sections.setdefault(panel, []).append(record)
            else:
                rest.append(record)
        sections["Other options" if any(sections[title] for title in SECTIONS) else "Options"] = rest
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


_ARGUMENT_TYPE = re.compile(r"(?<=\S) <[\w\[\]|. ]+>$")
"""What some versions of typer write behind the names of arguments: `<list[Path]>`."""

_PYTHON_TYPES = {"<int>": "N", "<int range>": "N", "<float>": "X", "<float range>": "X", "<str>": "TEXT"}
_ANY_SEED = re.compile(r"; -\d{19}<=x<=\d{19}")
_NO_LIMIT = re.compile(r"(\d+)<=x<=(?:\d{19}|1000000\b)")
_DEFAULT_IN_PARENTHESES = re.compile(r"\[default: \((.*?)\)")


def _readable(name: str, text: str) -> tuple[str, str]:
    """Return a line of help without types of Python, limits that nobody meets, and parentheses around defaults."""
    for python, word in _PYTHON_TYPES.items():
        name = name.replace(f" {python}", f" {word}") if name.startswith("-") else _ARGUMENT_TYPE.sub("", name)
    text = _NO_LIMIT.sub(r"x>=\1", _ANY_SEED.sub("", text))
    return name, _DEFAULT_IN_PARENTHESES.sub(r"[default: \1", text)


class CommandEntry(NamedTuple):
    """A command of the command line.

    Attributes:
        section: the heading under which it is listed.
        summary: one line for the list of commands.
        example: a command line to show below its help.
        target: `module:function` in this package, or `module:app` for a group of commands; by default the function
            `NAME_command` of the module of that name.
    """

    section: str
    summary: str
    example: str = ""
    target: str = ""

    def load(self, name: str) -> Any:
        """Import the command and build it."""
        module, _, attribute = (self.target or f"{name}:{name}_command").partition(":")
        found = getattr(import_module(f"formalimg.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            group = typer.main.get_command(found)
            group.name = name
            return group
        only = typer.Typer(add_completion=False, rich_markup_mode=None)
        epilog = f"Example: formalimg {self.example}" if self.example else None
        only.command(name, cls=GroupedCommand, epilog=epilog)(found)
        return typer.main.get_command(only)


class _LazyCommands(MutableMapping[str, Any]):
    """Commands by name, imported on first access: `formalimg run` does not load the other commands."""

    def __init__(self, entries: Mapping[str, CommandEntry]) -> None:
        self._entries = entries
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._entries[name].load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._entries, **self._loaded})

    def __len__(self) -> int:
        return len({**self._entries, **self._loaded})


def command_group(entries: Mapping[str, CommandEntry]) -> type[TyperGroup]:
    """Return the class of a group with these commands, listed under their headings."""

    class LazyGroup(TyperGroup):
        """A group whose commands are imported when they are used."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _LazyCommands(entries)

        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of all commands, in their order."""
            return [*entries]

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write the commands of each section, without importing them."""
            width = max(map(len, entries))
            for section in dict.fromkeys(entry.section for entry in entries.values()):
                with formatter.section(section):
                    formatter.write_dl(
                        [
                            (name.ljust(width), entry.summary)
                            for name, entry in entries.items()
                            if entry.section == section
                        ]
                    )

    return LazyGroup


@cache
def _verbose_option() -> Any:
    """Return the option `--verbose`, made by typer itself: how options are built differs between its versions."""
    only = typer.Typer(add_completion=False)

    @only.command()
    def _(
        verbose: Annotated[
            int,
            typer.Option(
                "-v",
                "--verbose",
                count=True,
                show_default=False,
                metavar="",
                help="Log retries, waits and other events to standard error; -vv logs every call.",
            ),
        ] = 0,
    ) -> None: ...

    option: Any = typer.main.get_command(only).params[0]
    option.expose_value = False
    option.callback = lambda _context, _option, level: configure_logging(level or 0)
    return option


def configure_logging(verbosity: int) -> None:
    """Log our own events to standard error: INFO for 1, DEBUG for 2 or more, warnings otherwise."""
    logger = logging.getLogger("formalimg")
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)])
    if verbosity and not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(VisibleFormatter(_FORMAT, datefmt="%H:%M:%S"))
        logger.addHandler(handler)


_RUN, _AUTHOR, _JUDGE, _SHARE, _TOOLS = "Run and look", "Author items", "Judge quality", "Share", "Tools"

COMMANDS = {
    "run": CommandEntry(
        _RUN,
        "Generate the images of a suite, judge them and print the pass rates.",
        "run knolling --model builtin/reader --per-level 20",
    ),
    "plan": CommandEntry(
        _RUN,
        "Say how many images and labels a wanted precision or power needs, and what they cost.",
        "plan knolling --power 0.8 --difference 5",
    ),
    "generate": CommandEntry(
        _RUN,
        "Generate the images of a suite, to be judged later with `judge`.",
        "generate natural --model openai/gpt-image-2 --dry-run",
        target="run:generate_command",
    ),
    "judge": CommandEntry(
        _RUN, "Judge the images of a run and print the pass rates.", "judge runs/a --judge gemini/gemini-3-pro-preview"
    ),
    "score": CommandEntry(
        _RUN,
        "Score images by what a prompt asks for: any image, any prompt.",
        'score cat.png --prompt "a red cat" --judge openai/gpt-5',
    ),
    "report": CommandEntry(
        _RUN,
        "Compare runs: pass rates, confidence intervals, and what could not be scored.",
        "report runs/* --out report.html",
    ),
    "gate": CommandEntry(
        _RUN,
        "Test that a new run is no worse than a baseline, for continuous integration.",
        "gate runs/new --against runs/base --margin 2",
    ),
    "view": CommandEntry(_RUN, "Browse runs, images and explanations in the browser.", "view runs"),
    "show": CommandEntry(_RUN, "Show an item: its prompt and what it requires.", "show knolling/1207 --draw item.png"),
    "diagnose": CommandEntry(
        _RUN, "Explain why a model fails on groups of factual and changed prompts.", "diagnose runs/*"
    ),
    "serve": CommandEntry(_RUN, "Serve rewards over HTTP: scores from 0 to 1, with reasons.", "serve --root images"),
    "synth": CommandEntry(
        _AUTHOR,
        "Sample new items and prove that they can be satisfied.",
        "synth knolling --levels 1-3 --per-level 10 --out my-suite",
    ),
    "write": CommandEntry(
        _AUTHOR,
        "Write new items with a chat model, and check every one.",
        "write natural --model openai/gpt-5 --out my-suite --dry-run",
    ),
    "review": CommandEntry(_AUTHOR, "Accept or reject written groups of items.", target="review:review_app"),
    "census": CommandEntry(_AUTHOR, "Count what the items of a suite are made of.", "census natural"),
    "captions": CommandEntry(
        _AUTHOR, "Count which kinds of visual concepts captions mention.", "captions captions.txt"
    ),
    "translate": CommandEntry(
        _AUTHOR, "Translate prompts into formulas.", "translate prompts.txt --to formulas --vocabulary open"
    ),
    "export": CommandEntry(
        _AUTHOR, "Export a suite with metadata, or a run in the published format.", "export knolling --out my-suite"
    ),
    "pull": CommandEntry(_AUTHOR, "Download the data of a published benchmark.", "pull formalimg --to published"),
    "import": CommandEntry(
        _JUDGE,
        "Import answers and ratings that were made elsewhere, as runs and studies.",
        target="import_answers:import_app",
    ),
    "agree": CommandEntry(
        _JUDGE, "Measure agreement between judges, and with human ratings.", "agree runs/a --ratings studies/a-likert"
    ),
    "annotate": CommandEntry(
        _JUDGE, "Collect human ratings of images in the browser.", "annotate runs/a --protocol likert"
    ),
    "calibrate": CommandEntry(
        _JUDGE,
        "Find the gate threshold of groups of factual and changed prompts that agrees best with human labels.",
        "calibrate runs/a --labels labels.csv",
    ),
    "certify": CommandEntry(
        _JUDGE, "Measure a judge or grounder by images whose content is known.", "certify --scenes 10"
    ),
    "bundle": CommandEntry(
        _SHARE,
        "Write runs to one file that can be cited and verified.",
        "bundle runs/* --out results.zip",
    ),
    "verify-bundle": CommandEntry(
        _SHARE,
        "Compute a bundle again, and say what differs and what cannot be computed.",
        "verify-bundle results.zip",
        target="bundle:verify_bundle_command",
    ),
    "card": CommandEntry(_SHARE, "Write a section for a model card, with figures.", "card runs/a --out card.md"),
    "push": CommandEntry(
        _SHARE, "Push a run to a dataset on the Hugging Face Hub.", "push runs/a --to hf://datasets/me/my-run"
    ),
    "log": CommandEntry(_SHARE, "Log runs to W&B, MLflow or TensorBoard.", "log runs/* --to tensorboard"),
    "check": CommandEntry(
        _TOOLS, "Check formulas and report every problem.", "check \"(exists ?x (Is ?x 'cup'))\" my.formula"
    ),
    "verify": CommandEntry(
        _TOOLS, "Verify whether a formula holds in a scene.", "verify --formula my.formula --scene scene.json --explain"
    ),
    "solve": CommandEntry(
        _TOOLS,
        "Find a scene that satisfies a formula, or prove there is none.",
        "solve --formula \"(exists ?x (Is ?x 'cup'))\"",
    ),
    "suites": CommandEntry(_TOOLS, "List the suites: items, levels, what judges them, and where items come from."),
    "vocabulary": CommandEntry(
        _TOOLS, "List the classes and predicates of a suite, or its concepts.", "vocabulary knolling"
    ),
    "models": CommandEntry(_TOOLS, "List the model providers and detectors, and what is missing to use each."),
    "config": CommandEntry(
        _TOOLS, "Print the defaults in force, and where they come from.", target="config:config_app"
    ),
    "doctor": CommandEntry(_TOOLS, "Check this installation."),
}

app = typer.Typer(
    name="formalimg",
    cls=command_group(COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: boxes leave little room, and markup would swallow formalimg[web]
)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"formalimg {__version__}")
        raise typer.Exit


@app.callback()
def _formalimg(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Formal, verifiable evaluation of text-to-image models."""
