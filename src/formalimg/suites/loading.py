"""Items of a suite, from wherever they lie."""

from __future__ import annotations

from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.logic import vocabulary_names
from formalimg.suites.defaults import load_default
from formalimg.suites.formalimg_data.findings import Findings
from formalimg.suites.formalimg_data.lines import ITEMS_FILE, read_lines
from formalimg.suites.formalimg_data.published import read_instances
from formalimg.suites.item import FormulaSpec, Item, in_order
from formalimg.suites.suite import suite as known_suite


def load(suite: str, path: str | Path | None = None) -> list[Item[FormulaSpec]]:
    """The items of a suite, sorted by id.

    Args:
        suite: `knolling` or `natural`.
        path: where the items lie. Either as published: the repository (or what `formalimg pull` made), its
            `benchmarks` folder, the suite's folder in it, or one file. Or ours: `items.jsonl` or its folder.
            None for the default suite, which ships with the package.

    Raises:
        ItemsError: naming everything that is wrong with the files, each with its place.
        FormalimgError: if there is no such suite, or nothing to read at the path.
    """
    known_suite(suite)
    if path is None:
        return load_default(suite)
    findings = Findings()
    place = Path(path)
    lines = _lines_file(place)
    if lines is not None:
        items = read_lines(lines, suite, findings)
    else:
        items = read_instances(_instance_files(place, suite), suite, findings)
    findings.raise_any()
    if not items:
        raise FormalimgError(f"{path} holds no items of {suite}: give the folder with its items")
    return in_order(items)


def _lines_file(place: Path) -> Path | None:
    """The file of lines that a path means; None if it means a published folder."""
    if place.suffix == ".jsonl":
        if not place.is_file():
            raise FormalimgError(f"there is no file {place}: check the path")
        return place
    inside = place / ITEMS_FILE
    if not inside.is_file():
        return None
    if (place / "benchmarks").is_dir():
        raise FormalimgError(f"{place} holds both {ITEMS_FILE} and benchmarks: give the one you mean")
    return inside


def _instance_files(place: Path, suite: str) -> list[Path]:
    """The files of a suite's published instances that a path means."""
    if place.is_file():
        if place.suffix != ".json":
            raise FormalimgError(f"{place} is no items file: give a .json instance, {ITEMS_FILE}, or a folder")
        _refuse_other_suite(place.absolute().parent, suite)
        return [place]
    if not place.is_dir():
        raise FormalimgError(f"there is nothing at {place}: check the path")
    for folder in (place / "benchmarks" / suite, place / suite):
        if folder.is_dir():
            return _json_files(folder)
    _refuse_other_suite(place.absolute(), suite)
    files = _json_files(place)
    if not files:
        raise FormalimgError(f"{place} holds no items of {suite}: it has neither benchmarks/{suite} nor {ITEMS_FILE}")
    return files


def _refuse_other_suite(folder: Path, suite: str) -> None:
    if folder.name in vocabulary_names() and folder.name != suite:
        raise FormalimgError(f"{folder} holds items of {folder.name}, not of {suite}: give the other folder or suite")


def _json_files(folder: Path) -> list[Path]:
    try:
        # Names with a dot in front are the file manager's, not the authors'.
        return [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
    except OSError as error:
        raise FormalimgError(f"cannot read {folder}: {error.strerror}") from error
