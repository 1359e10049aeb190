"""Options that messages name: a remedy exists only if the command that prints it, or the one that it names, has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import click

_OPTION = re.compile(r"(?<![\w/=.-])(--[a-z][a-z-]+[a-z])\b")
_COMMAND = re.compile(r"(?:`(?:formalimg )?|formalimg )([a-z]+(?:-[a-z]+)*)(?: ([a-z]+))?(?: ([a-z]+))?")
_OF_OTHERS = re.compile(
    r"\b(pip|git|ray|playwright|tensorboard) |No such option|unexpected extra argument|--evil|\bcommand/"
)
"""Lines about other programs, and about options that users made up, or names that look like options."""


def options_by_command(commands: click.Command, name: tuple[str, ...] = ()) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the options of each command, by its name, as in `items review export`."""
    own = {option for one in commands.params for option in (*one.opts, *one.secondary_opts)}
    yield " ".join(name), frozenset({"--help", *own})
    for inner, command in getattr(commands, "commands", {}).items():
        yield from options_by_command(command, (*name, inner))


def missing_options(message: str, command: str, options: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the options in a message that neither the command that prints it has nor a command that it names.

    Args:
        message: the text.
        command: the name of the command.
        options: the options of all commands.
    """
    missing: list[str] = []
    for line in message.splitlines():
        if _OF_OTHERS.search(line):
            continue
        named = {" ".join(words[:count]) for words in _COMMAND.findall(line) for count in (1, 2, 3)}
        known = frozenset[str]().union(*(options.get(one, ()) for one in {command, *named}))
        missing += [option for option in _OPTION.findall(line) if option not in known]
    return missing


@cache
def all_options(commands: click.Command) -> Mapping[str, frozenset[str]]:
    """Return the options of all commands."""
    return dict(options_by_command(commands))
