"""`formalimg census`: count what the items of a suite contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from formalimg.cli.output import Figures, FiguresAs, figure_formats, write_figures
from formalimg.cli.streams import echo
from formalimg.suites import CATEGORIES, Item, SkippedRecord, load_with_skipped, odd_lines, odd_tags, plain_tags
from formalimg.suites import suite as suite_of


def census_command(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The benchmark, such as knolling.", show_default=False)],
    items: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Load the items from here. Default: the suite shipped with formalimg."),
    ] = None,
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
) -> None:
    """Count what the items of a suite are made of.

    Predicates and classes, concepts, or fields and questions, with their frequencies.
    """
    formats = figure_formats(figures, figures_as)
    counted: Sequence[Item[Any]]
    skipped: Sequence[SkippedRecord] = ()
    tidied: Sequence[str] = ()
    if items is not None and suite_of(suite).traits.has_scores and _is_published(items):
        from formalimg.suites import format_repairs, read_cf_world

        published = read_cf_world(items, suite)
        counted, skipped = published.items, published.skipped
        tidied = tuple(format_repairs(published.repairs))
    else:
        counted, skipped = load_with_skipped(suite, items)
    if figures is not None:
        from formalimg.reporting import item_figures

        write_figures(item_figures(counted), figures, formats, "there are no items")
    show_census(suite, counted)
    for line in tidied:
        echo(line)
    if odd := odd_lines(counted, skipped):
        echo("\nodd records, by tag:")
        for line in odd:
            echo(f"  {line}")


def _is_published(items: Path) -> bool:
    return items.is_dir() and not (items / "items.jsonl").is_file()


def show_census(suite: str, items: Sequence[Item[Any]]) -> None:
    """Print how often everything occurs; 1.00 is the mean of its kind."""
    match suite_of(suite).kind:
        case "formula":
            _show_formulas(suite, items)
        case "concepts":
            _show_concepts(items)
        case "counterfactual":
            _show_counterfactuals(suite, items)
        case "questions":
            _show_questions(suite, items)


def _show_formulas(suite: str, items: Sequence[Item[Any]]) -> None:
    from formalimg.suites import count_contents  # here, so that other commands start faster

    census = count_contents(suite, items)
    levels = ", ".join(f"K={level}: {count}" for level, count in sorted(census.levels.items()))
    echo(f"{census.items} items of {suite} ({levels})")
    patterns = ", ".join(f"{name} {count / census.items:.0%}" for name, count in sorted(census.patterns.items()))
    echo(f"quantifiers: {patterns}")
    echo("\npredicates, as multiples of their mean:")
    for name, share in sorted(census.predicate_shares.items(), key=lambda entry: -entry[1]):
        echo(f"  {name:<20} {share:5.2f}  {census.predicates[name]:>6}  {'█' * round(share * 20)}")
    if census.unknown_predicates:
        echo(f"predicates that the vocabulary does not have: {_listed(census.unknown_predicates)}")
    shares = sorted(census.class_shares.items(), key=lambda entry: -entry[1])
    echo(f"\nclasses, as multiples of their mean ({shares[-1][1]:.2f} to {shares[0][1]:.2f}):")
    cells = [f"{name} {share:.2f}" for name, share in shares]
    width = max(map(len, cells)) + 2
    for start in range(0, len(cells), 5):
        echo("  " + "".join(f"{cell:<{width}}" for cell in cells[start : start + 5]).rstrip())


def _show_concepts(items: Sequence[Item[Any]]) -> None:
    from formalimg.suites import concept_census

    census = concept_census(items)
    levels = ", ".join(f"k={level}: {count}" for level, count in sorted(census.levels.items()))
    echo(f"{census.items} items of conceptmix ({levels})")
    objects = ", ".join(f"{count} in {items / census.items:.0%}" for count, items in sorted(census.objects.items()))
    echo(f"objects asked for: {objects}; {census.references} more to compare or stand with")
    words = ", ".join(f"k={level}: {count / census.levels[level]:.1f}" for level, count in sorted(census.words.items()))
    echo(f"words per prompt: {words}")
    total = max(1, census.concepts.total())  # published records may be without any
    echo("\ncategories, and how often each of their concepts is asked for:")
    for category in CATEGORIES:
        inside = {concept.value: count for concept, count in census.concepts.items() if concept.category == category}
        echo(f"  {category:<8} {sum(inside.values()) / total:6.1%}  {_listed(inside)}")


def _show_counterfactuals(suite: str, items: Sequence[Item[Any]]) -> None:
    levels = Counter(item.level for item in items)
    groups = len({item.spec.group for item in items})
    counts = ", ".join(f"L{level}: {count}" for level, count in sorted(levels.items()))
    echo(f"{len(items)} items of {suite} in {groups} groups ({counts})")
    if suite_of(suite).has_field_tags:
        tagged = Counter(", ".join(plain_tags(item.tags)) or "without a field" for item in items)
        for field, count in sorted(tagged.items()):
            echo(f"  {field:<28} {count:>6,}")
    elif directions := Counter(tag for item in items for tag in plain_tags(item.tags)):
        echo(f"rules are changed in {len(directions)} ways: {_listed(directions, shown=5)}")
    questions = Counter(question.dimension for item in items for question in item.spec.questions)
    echo(f"{questions.total():,} questions: {', '.join(f'{count:,} {name}' for name, count in questions.items())}")
    without = [item.id for item in items if not item.spec.questions and not odd_tags(item.tags)]
    if without:
        echo(f"{len(without):,} cannot be scored, for lack of questions: {', '.join(without)}")


def _show_questions(suite: str, items: Sequence[Item[Any]]) -> None:
    categories = Counter(question.category for item in items for question in item.spec.questions)
    formulas = sum(item.spec.formula is not None for item in items)
    echo(f"{len(items)} items of {suite}, {formulas} of them with a formula")
    echo(f"{categories.total():,} questions" + (f": {_listed(categories)}" if categories else ""))


def _listed(counts: Mapping[str, int], shown: int | None = None) -> str:
    """Format values with their counts, the most frequent first; optionally only some of them."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    more = "" if shown is None or len(ordered) <= shown else f", and {len(ordered) - shown} more"
    return ", ".join(f"{value} {count}" for value, count in ordered[:shown]) + more
