"""`formalimg items synth` and `items census`: sample new items, and count the features of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load_with_skipped
from formalimg.benchmarks.odd_records import odd_lines
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.registry import synthesis_of
from formalimg.cli.commands import argument, option
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
from formalimg.cli.output import Figures, FiguresAs, figure_formats, write_figures
from formalimg.cli.streams import echo, progress_bar
from formalimg.errors import FormalimgError
from formalimg.types import Item


def synth_command(
    suite: Annotated[str, argument("SUITE", "The benchmark, such as knolling.")],
    out: Annotated[Path, option("DIR", "The folder to write items.jsonl to.")],
    levels: Annotated[
        str | None, option("LEVELS", "Levels, as in 1-10 or 1,2,5. Default: those of the suite shipped with formalimg.")
    ] = None,
    per_level: Annotated[
        int | None,
        option("N", "Items per level. Default: as in the suite shipped with formalimg.", min=1, max=MAX_COUNT),
    ] = None,
    seed: Annotated[int, option("N", "Seed of the items.", min=-MAX_SEED, max=MAX_SEED)] = 1,
    objects: Annotated[
        int | None, option("N", "FormalImg: several components of the level each, with this many objects in total.")
    ] = None,
    connectives: Annotated[
        bool, option("--connectives", "FormalImg: also use `or` and `not`, which published items never have.")
    ] = False,
    counting: Annotated[
        bool, option("--counting", 'Knolling: count objects, as in "exactly three red cups"; makes knolling-counts.')
    ] = False,
    concepts: ConceptsFolder = None,
    only: OnlyCategory = None,
    difficulty: DifficultyName = None,
    profile: ProfileName = "paper",
    published: Annotated[
        bool, option("--published", "Also write DIR/published, in the format of the authors' files.")
    ] = False,
    jobs: Annotated[
        int | None, option("N", "FormalImg: number of processes. Default: one per core.", min=1, max=MAX_PROCESSES)
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
    values = {
        "--objects": objects,
        "--connectives": connectives or None,
        "--jobs": jobs,
        "--concepts": concepts,
        "--only": only,
        "--difficulty": difficulty,
        "--profile": None if profile == "paper" else profile,
    }
    options = {name: value for name, value in values.items() if value is not None}
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


def census_command(
    suites: Annotated[list[str], argument("SUITE...", "The benchmark, such as knolling, or several.")],
    items: Annotated[
        Path | None, option("PATH", "Load the items from here. Default: the suite shipped with formalimg.")
    ] = None,
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
) -> None:
    """Count what the items of a suite are made of.

    Predicates and classes, concepts, or fields and questions, with their frequencies. Figures of several suites of one
    benchmark have them side by side.
    """
    formats = figure_formats(figures, figures_as)
    loaded = {suite: load_with_skipped(suite, items) for suite in suites}
    if figures is not None:
        from formalimg.reports.figures.charts import item_figures

        all_items = [item for suite_items in loaded.values() for item in suite_items.items]
        write_figures(item_figures(all_items), figures, formats, "there are no items")
    for number, (suite, suite_items) in enumerate(loaded.items()):
        if len(loaded) > 1:
            echo(f"\n{suite}" if number else suite)
        show_census(suite, suite_items.items)
        for line in suite_items.repairs:
            echo(line)
        if odd := odd_lines(suite_items.items, suite_items.skipped):
            echo("\nodd records, by tag:")
            for line in odd:
                echo(f"  {line}")


def show_census(suite: str, items: Sequence[Item[Any]]) -> None:
    """Print the number of occurrences of each feature in the items."""
    for line in suite_of(suite).census_lines(items) or (f"{len(items)} items of {suite}",):
        echo(line)
