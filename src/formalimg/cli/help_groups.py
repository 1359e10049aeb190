"""Help screens in sections, and `--verbose` logging on every command.

Commands and options are listed under headings: commands under the one they are registered with, options under their
`rich_help_panel`. Help stays plain text, so that names such as formalimg[web] are not read as markup.
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then the options of each section, then the options without one."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *SECTIONS)}
        rest: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(param, "rich_help_panel", None)
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


class GroupedCommands(TyperGroup):
    """A group that lists its commands under the headings they are registered with."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each section."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = max((len(name) for name in found), default=0)
        limit = formatter.width - 6 - width
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in found.items():
            if command is not None and not command.hidden:
                title = getattr(command, "rich_help_panel", None)
                title = title if isinstance(title, str) else "Commands"
                sections.setdefault(title, []).append((name.ljust(width), command.get_short_help_str(limit)))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


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
        handler.setFormatter(logging.Formatter(_FORMAT, datefmt="%H:%M:%S"))
        logger.addHandler(handler)
