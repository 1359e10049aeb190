"""Prompt templates: text files with named placeholders and a version, which users can replace."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from formalimg.errors import FormalimgError

_PLACEHOLDER = re.compile(r"\{([a-z_]+[0-9]?|[A-Z])\}")
"""Only a lone word, or a capital, in braces is a placeholder, so that JSON can be written in a prompt as it is."""

_HEADER = re.compile(r"(version|optional|aliases|instead): *(.*)")

_OPENING, _CLOSING = "\ue000", "\ue001"  # Stand for braces that a text doubles, until its placeholders are filled
USER_LINE = "\n[user]\n"  # A line of its own that ends the system message of a prompt
_ORIGIN = "origin: "
_USERS, _AUTHORS = "the user's own", "of the authors"
_BRACES = {_OPENING: "{", _CLOSING: "}"}
_FILLED = re.compile(f"{_PLACEHOLDER.pattern}|[{_OPENING}{_CLOSING}]")


class PromptError(FormalimgError):
    """A user's prompt template that is not a valid replacement for a built-in one."""


@dataclass(frozen=True)
class Prompt:
    """A prompt template with `{placeholders}`."""

    name: str  # the name of its file without `.txt`
    text: str  # the template
    version: str  # distinguishes it from others of the same name
    optional: frozenset[str] = frozenset()  # placeholders that a user's own template may omit
    # other names that a user's own template may have for placeholders, such as those of an official text
    aliases: Mapping[str, str] = field(default_factory=dict)
    # placeholders that a text in its place may have, all of them, instead of its own
    instead: frozenset[str] = frozenset()
    # where the authors published the text, which is then sent to the letter; empty for ours and the user's
    origin: str = ""

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the placeholders."""
        return frozenset(_PLACEHOLDER.findall(self.text))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with the placeholders replaced; braces within values are preserved."""
        return _FILLED.sub(lambda match: values[match[1]] if match[1] else _BRACES[match[0]], self.text)

    def __str__(self) -> str:
        return f"{self.name}, {self.version}"


def is_authors(prompt: str) -> bool:
    """Return whether a prompt, as recorded in settings, is the benchmark authors' original text."""
    return f", {_AUTHORS} (" in prompt


def is_users(prompt: str) -> bool:
    """Return whether a prompt, as recorded in settings, is the user's own text."""
    return _USERS in prompt


def is_replaced(prompt: str) -> bool:
    """Return whether a prompt, as recorded in settings, replaces a built-in one."""
    return is_users(prompt) or is_authors(prompt)


def load_prompts(folder: Path, user_folder: Path | None = None) -> dict[str, Prompt]:
    """Load the built-in prompts in a folder by name, replaced by the user's own prompts where they exist."""
    prompts = {path.stem: _ours(path) for path in sorted(folder.glob("*.txt"))}
    if user_folder is None:
        return prompts
    if not user_folder.is_dir():
        raise PromptError(
            f"there is no folder {user_folder}: name a folder with prompts such as {next(iter(prompts))}.txt"
        )
    for path in sorted(user_folder.glob("*.txt")):
        if path.stem in prompts:
            prompts[path.stem] = _stand_in(path, prompts[path.stem])
        elif path.read_bytes().startswith(_ORIGIN.encode()):
            continue  # nobody named it by hand
        elif (near := get_close_matches(path.stem, prompts, 1, 0.8)) and _have_one_role(near[0], path.stem):
            # The folder may hold texts for others as well; but what looks like one of ours is a slip.
            names = ", ".join(prompts)
            raise PromptError(f"{path} replaces no prompt: did you mean {near[0]}.txt? Choose from {names}")
    return prompts


def read_prompt(path: Path) -> Prompt:
    """Read a prompt without placeholders, written by the user or the benchmark authors."""
    return _stand_in(path, Prompt(path.stem, "", ""))


def _ours(path: Path) -> Prompt:
    header, text = _parted(path.read_text(encoding="utf-8"))
    aliases = dict(pair.split("=", 1) for pair in header.get("aliases", "").split())
    optional = frozenset(header.get("optional", "").split())
    instead = frozenset(header.get("instead", "").split())
    return Prompt(path.stem, text, f"version {header['version']}", optional, aliases, instead)


def _stand_in(path: Path, ours: Prompt) -> Prompt:
    """Read the user's replacement for a built-in prompt, and check that its placeholders are compatible."""
    try:
        whole = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the prompt {path}: put it there, as a text file in UTF-8") from error
    if whole.startswith(_ORIGIN):
        theirs = _authors_text(path, whole, ours)
    else:
        _, text = _parted(whole)
        version = f"{_USERS}, {_digest(text)}"
        if ours.aliases or ours.instead:
            text = _with_our_names(text, ours.aliases)
        theirs = replace(ours, text=text, version=version)
    if ours.instead and theirs.placeholders == ours.instead:
        return theirs
    unknown = sorted(theirs.placeholders - ours.placeholders)
    missing = sorted(ours.placeholders - ours.optional - theirs.placeholders)
    if unknown:
        raise PromptError(f"{path} has the unknown placeholder {{{unknown[0]}}}: choose from {_listed(ours)}")
    if missing:
        raise PromptError(f"{path} has no {{{missing[0]}}}: a text in its place needs {_listed(ours)}")
    return theirs


def exact_prompt(template: str, origin: str) -> bytes:
    """Return the file content for a prompt text published by the benchmark authors."""
    return f"{_ORIGIN}{origin}\n{template}".encode()


def _authors_text(path: Path, whole: str, ours: Prompt) -> Prompt:
    """Parse a file written by `exact_prompt`, preserving all characters and renaming its fields."""
    first, _, template = whole.partition("\n")
    origin = first.removeprefix(_ORIGIN)
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise PromptError(f"{path} is not a format string ({error}): pull it again") from error
    text = ""
    for literal, name, form, conversion in pieces:
        if form or conversion:
            raise PromptError(f"{path} formats {{{name}}} in a way of its own: pull it again")
        text += literal.replace("{", _OPENING).replace("}", _CLOSING)
        text += "" if name is None else f"{{{ours.aliases.get(name, name)}}}"
    version = f"{_AUTHORS} ({origin}), {_digest(template)}"
    return replace(ours, text=text, version=version, origin=origin)


def _with_our_names(text: str, aliases: Mapping[str, str]) -> str:
    """Rename the placeholders of a published prompt to ours.

    Published texts are format strings, in which `{{` and `}}` stand for braces, unless they contain no `{{`: then their
    braces are kept.
    """
    if "{{" in text:
        text = text.replace("{{", _OPENING).replace("}}", _CLOSING)
    return _PLACEHOLDER.sub(lambda match: f"{{{aliases.get(match[1], match[1])}}}", text)


def _parted(text: str) -> tuple[dict[str, str], str]:
    """Split a prompt file into its header fields and its text."""
    header: dict[str, str] = {}
    lines = text.splitlines()
    while lines and (match := _HEADER.fullmatch(lines[0].strip())):
        header[match[1]] = match[2].strip()
        del lines[0]
    return header, "\n".join(lines).strip()


def _have_one_role(name: str, second_name: str) -> bool:
    """Return whether two prompt names denote the same role, by their first word or the word after `published`."""
    first, second = (re.split("[-_ ]", words) for words in (name, second_name))
    if first[0] != second[0]:
        return False
    return first[0] != "published" or bool(get_close_matches("".join(first[1:2]), second[1:2], 1, 0.6))


def _listed(prompt: Prompt) -> str:
    needed = [f"{{{name}}}" for name in sorted(prompt.placeholders - prompt.optional)]
    free = [f"{{{name}}} (may be left out)" for name in sorted(prompt.optional & prompt.placeholders)]
    same = [f"{{{name}}} for {{{ours}}}" for name, ours in prompt.aliases.items()]
    return ", ".join(needed + free + same) or "none"


def _digest(text: str) -> str:
    return "sha256 " + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
