"""Registry of suites: Suite and SuiteKind, what is known of each benchmark besides its items.

A `SuiteKind` holds everything that code would otherwise ask by `if suite == …`: the scale of its numbers, the words for
the parts of a verdict, its item form, and how published files are read and written. A suite of a known kind is one
table in `suites.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from formalimg.errors import FormalimgError
from formalimg.logic import closest_match
from formalimg.suites.cfworld.spec import DIMENSIONS
from formalimg.suites.conceptmix.spec import CATEGORIES
from formalimg.suites.item import Item
from formalimg.suites.record import ItemFindings, Record

Kind: TypeAlias = Literal["formula", "concepts", "counterfactual", "questions", "objects"]
"""Name of a `SuiteKind`: items have a formula, concepts with a question each, weighted questions with scores, yes/no
questions that depend on each other, or objects that must be there or must not."""

JudgeKind: TypeAlias = Literal["scene", "clauses", "questions", "scores", "prompts", "objects", "words", "compositions"]
"""How images are judged: a grounder and logic; a chat model that decides clauses, answers questions, or scores; for
prompts of any kind, by their formula if they have one and else by questions; a grounder and a rule for its boxes; a
chat model that answers questions in one word, by the probability of the expected one; or noun phrases by a chat model,
and places and numbers by a grounder."""

World: TypeAlias = Literal["", "icons", "drawn"]
"""The world that built-in models draw for a suite, and by which judge their images are read: none; flat icons, which
`builtin/icons` reads from pixels; or scenes with depth, materials and styles, which `builtin/drawn` knows."""


class ItemForm(Protocol):
    """The fields of one kind of suite in an item record, besides those that all items have."""

    NEEDED: tuple[str, ...]
    OPTIONAL: tuple[str, ...]
    PROOF: tuple[str, ...]
    """Those that only show that the spec can be satisfied."""
    SPEC: type

    def fields_of(self, spec: Any, *, with_proof: bool) -> dict[str, Any]:
        """Return a spec as fields; `with_proof` adds what only shows that it can be satisfied."""
        ...

    def spec_in(self, record: Record, suite: str, level: int, tags: tuple[str, ...]) -> Any | None:
        """Return the spec in the fields of a record; None, with findings, if they are not valid."""
        ...

    def asked_text(self, spec: Any) -> str:
        """Return a spec as one text, for digests."""
        ...

    def known_spec(self, fields: dict[str, Any]) -> Any:
        """Return the spec in fields that are known to be valid, without checking them."""
        ...


class PartTerms(NamedTuple):
    """Words for the parts of a verdict, as used in tables, figures and pages.

    Attributes:
        part: one part of a verdict, such as a clause.
        kind: what groups of parts are called.
        about: what failures are grouped by besides.
        subject: what items are about, such as the class of an object.
        holds: said of one part that an image shows.
        hold: said of several parts that an image shows.
        failed: said of parts that an image does not show.
        is_code: whether parts are written in a formal language.
    """

    part: str
    kind: str
    about: str
    subject: str
    holds: str
    hold: str
    failed: str
    is_code: bool = False


@dataclass(frozen=True)
class SuiteKind:
    """What suites of one kind have in common.

    Attributes:
        name: key of the kind in data files.
        terms: words for the parts of a verdict.
        part_kinds: the kinds of parts, in the order in which they are listed.
        form_module: the module that is its item form (see `ItemForm`).
        has_scores: whether images get scores between 0 and 1 that are averaged; else they pass or fail, and rates are
            given in percent.
        is_synthesized: whether `formalimg synth` can draw new items.
        value_has_kind: whether a value needs its kind to be unique (orange is a colour and a fruit).
        numbers_heading: what the numbers of the main table are called.
        bands_heading: what the numbers after those of the levels are called.
        tables_heading: the heading over the tables below the main one.
        level_format: how a level is written in running text, with `name` and `level`.
        code_zeroes_missing: whether published code counts images without a verdict as 0.
        read_published: reads the files of the benchmark's authors: path, suite, findings.
        write_published: writes items in the form of the authors' files to a folder.
        make_drawn_items: makes items of a suite that can be drawn, to certify judges by; None where the items that
            ship with the package are drawn.
    """

    name: Kind
    terms: PartTerms
    part_kinds: tuple[str, ...]
    form_module: str
    read_published: Callable[[Path, str, ItemFindings], list[Item[Any]]]
    write_published: Callable[[Sequence[Item[Any]], Path], None]
    has_scores: bool = False
    is_synthesized: bool = False
    value_has_kind: bool = False
    numbers_heading: str = "Rates"
    bands_heading: str = "mean"
    tables_heading: str = "More figures"
    level_format: str = "{name} = {level}"
    code_zeroes_missing: bool = False
    make_drawn_items: Callable[[str], list[Item[Any]]] | None = None

    @property
    def scale(self) -> Literal["percent", "score"]:
        """The scale of its numbers: rates in percent, or mean scores between 0 and 1."""
        return "score" if self.has_scores else "percent"

    @cached_property
    def form(self) -> ItemForm:
        """The fields of its items in records; loaded on first use."""
        return cast(ItemForm, import_module(self.form_module))

    @property
    def spec_type(self) -> type:
        """The type of `Item.spec`."""
        return self.form.SPEC


@dataclass(frozen=True)
class Suite:
    """A benchmark.

    Attributes:
        name: name on the command line.
        title: name in tables and reports.
        kind: name of its `SuiteKind`.
        level: what its levels are called, such as K.
        epsilon: the rate that a model has to hold for its generalizability; None where the suite has no such number.
        bands: groups of levels whose rates are averaged.
        source: name of the published benchmark it belongs to (see `source`).
        judge: how its images are judged.
        world: the world that built-in models draw for it; empty if they cannot draw it.
        level_names: names of levels that are not numbers.
        vocabulary: name of the vocabulary of its formulas; empty where items have none.
        group: what a group of items is called, whose levels are compared with each other.
        has_field_tags: whether the tags of items are fields of knowledge.
        has_gate: whether the score of a group's first level decides whether its other levels count.
        has_counts: whether its formulas count objects.
        has_style_text: whether a text about the style of image can be put in front of prompts.
        has_ontology: whether formulas are checked for plausibility instead of being solved.
        published: module with `read_published` and `write_published` (see `SuiteKind`) for files that are not in the
            form of its kind; empty if they are.
        published_lines: whether its published files may be JSON Lines, as items files are.
    """

    name: str
    title: str
    kind: Kind
    level: str
    epsilon: float | None
    bands: Mapping[str, tuple[int, ...]]
    source: str = ""
    judge: JudgeKind = "scene"
    world: World = ""
    level_names: Mapping[int, str] = field(default_factory=dict)
    vocabulary: str = ""
    group: str = "group"
    has_field_tags: bool = False
    has_gate: bool = False
    has_counts: bool = False
    has_style_text: bool = False
    has_ontology: bool = False
    published: str = ""
    published_lines: bool = False

    @property
    def traits(self) -> SuiteKind:
        """What it has in common with other suites of its kind."""
        return KINDS[self.kind]

    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:
        """Read the files of the benchmark's authors; errors are added to the findings."""
        reader = import_module(self.published) if self.published else self.traits
        return list(reader.read_published(path, self.name, findings))

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:
        """Write items in the form of the authors' files.

        Raises:
            FormalimgError: if an item does not fit the form, or the folder is not empty.
        """
        writer = import_module(self.published) if self.published else self.traits
        writer.write_published(items, folder)

    def format_level(self, level: int) -> str:
        """Return a level as in running text: `K = 3`, or `L3`."""
        return self.traits.level_format.format(name=self.level, level=level)


def suite(name: str) -> Suite:
    """Return the suite of this name.

    Raises:
        FormalimgError: if there is none.
    """
    if name not in _suites():
        near = closest_match(name, suite_names())
        raise FormalimgError(
            f"unknown suite {name!r}: " + (f"did you mean {near}?" if near else f"known are {', '.join(suite_names())}")
        )
    return _suites()[name]


def suite_names() -> tuple[str, ...]:
    """Return the names of all suites."""
    return tuple(_suites())


@cache
def _suites() -> Mapping[str, Suite]:
    tables = tomllib.loads((files("formalimg.suites") / "suites.toml").read_text(encoding="utf-8"))
    return {name: _parse_suite(name, table) for name, table in tables.items()}


def _parse_suite(name: str, table: dict[str, Any]) -> Suite:
    bands = {band: tuple(levels) for band, levels in table.pop("bands").items()}
    level_names = {int(level): text for level, text in table.pop("level_names", {}).items()}
    return Suite(name, bands=bands, epsilon=table.pop("epsilon", None), level_names=level_names, **table)


# --- the kinds; each loads the code of its benchmarks only where it is needed


def _read_formulas(path: Path, name: str, findings: ItemFindings) -> list[Item[Any]]:
    from formalimg.suites.formula.published import instance_files, read_instances

    return list(read_instances(instance_files(path, name), name, findings))


def _write_formulas(items: Sequence[Item[Any]], folder: Path) -> None:
    from formalimg.suites.formula.published import write_published

    write_published(items, folder)


def _read_concepts(path: Path, name: str, findings: ItemFindings) -> list[Item[Any]]:
    from formalimg.suites.conceptmix.published import find_prompt_files, read_published_prompts

    return list(read_published_prompts(find_prompt_files(path), findings))


def _write_concepts(items: Sequence[Item[Any]], folder: Path) -> None:
    from formalimg.suites.conceptmix.published import write_published_prompts

    write_published_prompts(items, folder)


def _read_counterfactuals(path: Path, name: str, findings: ItemFindings) -> list[Item[Any]]:
    from formalimg.suites.cfworld.published import read_published_items

    return list(read_published_items(path, name, findings))


def _write_counterfactuals(items: Sequence[Item[Any]], folder: Path) -> None:
    from formalimg.suites.cfworld.published_groups import write_published_groups

    write_published_groups(items, folder)


def _read_questions(path: Path, name: str, findings: ItemFindings) -> list[Item[Any]]:
    findings.add(str(path), f"{name} has no published files: give an items.jsonl, or use `formalimg score` for images")
    return []


def _write_questions(items: Sequence[Item[Any]], folder: Path) -> None:
    raise FormalimgError(f"{items[0].suite} has no published form: write its items as items.jsonl")


def _read_objects(path: Path, name: str, findings: ItemFindings) -> list[Item[Any]]:
    from formalimg.suites.geneval.published import read_published

    return read_published(path, name, findings)


def _write_objects(items: Sequence[Item[Any]], folder: Path) -> None:
    from formalimg.suites.geneval.published import write_published

    write_published(items, folder)


def _make_drawn_objects(name: str) -> list[Item[Any]]:
    from formalimg.suites.geneval.drawn_items import make_drawn_items

    return make_drawn_items(name)


KINDS: Mapping[Kind, SuiteKind] = {
    "formula": SuiteKind(
        name="formula",
        terms=PartTerms("clause", "kind of clause", "predicate", "class", "holds", "hold", "that failed", is_code=True),
        part_kinds=("object", "attribute", "relation", "condition", "count", "style", "formula"),
        form_module="formalimg.suites.formula.spec",
        read_published=_read_formulas,
        write_published=_write_formulas,
        is_synthesized=True,
    ),
    "concepts": SuiteKind(
        name="concepts",
        terms=PartTerms("concept", "category", "value", "object", "is shown", "are shown", "that failed"),
        part_kinds=CATEGORIES,
        form_module="formalimg.suites.conceptmix.form",
        read_published=_read_concepts,
        write_published=_write_concepts,
        is_synthesized=True,
        value_has_kind=True,
        tables_heading="Concepts",
    ),
    "counterfactual": SuiteKind(
        name="counterfactual",
        terms=PartTerms(
            "question",
            "dimension",
            "word",
            "field",
            "has the full score",
            "have the full score",
            "without the full score",
        ),
        part_kinds=DIMENSIONS,
        form_module="formalimg.suites.cfworld.form",
        read_published=_read_counterfactuals,
        write_published=_write_counterfactuals,
        has_scores=True,
        numbers_heading="Scores",
        bands_heading="between levels",
        level_format="{name}{level}",
    ),
    "questions": SuiteKind(
        name="questions",
        terms=PartTerms("question", "category", "word", "form", "has its answer", "have their answers", "that failed"),
        # Those of questions, and those of the clauses of prompts that were read as formulas.
        part_kinds=(
            "object",
            "attribute",
            "count",
            "relation",
            "action",
            "text",
            "condition",
            "style",
            "other",
            "whole",
            "formula",
        ),
        form_module="formalimg.suites.questions.form",
        read_published=_read_questions,
        write_published=_write_questions,
        code_zeroes_missing=True,
    ),
    "objects": SuiteKind(
        name="objects",
        terms=PartTerms("check", "kind of check", "word", "class", "passes", "pass", "that failed"),
        part_kinds=("object", "count", "attribute", "relation"),
        form_module="formalimg.suites.geneval.form",
        read_published=_read_objects,
        write_published=_write_objects,
        make_drawn_items=_make_drawn_objects,
        level_format="{name} {level}",
    ),
}
"""All kinds of suites, by name."""
