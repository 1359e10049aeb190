"""Texts that are sent to models: files with named placeholders and a version, which users can replace by their own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from formalimg.errors import FormalimgError

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_VERSION = re.compile(r"version: *(\S+)\n+")


@dataclass(frozen=True)
class Prompt:
    """A text with placeholders, such as {prompt}.

    Attributes:
        name: the name of its file, without .txt.
        text: the text, without the line that tells the version.
        version: of our own text, its number; of a user's text, a digest of it. It takes part in keys.
    """

    name: str
    text: str
    version: str

    def filled(self, **values: str) -> str:
        """The text with its placeholders replaced. Braces in the values, or around other things, stay as they are."""
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), self.text)


def read_prompt(package: str, name: str, placeholders: Collection[str], folder: Path | None = None) -> Prompt:
    """One of our texts, or the user's in its place.

    Args:
        package: the package in whose folder `prompts` our text lies.
        name: the name of the file, without .txt.
        placeholders: what the text must hold, all of it and nothing else in braces.
        folder: where the user's texts lie; those that are not there are ours.

    Raises:
        FormalimgError: if a placeholder is missing or unknown.
    """
    own = None if folder is None else folder / f"{name}.txt"
    if own is not None and own.is_file():
        try:
            text = own.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FormalimgError(f"cannot read {own}: {error}") from error
        version = f"own:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        where = str(own)
    else:
        where = f"{name}.txt"
        marked = _VERSION.match(written := (files(package) / "prompts" / where).read_text(encoding="utf-8"))
        if marked is None:
            raise FormalimgError(f"{where} does not begin with its version")
        text, version = written[marked.end() :], marked[1]
    found = set(_PLACEHOLDER.findall(text))
    missing, unknown = sorted(set(placeholders) - found), sorted(found - set(placeholders))
    if missing or unknown:
        problems = [f"lacks {{{word}}}" for word in missing] + [
            f"has {{{word}}}, which nobody fills" for word in unknown
        ]
        known = ", ".join(f"{{{word}}}" for word in sorted(placeholders)) or "none"
        raise FormalimgError(f"{where} {' and '.join(problems)}: its placeholders are {known}")
    return Prompt(name, text.rstrip("\n"), version)


def require_known(folder: Path, names: Collection[str]) -> None:
    """Refuse a user's folder that holds texts nobody would read, or none at all: most likely a mistyped name.

    Raises:
        FormalimgError: naming the texts that can be replaced.
    """
    if not folder.is_dir():
        raise FormalimgError(f"there is no folder {folder}: give the folder with your own prompt texts")
    there = {path.stem for path in folder.glob("*.txt")}
    unknown = sorted(there - set(names))
    if unknown or not there:
        what = f"{unknown[0]}.txt is no prompt of formalimg" if unknown else f"{folder} holds no .txt files"
        raise FormalimgError(f"{what}: texts that can be replaced are {', '.join(sorted(names))}")
