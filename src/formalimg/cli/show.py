"""`formalimg items show`: show an item and the results of runs on it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.cli.commands import argument, option
from formalimg.cli.output import require_image_name, save_image
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError
from formalimg.types import Item


def show_command(
    item: Annotated[str, argument("SUITE/ID", "Which item, such as knolling/7.")],
    items: Annotated[
        Path | None, option("PATH", "Load the items from here. Default: the suite shipped with formalimg.")
    ] = None,
    image: Annotated[Path | None, option("--draw PNG", "Draw the witness into this file.")] = None,
    runs: Annotated[
        list[Path] | None,
        option(
            "--run DIR",
            "Show how this run fared on the item: each image with its outcome and what failed. Give it again for "
            "several runs. Without --items, the item is that of the first run.",
        ),
    ] = None,
) -> None:
    """Show an item: its prompt and what it requires, and how runs fared on it.

    The formula, its clauses, and the scene that proves it can be satisfied; or the questions, and what they are about.
    """
    if image is not None:
        require_image_name(image)
    selected = _find_in_run(item, runs[0]) if runs and items is None else _find(item, items)
    for line in suite_of(selected.suite).item_lines(selected):
        echo(line)
    for folder in runs or ():
        _show_outcomes(selected, folder)
    if image is not None:
        _draw_witness(selected, item, image)


def _show_outcomes(item: Item[Any], folder: Path) -> None:
    """Print the results of a run on an item, raising an error if the run does not contain it."""
    from formalimg.judges.failures import failure_sentences
    from formalimg.runs.reader import open_run

    with closing(open_run(folder)) as run:
        planned, suite = run.item(item.id), suite_of(item.suite)
        stored = run.suite_item(item.id) if run.manifest.suite == item.suite else None
        if planned is None or stored is None or _content(stored) != _content(item):
            raise FormalimgError(f"{folder} has no such item {item.suite}/{item.id}: name a run of the same items")
        echo(f"\n{run.manifest.model.name} ({folder})")
        for judged in run.judged([(item.id, sample) for sample in range(run.manifest.samples)]):
            passed = judged.outcome.passed
            echo(f"  image {judged.outcome.sample}: {'unscored' if passed is None else 'pass' if passed else 'fail'}")
            for sentence in failure_sentences(judged.verdict, suite, planned.formula) if not passed else ():
                echo(f"    {sentence.text}")


def _draw_witness(item: Item[Any], name: str, image: Path) -> None:
    if not isinstance(item.spec, FormulaSpec) or item.spec.witness is None:
        raise FormalimgError(
            f"{name} has no witness to draw: only items made by formalimg items synth knolling have one"
        )
    from formalimg.drawing.icon_scene import draw  # here, so that other commands start faster

    save_image(draw(item.spec.witness), image)


def _content(item: Item[Any]) -> tuple[int, str, str]:
    return item.level, item.prompt, suite_of(item.suite).form.canonical_text(item.spec)


def _find_in_run(name: str, folder: Path) -> Item[Any]:
    """Return an item as stored in a run, which may differ from the item in the package."""
    from formalimg.runs.reader import open_run

    suite, number = _parts_of(name)
    with closing(open_run(folder)) as run:
        item = run.suite_item(number) if run.manifest.suite == suite else None
    if item is None:
        raise FormalimgError(f"{folder} has no item {name}: it is a run of {run.manifest.suite}")
    return item


def _parts_of(name: str) -> tuple[str, str]:
    suite, slash, number = name.partition("/")
    if not slash or not number:
        raise FormalimgError(f"cannot find {name!r}: name an item as SUITE/ID, such as knolling/7")
    return suite, number


def _find(name: str, path: Path | None) -> Item[Any]:
    suite, number = _parts_of(name)
    for item in load(suite, path):
        if item.id == number:
            return item
    raise FormalimgError(f"{suite} has no item {number}: ids are those in its items.jsonl or file names")
