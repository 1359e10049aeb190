"""Texts of published scripts, on the user's machine: prompts are read out of the authors' source files, and none ships.

`published_texts.toml` in the folder of a benchmark says in which file, function and variable each prompt stands.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from formalimg._util.cache_folder import cache_folder
from formalimg.benchmarks.download.contents import FileContents, matches_any
from formalimg.benchmarks.download.pull import PullResult, pull
from formalimg.benchmarks.download.source import BenchmarkSource, PullError, source
from formalimg.benchmarks.download.source_text import read_text
from formalimg.benchmarks.registry import FOLDERS
from formalimg.prompts import exact_prompt

_FILE = "published_texts.toml"


@dataclass(frozen=True)
class TextPlace:
    """Where a prompt stands."""

    name: str  # the name of our prompt whose place it takes
    file: str  # the source file
    parts: tuple[str, ...] = ()  # what it is made of, as `source_text.read_text` reads them; empty for the whole file
    is_template: bool = False  # whether the script fills it with `str.format`, so that it doubles its braces already


@dataclass(frozen=True)
class TextSource:
    """The texts of a benchmark, and the repository and commit that they are read from."""

    benchmark: BenchmarkSource
    places: tuple[TextPlace, ...]


def pull_texts(
    name: str, to: str | Path | None = None, origin: str | Path | None = None, revision: str | None = None
) -> PullResult:
    """Pull the prompts of a published benchmark, each as a text file that takes the place of ours."""
    known = text_source(name)

    def extract(contents: FileContents) -> FileContents:
        kept = {path: data for path, data in contents.items() if matches_any(path, known.benchmark.papers)}
        return kept | {f"{place.name}.txt": _extract(place, contents, known.benchmark) for place in known.places}

    return pull(known.benchmark, to or texts_folder(name), origin, revision, convert=extract)


def text_source(name: str) -> TextSource:
    """Return where the texts of a benchmark stand."""
    benchmark = source(name)
    if name not in _tables():
        raise PullError(f"where {name} keeps its texts is not known: known are those of {', '.join(_tables())}")
    commit, texts = _tables()[name]
    places = tuple(TextPlace(text, **fields) for text, fields in texts.items())
    wanted = tuple(dict.fromkeys(place.file for place in places))
    title = f"{benchmark.title.partition(':')[0]}: the prompts in its scripts"
    return TextSource(
        replace(benchmark, title=title, commit=commit, data=wanted, papers=("LICENSE*",), digest=""), places
    )


def texts_folder(name: str) -> Path:
    """Return the folder in which published protocols look for the pulled texts of a benchmark."""
    return cache_folder() / "texts" / name


def pulled_texts(name: str) -> Path | None:
    """Return the folder with the pulled texts of a benchmark; None if there are none."""
    folder = texts_folder(name) if name in _tables() else None
    return folder if folder is not None and folder.is_dir() else None


def has_texts(name: str) -> bool:
    """Return whether it is known where a benchmark keeps its texts."""
    return name in _tables()


def _extract(place: TextPlace, contents: FileContents, benchmark: BenchmarkSource) -> bytes:
    repository = benchmark.repository.removeprefix("https://").partition("/")[2]
    if place.file not in contents:
        raise PullError(f"there is no {place.file} in it: pull {benchmark.name} --texts from the authors' repository")
    try:
        text = read_text(contents[place.file], place.parts, is_template=place.is_template)
    except ValueError as error:
        raise PullError(f"{place.file}, {place.name}: {error}; check where it comes from") from error
    return exact_prompt(text, repository)  # the commit is in the note: the same text is the same prompt


@cache
def _tables() -> Mapping[str, tuple[str, Mapping[str, dict[str, Any]]]]:
    """Return commit and texts of each benchmark that has any, by its name."""
    places = (files("formalimg.benchmarks") / folder / _FILE for folder in FOLDERS)
    tables = [tomllib.loads(place.read_text(encoding="utf-8")) for place in places if place.is_file()]
    return {
        table["benchmark"]: (
            table["commit"],
            {
                name: {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
                for name, fields in table["texts"].items()
            },
        )
        for table in tables
    }
