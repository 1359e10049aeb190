"""`formalimg items synth`: sample new items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.synthesis import synthesis_of
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
from formalimg.types import Item


def synth_command(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The benchmark, such as knolling.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write items.jsonl to.")],
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS", help="Levels, as in 1-10 or 1,2,5. Default: those of the suite shipped with formalimg."
        ),
    ] = None,
    per_level: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_COUNT,
            metavar="N",
            help="Items per level. Default: as in the suite shipped with formalimg.",
        ),
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

    Items of knolling are proven satisfiable; those of other suites contain nothing implausible.

    The same options give the same bytes on any machine. Knolling items have a witness: a scene that satisfies them.
    """
    if published and (out / "published").exists():
        raise FormalimgError(f"{out / 'published'} exists already: move it away, or choose another folder")
    if out.exists() and not out.is_dir():
        raise FormalimgError(f"{out} is a file: choose a folder to write items.jsonl to")
    if counting:
        suite = _counting_suite(suite)
    given = {
        "--objects": objects,
        "--connectives": connectives or None,
        "--jobs": jobs,
        "--concepts": concepts,
        "--only": only,
        "--difficulty": difficulty,
        "--profile": None if profile == "paper" else profile,
    }
    options = {name: value for name, value in given.items() if value is not None}
    level_numbers = None if levels is None else read_levels(levels)
    plan = synthesis_of(suite, options).plan(level_numbers, per_level, seed, options)
    with progress_bar(f"making {suite}", plan.total) as on_progress:
        items, rejected = plan.make(on_progress)
    path = write_items(items, out)
    if published:
        suite_of(suite).write_published(items, out / "published")
    show_census(suite, items)
    _show_summary(items, rejected, path)


def _counting_suite(name: str) -> str:
    """Return the suite that provides counting formulas with the words of the given suite."""
    synthesis = suite_of(name).synthesis()
    if synthesis is None or synthesis.counting is None:
        raise FormalimgError(
            f"{name} has no --counting: counts are proven by placing boxes, which says nothing of its relations; "
            "synth knolling has it"
        )
    return synthesis.counting


def _show_summary(items: Sequence[Item[Any]], rejected: Mapping[str, int], path: Path) -> None:
    from formalimg.benchmarks.loader import instruction_digest

    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(rejected.items())) or "none"
    echo(f"\ndraws given up: {reasons}")
    echo(f"{len(items)} item{'s' * (len(items) != 1)} in {path}, instructions {instruction_digest(items)}")
