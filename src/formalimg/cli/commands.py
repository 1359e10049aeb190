"""All commands with their sections, summaries and examples, and the application that loads them lazily.

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


def option(*texts: str, panel: str | None = None, **settings: Any) -> Any:
    """Return the option with a usage, such as `--judge -j JUDGE` or only its metavar, and a help text."""
    return _parameter(typer.Option, texts, panel, settings)


def argument(*texts: str, **settings: Any) -> Any:
    """Return the argument with a metavar and a help text."""
    return _parameter(typer.Argument, texts, None, {"show_default": False, **settings})


def _parameter(kind: Any, texts: tuple[str, ...], panel: str | None, settings: dict[str, Any]) -> Any:
    *usage, text = texts
    words = " ".join(usage).split()
    flags = [word for word in words if word.startswith("-")]
    metavar = " ".join(word for word in words if word not in flags) or None
    return kind(*flags, metavar=metavar, help=text, rich_help_panel=panel, **settings)


class GroupedCommand(TyperCommand):
    """A command with sections of options in its help and a `--verbose` option."""

    example = ""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line and an example."""
        super().format_usage(ctx, formatter)
        if self.example:
            program, _, arguments = self.example.partition(" ")
            formatter.write_usage(program, arguments, prefix="Example: ")

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, with `--verbose` inserted before `--help`."""
        *params, help_option = super().get_params(ctx)
        return [*params, _verbose_option(), help_option]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, explaining missing ones and removing API keys from error messages."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if isinstance(message := getattr(error, "message", None), str):
                from formalimg.cli.options import value_problem  # these here, so that commands start faster
                from formalimg.models.secrets import redact

                message = value_problem(error) or message
                missing = type(error).__name__ == "MissingParameter" and getattr(error, "param", None)
                error.message = (missing and missing.help) or redact(message)  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command after checking that its path arguments are regular files or folders."""
        for value in ctx.params.values():
            for path in value if isinstance(value, list | tuple) else (value,):
                if isinstance(path, Path):
                    refuse_special_file(path)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, followed by the options grouped by section."""
        for title, entries in self.help_sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for _, name, text in entries])

    def help_sections(self, ctx: Any) -> dict[str, list[tuple[Any, str, str]]]:
        """Return the parameters by section, with the names and help texts to display."""
        sections: dict[str, list[tuple[Any, str, str]]] = {title: [] for title in ("Arguments", *SECTIONS)}
        rest: list[tuple[Any, str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(param, "rich_help_panel", None)
            entry = (param, *_readable(*record))
            if param.param_type_name == "argument":
                sections["Arguments"].append(entry)
            elif panel:
                sections.setdefault(panel, []).append(entry)
            else:
                rest.append(entry)
        sections["Other options" if any(sections[title] for title in SECTIONS) else "Options"] = rest
        return {title: entries for title, entries in sections.items() if entries}


_ARGUMENT_TYPE = re.compile(r"(?<=\S) <[\w\[\]|. ]+>$")
"""What some versions of typer write behind the names of arguments: `<list[Path]>`."""

_PYTHON_TYPES = {"<int>": "N", "<int range>": "N", "<float>": "X", "<float range>": "X", "<str>": "TEXT"}
_ANY_SEED = re.compile(r"; -\d{19}<=x<=\d{19}")
_NO_LIMIT = re.compile(r"(\d+)<=x<=(?:\d{19}|1000000\b)")
_DEFAULT_IN_PARENTHESES = re.compile(r"\[default: \((.*?)\)")


def _readable(name: str, text: str) -> tuple[str, str]:
    """Simplify a help entry by removing Python types, unreachable limits and extra parentheses."""
    for python, word in _PYTHON_TYPES.items():
        name = name.replace(f" {python}", f" {word}") if name.startswith("-") else _ARGUMENT_TYPE.sub("", name)
    text = _NO_LIMIT.sub(r"x>=\1", _ANY_SEED.sub("", text))
    return name, _DEFAULT_IN_PARENTHESES.sub(r"[default: \1", text)


class CommandEntry(NamedTuple):
    """A command or command group."""

    summary: str
    """One line for the list of commands."""
    example: str = ""
    """What to type after the command's name in the example that its help begins with."""
    target: str = ""
    """`module:function` in this package, or `module:app` for a group; by default `NAME:NAME_command`."""
    section: str = "Commands"
    """The heading under which the command is listed."""
    commands: Mapping[str, CommandEntry] | None = None
    """The commands of a group."""

    def load(self, name: str, parents: tuple[str, ...] = ()) -> Any:
        """Import and build the command."""
        if self.commands is not None:
            return _build_group(name, self, parents)
        module, _, attribute = self.target.partition(":")
        target = getattr(import_module(f"formalimg.cli.{module or name}"), attribute or f"{name}_command")
        if isinstance(target, typer.Typer):
            group = typer.main.get_command(target)
            group.name = name
            return group
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        example = f"formalimg {' '.join((*parents, name))} {self.example}".rstrip()
        single.command(name, cls=GroupedCommand)(target)
        command: Any = typer.main.get_command(single)
        command.example = example if self.example else ""
        return command


class _LazyCommands(MutableMapping[str, Any]):
    """Mapping of command names to commands, which are imported on first access."""

    def __init__(self, entries: Mapping[str, CommandEntry], parents: tuple[str, ...]) -> None:
        self._entries, self._parents = entries, parents
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._entries[name].load(name, self._parents)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._entries, **self._loaded})

    def __len__(self) -> int:
        return len({**self._entries, **self._loaded})


def command_group(entries: Mapping[str, CommandEntry], parents: tuple[str, ...] = ()) -> type[TyperGroup]:
    """Return a group class with the given commands, listed by section."""

    class LazyGroup(TyperGroup):
        """A group that imports its commands on demand."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _LazyCommands(entries, parents)

        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of all commands in their defined order."""
            return [*entries]

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write the commands of each section without importing them."""
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


def _build_group(name: str, entry: CommandEntry, parents: tuple[str, ...]) -> Any:
    group = typer.Typer(
        name=name,
        cls=command_group(entry.commands or {}, (*parents, name)),
        help=entry.summary,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )
    group.callback()(lambda: None)
    return typer.main.get_command(group)


@cache
def _verbose_option() -> Any:
    """Return the `--verbose` option, built by typer for compatibility with its different versions."""
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
    """Log events of formalimg to standard error. Verbosity 1 means INFO and 2 or more means DEBUG."""
    logger = logging.getLogger("formalimg")
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)])
    if verbosity and not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(VisibleFormatter(_FORMAT, datefmt="%H:%M:%S"))
        logger.addHandler(handler)


_EVALUATE, _RELY, _DATA, _SETUP, _MORE = "Evaluate", "Rely on it", "Data", "Set up", "Groups of commands"

_FORMULA = {
    "check": CommandEntry(
        "Check formulas and report every problem.",
        "\"(exists ?x (Is ?x 'cup'))\" my.formula",
        target="formula",
    ),
    "verify": CommandEntry(
        "Verify whether a formula holds in a scene.",
        "--formula my.formula --scene scene.json --explain",
        target="formula",
    ),
    "solve": CommandEntry(
        "Find a scene that satisfies a formula, or prove there is none.",
        "--formula \"(exists ?x (Is ?x 'cup'))\"",
        target="formula",
    ),
    "vocabulary": CommandEntry("List the classes and predicates of a suite, or its concepts.", "knolling", "listings"),
    "translate": CommandEntry("Translate prompts into formulas.", "prompts.txt --to formulas --vocabulary open"),
}

_ITEMS = {
    "show": CommandEntry("Show an item: its prompt and what it requires.", "knolling/1207 --draw item.png"),
    "synth": CommandEntry(
        "Sample new items and prove that they can be satisfied.",
        "knolling --levels 1-3 --per-level 10 --out my-suite",
    ),
    "write": CommandEntry(
        "Write new items with a chat model, and check every one.",
        "natural --model openai/gpt-5 --out my-suite --dry-run",
    ),
    "review": CommandEntry("Accept or reject written groups of items.", target="review:review_app"),
    "census": CommandEntry("Count what the items of a suite are made of.", "natural", "synth"),
    "captions": CommandEntry("Count which kinds of visual concepts captions mention.", "captions.txt"),
}

_SHARE = {
    "bundle": CommandEntry(
        "Write runs to one file that can be cited and verified.", "runs/* --out results.zip", "share"
    ),
    "verify": CommandEntry(
        "Recompute a bundle, and report what differs and what cannot be recomputed.",
        "results.zip",
        target="share:verify_bundle_command",
    ),
    "card": CommandEntry("Write a section for a model card, with figures.", "runs/a --out card.md", "share"),
    "push": CommandEntry(
        "Push a run to a dataset on the Hugging Face Hub.", "runs/a --to hf://datasets/me/my-run", "share"
    ),
    "log": CommandEntry("Log runs to W&B, MLflow or TensorBoard.", "runs/* --to tensorboard", "share"),
}

_CF_WORLD = {
    "diagnose": CommandEntry(
        "Explain why a model fails on groups of factual and changed prompts.", "runs/*", "group_studies"
    ),
    "calibrate": CommandEntry(
        "Find the gate threshold that agrees best with human labels.",
        "runs/a --labels labels.csv",
        "group_studies",
    ),
}

COMMANDS = {
    "run": CommandEntry(
        "Generate the images of a suite, judge them and print the pass rates.",
        "knolling --model builtin/reader --per-level 20",
        section=_EVALUATE,
    ),
    "judge": CommandEntry(
        "Judge the images of a run and print the pass rates.",
        "runs/a --judge gemini/gemini-3-pro-preview",
        section=_EVALUATE,
    ),
    "score": CommandEntry(
        "Score images by what a prompt asks for: any image, any prompt.",
        'cat.png --prompt "a red cat" --judge openai/gpt-5',
        section=_EVALUATE,
    ),
    "report": CommandEntry(
        "Compare runs: pass rates, confidence intervals, and what could not be scored.",
        "runs/* --out report.html",
        section=_EVALUATE,
    ),
    "view": CommandEntry("Browse runs, images and explanations in the browser.", "runs", section=_EVALUATE),
    "serve": CommandEntry(
        "Serve rewards over HTTP: scores from 0 to 1, with reasons.", "--root images", section=_EVALUATE
    ),
    "plan": CommandEntry(
        "Say how many images and labels a precision or power needs, and what they cost.",
        "knolling --power 0.8 --difference 5",
        section=_RELY,
    ),
    "gate": CommandEntry(
        "Test that a new run is no worse than a baseline, for continuous integration.",
        "runs/new --against runs/base --margin 2",
        section=_RELY,
    ),
    "annotate": CommandEntry(
        "Collect human ratings of images in the browser.", "runs/a --protocol likert", section=_RELY
    ),
    "agree": CommandEntry(
        "Measure agreement between judges, and with human ratings.",
        "runs/a --ratings studies/a-likert",
        section=_RELY,
    ),
    "certify": CommandEntry(
        "Measure a judge or grounder by images whose content is known.", "--scenes 10", section=_RELY
    ),
    "pull": CommandEntry("Download the data of a published benchmark.", "formalimg --to published", section=_DATA),
    "export": CommandEntry(
        "Export a suite with metadata, or a run in the published format.", "knolling --out my-suite", section=_DATA
    ),
    "import": CommandEntry(
        "Import answers and ratings that were made elsewhere, as runs and studies.",
        target="import_answers:import_app",
        section=_DATA,
    ),
    "suites": CommandEntry(
        "List the suites: items, levels, what judges them, and where items come from.",
        target="listings",
        section=_SETUP,
    ),
    "models": CommandEntry(
        "List the model providers and detectors, and what is missing to use each.",
        target="listings",
        section=_SETUP,
    ),
    "doctor": CommandEntry("Check this installation.", section=_SETUP),
    "formula": CommandEntry("Check, verify, solve and translate formulas.", commands=_FORMULA, section=_MORE),
    "items": CommandEntry("Show, sample, write, review and count items.", commands=_ITEMS, section=_MORE),
    "share": CommandEntry("Bundle, verify, publish and log results.", commands=_SHARE, section=_MORE),
    "cf-world": CommandEntry("Diagnose models and calibrate the gate on CF-World.", commands=_CF_WORLD, section=_MORE),
    "config": CommandEntry(
        "Print the defaults in force, and where they come from.", target="config:config_app", section=_MORE
    ),
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
        bool, option("--version", "Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Formal, verifiable evaluation of text-to-image models."""
