"""Items of a suite, from wherever they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, overload

from formalimg.errors import FormalimgError
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.conceptmix.spec import ConceptSpec
from formalimg.suites.defaults import load_default
from formalimg.suites.findings import Findings
from formalimg.suites.item import FormulaSpec, Item, in_order
from formalimg.suites.items_file import ITEMS_FILE, read_lines
from formalimg.suites.suite import Kind
from formalimg.suites.suite import suite as known_suite


@overload
def load(suite: Literal["knolling", "natural"], path: str | Path | None = None) -> list[Item[FormulaSpec]]: ...
@overload
def load(suite: Literal["conceptmix"], path: str | Path | None = None) -> list[Item[ConceptSpec]]: ...
@overload
def load(
    suite: Literal["cf-world", "cf-world-rules", "cf-world-attributes", "cf-world-denominalised"],
    path: str | Path | None = None,
) -> list[Item[CounterfactualSpec]]: ...
@overload
def load(suite: str, path: str | Path | None = None) -> list[Item[Any]]: ...


def load(suite: str, path: str | Path | None = None) -> list[Item[Any]]:
    """The items of a suite, sorted by id.

    Args:
        suite: `knolling`, `natural`, `conceptmix`, `cf-world`, or one of the probes of CF-World.
        path: where the items lie. Either as published: for FormalImg the repository (or what `formalimg pull` made),
            its `benchmarks` folder, the suite's folder in it, or one file; for ConceptMix the folder of
            `300_sentences_k=1.json` and so on, or one such file; for CF-World the folder that holds `prompt`,
            `eval_questions` and `prompt_ablation`. Or ours: `items.jsonl` or its folder.
            None for the default suite, which ships with the package.

    Raises:
        ItemsError: naming everything that is wrong with the files, each with its place.
        FormalimgError: if there is no such suite, or nothing to read at the path.
    """
    kind = known_suite(suite).kind
    if path is None:
        return load_default(suite)
    findings = Findings()
    place = Path(path)
    lines = _lines_file(place)
    items = read_lines(lines, suite, findings) if lines else _published(kind, place, suite, findings)
    findings.raise_any()
    if not items:
        raise FormalimgError(f"{path} holds no items of {suite}: give the folder with its items")
    return in_order(items)


def _lines_file(place: Path) -> Path | None:
    """The file of lines that a path means; None if it means published files."""
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


def _published(kind: Kind, place: Path, suite: str, findings: Findings) -> list[Item[Any]]:
    """The items in files as the authors of a suite published them."""
    if not place.exists():
        raise FormalimgError(f"there is nothing at {place}: check the path")
    match kind:  # each is loaded only where it is needed
        case "formula":
            from formalimg.suites.formalimg_data.published import instance_files, read_instances

            return list(read_instances(instance_files(place, suite), suite, findings))
        case "concepts":
            from formalimg.suites.conceptmix.published import read_sentences, sentence_files

            return list(read_sentences(sentence_files(place), findings))
        case "counterfactual":
            from formalimg.suites.cfworld.published import read_counterfactuals

            return list(read_counterfactuals(place, suite, findings))
