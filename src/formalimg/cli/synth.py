"""`formalimg synth`: sample new items."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from formalimg.cli.census import show_census
from formalimg.cli.options import (
    MAX_COUNT,
    MAX_PROCESSES,
    MAX_SEED,
    ConceptsFolder,
    DifficultyName,
    OnlyCategory,
    ProfileName,
    read_levels,
)
from formalimg.cli.progress import progress_bar
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError
from formalimg.suites import Category, Item, Kind, suite_names, write_items
from formalimg.suites import suite as suite_of


def synth_command(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="knolling, natural or conceptmix.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write items.jsonl to.")],
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS", help="Levels, as in 1-10 or 1,2,5. Default: those of the suite shipped with formalimg."
        ),
    ] = None,
    per_level: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_COUNT, metavar="N", help="Items per level. Default: 200, for conceptmix 300."),
    ] = None,
    seed: Annotated[int, typer.Option(min=-MAX_SEED, max=MAX_SEED, metavar="N", help="Seed of the items.")] = 1,
    objects: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="FormalImg: several components of the level each, with this many objects in total."
        ),
    ] = None,
    connectives: Annotated[
        bool,
        typer.Option("--connectives", help="FormalImg: also use `or` and `not`, which published items never have."),
    ] = False,
    counting: Annotated[
        bool,
        typer.Option(
            "--counting", help='Knolling: count objects, as in "exactly three red cups"; makes knolling-counts.'
        ),
    ] = False,
    concepts: ConceptsFolder = None,
    only: OnlyCategory = None,
    difficulty: DifficultyName = None,
    profile: ProfileName = "paper",
    published: Annotated[
        bool, typer.Option("--published", help="Also write DIR/published, in the format of the authors' files.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_PROCESSES, metavar="N", help="FormalImg: number of processes. Default: one per core."
        ),
    ] = None,
) -> None:
    """Sample new items and prove that they can be satisfied.

    Items of knolling are proven satisfiable; those of natural and conceptmix contain nothing implausible.

    The same options give the same bytes on any machine. Knolling items have a witness: a scene that satisfies them.
    """
    if published and (out / "published").exists():
        raise FormalimgError(f"{out / 'published'} exists already: move it away, or choose another folder")
    if out.exists() and not out.is_dir():
        raise FormalimgError(f"{out} is a file: choose a folder to write items.jsonl to")
    suite = _counting_suite(suite) if counting else suite
    formula_options = {"--objects": objects, "--connectives": connectives or None, "--jobs": jobs}
    concept_options = {
        "--concepts": concepts,
        "--only": only,
        "--difficulty": difficulty,
        "--profile": None if profile == "paper" else profile,
    }
    level_numbers = None if levels is None else read_levels(levels)
    items: Sequence[Item[Any]]
    rejected: Mapping[str, int]
    if not suite_of(suite).traits.is_synthesized:
        supported = ", ".join(name for name in suite_names() if suite_of(name).traits.is_synthesized)
        raise FormalimgError(
            f"items of {suite} are written, not drawn: `formalimg write` makes new ones; synth is for {supported}"
        )
    if suite_of(suite).kind == "concepts":
        _refuse(suite, formula_options, "formula")
        items, rejected = _sample_concepts(level_numbers, per_level, seed, concepts, only, difficulty, profile)
    else:
        _refuse(suite, concept_options, "concepts")
        items, rejected = _sample_formulas(suite, level_numbers, per_level, seed, objects, connectives, jobs)
    path = write_items(items, out)
    if published:
        suite_of(suite).write_published(items, out / "published")
    show_census(suite, items)
    _show_summary(items, rejected, path)


def _counting_suite(name: str) -> str:
    """Return the suite whose formulas count objects in the words of a suite."""
    words = suite_of(name).vocabulary
    found = [other for other in suite_names() if suite_of(other).has_counts and suite_of(other).vocabulary == words]
    if not found or not words:
        raise FormalimgError(
            f"{name} has no --counting: counts are proven by placing boxes, which says nothing of its relations; "
            "synth knolling has it"
        )
    return found[0]


def _sample_formulas(
    suite: str,
    levels: tuple[int, ...] | None,
    per_level: int | None,
    seed: int,
    objects: int | None,
    connectives: bool,
    jobs: int | None,
) -> tuple[Sequence[Item[Any]], Mapping[str, int]]:
    from formalimg.suites import Recipe, make_items  # here, so that other commands start faster

    recipe = Recipe(suite, levels or suite_of(suite).bands["Overall"], per_level or 200, seed, objects, connectives)
    with progress_bar(f"making {suite}", len(recipe.levels) * recipe.per_level) as on_progress:
        made = make_items(recipe, jobs=jobs or os.cpu_count() or 1, on_progress=on_progress)
    return made.items, made.rejected


def _sample_concepts(
    levels: tuple[int, ...] | None,
    per_level: int | None,
    seed: int,
    concepts: Path | None,
    only: Category | None,
    difficulty: Literal["easy", "hard"] | None,
    profile: Literal["paper", "official-code"],
) -> tuple[Sequence[Item[Any]], Mapping[str, int]]:
    from formalimg.suites import ConceptRecipe, generate_concept_items

    recipe = ConceptRecipe(levels or tuple(range(1, 8)), per_level or 300, seed, concepts, only, difficulty, profile)
    with progress_bar("making conceptmix", len(recipe.levels) * recipe.per_level) as on_progress:
        made = generate_concept_items(recipe, on_progress=on_progress)
    return made.items, made.rejections


def _refuse(suite: str, options: Mapping[str, object], kind: Kind) -> None:
    """Raise an error for options that apply to suites of another kind."""
    unsupported = [name for name, value in options.items() if value is not None]
    if unsupported:
        known = [name for name in suite_names() if suite_of(name).kind == kind and not suite_of(name).has_counts]
        supported = " and ".join(known)
        raise FormalimgError(f"{suite} has no {unsupported[0]}: that is for {supported}")


def _show_summary(items: Sequence[Item[Any]], rejected: Mapping[str, int], path: Path) -> None:
    from formalimg.suites import instruction_digest

    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(rejected.items())) or "none"
    echo(f"\ndraws given up: {reasons}")
    echo(f"{len(items)} item{'s' * (len(items) != 1)} in {path}, instructions {instruction_digest(items)}")
