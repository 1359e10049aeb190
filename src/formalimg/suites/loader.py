"""Load the items of a suite: the default items that ship with the package, an items file, or published files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from formalimg._util.plain_files import refuse_special_file
from formalimg.errors import FormalimgError
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.conceptmix.spec import ConceptSpec
from formalimg.suites.defaults import load_default, open_default
from formalimg.suites.filed_items import open_items_file
from formalimg.suites.formula.spec import FormulaSpec
from formalimg.suites.item import Item, in_order
from formalimg.suites.items_file import ITEMS_FILE, read_lines
from formalimg.suites.odd_records import SkippedRecord
from formalimg.suites.record import MAX_RECORD_BYTES, ItemFindings, ItemsError
from formalimg.suites.registry import suite as get_suite

if TYPE_CHECKING:
    from formalimg.suites.geneval.spec import ObjectSpec
    from formalimg.suites.questions.spec import QuestionSpec


@overload
def load(
    suite: Literal["knolling", "knolling-counts", "natural"], path: str | Path | None = None
) -> list[Item[FormulaSpec]]: ...
@overload
def load(suite: Literal["conceptmix"], path: str | Path | None = None) -> list[Item[ConceptSpec]]: ...
@overload
def load(
    suite: Literal["cf-world", "cf-world-rules", "cf-world-attributes", "cf-world-denominalised"],
    path: str | Path | None = None,
) -> list[Item[CounterfactualSpec]]: ...
@overload
def load(
    suite: Literal["questions", "geneval2", "free-prompts", "t2i-compbench"], path: str | Path | None = None
) -> list[Item[QuestionSpec]]: ...
@overload
def load(suite: Literal["geneval"], path: str | Path | None = None) -> list[Item[ObjectSpec]]: ...
@overload
def load(suite: str, path: str | Path | None = None) -> list[Item[Any]]: ...


def load(suite: str, path: str | Path | None = None) -> list[Item[Any]]:
    """Load the items of a suite, sorted by id.

    Published files may hold odd records. They are loaded, with tags that say what is odd (see `ODD_TAGS`); records of
    which no item can be made are left out, and `load_with_skipped` names them.

    Args:
        suite: `knolling`, `knolling-counts`, `natural`, `conceptmix`, `cf-world`, one of the probes of CF-World,
            `questions`, `geneval`, `geneval2` or `t2i-compbench`.
        path: where the items are. Either as published: for FormalImg the repository (or what `formalimg pull` made),
            its `benchmarks` folder, the suite's folder in it, or one file; for ConceptMix the folder of
            `300_sentences_k=1.json` and so on, or one such file; for CF-World the folder that holds `prompt`,
            `eval_questions` and `prompt_ablation`; for questions a CSV, JSON Lines or JSON file of question graphs, as
            `dsg-1k-anns.csv`; for GenEval `evaluation_metadata.jsonl`, or what `formalimg pull` made; for GenEval 2
            `geneval2_data.jsonl` or its folder; for T2I-CompBench a list such as `color_val.txt`, or the folder of the
            lists. Or an items file: `items.jsonl` or its folder.
            None for the default items, which ship with the package; `@1` for version 1 of them.

    Raises:
        ItemsError: listing everything that is wrong with the files, each with its place.
        FormalimgError: if there is no such suite, or nothing to read at the path.
    """
    return load_with_skipped(suite, path).items


class LoadedItems(NamedTuple):
    """The items of a suite, sorted by id, and the records of published data of which no item could be made."""

    items: list[Item[Any]]
    skipped: tuple[SkippedRecord, ...] = ()


def load_with_skipped(suite: str, path: str | Path | None = None) -> LoadedItems:
    """Load the items of a suite, and what of published data was skipped; as `load` does.

    Raises:
        ItemsError: as `load` does; also if everything had to be skipped.
        FormalimgError: as `load` does.
    """
    return _read_items(suite, path, load_default, read_lines)


def open_items(suite: str, path: str | Path | None = None) -> LoadedItems:
    """Open the items of a suite, as `load_with_skipped` does, but hold only their ids, levels, tags and versions.

    Prompts and specifications stay in the file until they are needed. Specifications in an items file are not checked
    yet: `require_valid` does it for those that are used.

    Raises:
        ItemsError: as `load_with_skipped` does.
        FormalimgError: as `load` does.
    """
    return _read_items(suite, path, open_default, open_items_file)


def _read_items(
    suite: str,
    path: str | Path | None,
    read_default: Callable[[str, str], list[Item[Any]]],
    read_file: Callable[[Path, str, ItemFindings], list[Item[Any]]],
) -> LoadedItems:
    known = get_suite(suite)
    if path is None:
        return LoadedItems(read_default(suite, ""))
    if str(path).startswith("@"):
        return LoadedItems(read_default(suite, str(path)[1:]))
    findings = ItemFindings()
    place = Path(path)
    if lines := _items_file(place, other_lines=known.published_lines):
        items = read_file(lines, suite, findings)
    elif place.exists():
        items = known.read_published(place, findings)
    else:
        raise FormalimgError(f"there is nothing at {place}: check the path")
    findings.raise_any()
    if not items and findings.skipped:
        raise ItemsError([f"{each.where}: {each.why}" for each in findings.skipped])
    if not items:
        raise FormalimgError(f"{path} holds no items of {suite}: give the folder with its items")
    return LoadedItems(in_order(items), tuple(findings.skipped))


def _items_file(place: Path, *, other_lines: bool) -> Path | None:
    """Return the items file that a path means; None if it means published files.

    Args:
        place: the path.
        other_lines: whether published files may be JSON Lines too; items files are then known by their first line.
    """
    if place.suffix == ".jsonl":
        if not place.is_file():
            raise FormalimgError(f"there is no file {place}: check the path")
        return None if other_lines and not _begins_with_item(place) else place
    inside = place / ITEMS_FILE
    if not inside.is_file() or (other_lines and not _begins_with_item(inside)):
        return None
    if (place / "benchmarks").is_dir():
        raise FormalimgError(f"{place} holds both {ITEMS_FILE} and benchmarks: give the one you mean")
    return inside


def _begins_with_item(path: Path) -> bool:
    """Return whether the first line of a file is an item as `write_items` writes it, or tries to be one."""
    refuse_special_file(path)
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(MAX_RECORD_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"format", "suite"} <= first.keys()
