"""`formalimg show`: show an item, and how runs fared on it."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from formalimg.cli.output import require_image_name, save_image
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError
from formalimg.logic import clauses, to_pretty_text
from formalimg.suites import (
    ODD_TAGS,
    ConceptSpec,
    CounterfactualSpec,
    FormulaSpec,
    Item,
    ObjectSpec,
    QuestionSpec,
    load,
    odd_tags,
    translate,
)
from formalimg.suites import suite as suite_of


def show_command(
    item: Annotated[
        str, typer.Argument(metavar="SUITE/ID", help="Which item, such as knolling/7.", show_default=False)
    ],
    items: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Load the items from here. Default: the suite shipped with formalimg."),
    ] = None,
    image: Annotated[
        Path | None, typer.Option("--draw", metavar="PNG", help="Draw the witness into this file.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            metavar="DIR",
            help="Show how this run fared on the item: each image with its outcome and what failed. Give it again for "
            "several runs. Without --items, the item is that of the first run.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show an item: its prompt and what it requires, and how runs fared on it.

    For FormalImg the formula, its clauses, and the scene that proves it can be satisfied; for ConceptMix statements,
    questions and binding; for CF-World what decides, and the weighted questions.
    """
    if image is not None:
        require_image_name(image)
    found = _find_in_run(item, runs[0]) if runs and items is None else _find(item, items)
    match found.spec:
        case ConceptSpec():
            _show_concepts(found)
        case CounterfactualSpec():
            _show_counterfactual(found)
        case ObjectSpec():
            _show_objects(found)
        case QuestionSpec(formula=None):
            _show_questions(found)
        case QuestionSpec(formula=formula):
            _show_formula(replace(found, spec=formula))
        case _:
            _show_formula(found)
    for folder in runs or ():
        _show_outcomes(found, folder)
    if image is not None:
        _draw_witness(found, item, image)


def _show_outcomes(item: Item[Any], folder: Path) -> None:
    """Print how a run fared on an item, if it has the same one."""
    from formalimg.judges import failure_sentences
    from formalimg.runs import open_run

    with closing(open_run(folder)) as run:
        planned, suite = run.item(item.id), suite_of(item.suite)
        there = run.suite_item(item.id) if run.manifest.suite == item.suite else None
        if planned is None or there is None or _asked(there) != _asked(item):
            raise FormalimgError(f"{folder} has no such item {item.suite}/{item.id}: name a run of the same items")
        echo(f"\n{run.manifest.model.name} ({folder})")
        for judged in run.judged([(item.id, sample) for sample in range(run.manifest.samples)]):
            passed = judged.outcome.passed
            echo(f"  image {judged.outcome.sample}: {'unscored' if passed is None else 'pass' if passed else 'fail'}")
            for one in failure_sentences(judged.verdict, suite, planned.formula) if not passed else ():
                echo(f"    {one.text}")


def _show_formula(item: Item[FormulaSpec]) -> None:
    spec = item.spec
    echo(f"{item.suite}/{item.id}, K = {item.level}\n\n{item.prompt}\n")
    for tag in odd_tags(item.tags):
        echo(f"{tag}: {ODD_TAGS[tag]}")
    if spec.unreadable is not None:
        echo(f"{spec.unreadable}\n\n{spec.unreadable_because}")
        return
    echo(to_pretty_text(spec.formula))
    echo("\nclauses")
    for clause in clauses(spec.formula):
        echo(f"  {clause.kind:<9}  {clause.text}")
    if spec.witness is not None:
        echo("\nwitness")
        for number, obj in enumerate(spec.witness.objects):
            echo(f"  #{number:<2} {obj.describe():<24} {obj.box}")


def _show_objects(item: Item[ObjectSpec]) -> None:
    spec = item.spec
    echo(f"{item.suite}/{item.id}, {suite_of(item.suite).level_names.get(item.level, item.level)}\n\n{item.prompt}\n")
    for tag in odd_tags(item.tags):
        echo(f"{tag}: {ODD_TAGS[tag]}")
    echo("objects")
    for one in spec.include:
        place = "" if one.target is None else f", {one.relation} {spec.include[one.target].label}"
        echo(f"  {one.count} {' '.join(filter(None, (one.color, one.label)))}{place}")
    for absent in spec.exclude:
        echo(f"  fewer than {absent.count} {absent.label}")
    echo("\nformulas")
    for clause in translate(spec):
        echo(f"  {clause.kind:<9}  {clause.text}")


def _show_concepts(item: Item[ConceptSpec]) -> None:
    echo(f"{item.suite}/{item.id}, k = {item.level}\n\n{item.prompt}\n")
    for title, texts in (
        ("statements", [concept.statement for concept in item.spec.concepts]),
        ("questions", [concept.question for concept in item.spec.concepts]),
    ):
        echo(title)
        for concept, text in zip(item.spec.concepts, texts, strict=True):
            echo(f"  {concept.category:<8}  {concept.value:<14}  {text}")
        echo("")
    if item.spec.unasked:
        echo("concepts without a question")
        for unasked in item.spec.unasked:
            echo(f"  {unasked.category:<8}  {unasked.value}")
        echo("")
    if item.spec.binding is not None:
        echo(f"binding\n  {json.dumps(item.spec.binding.to_json())}")


def _show_counterfactual(item: Item[CounterfactualSpec]) -> None:
    echo(f"{item.suite}/{item.id}, L{item.level} of {item.spec.group} ({', '.join(item.tags)})\n\n{item.prompt}\n")
    echo(f"what decides: {item.spec.assessment or 'nothing is given'}\n\nquestions")
    if not item.spec.questions:
        echo("  none, so it cannot be scored")
    for question in item.spec.questions:
        echo(f"  {question.dimension:<11} weight {question.weight:g}: {question.question}")
        echo(f"              {question.criteria}")


def _show_questions(item: Item[QuestionSpec]) -> None:
    echo(f"{item.suite}/{item.id}\n\n{item.prompt}\n")
    for tag in odd_tags(item.tags):
        echo(f"{tag}: {ODD_TAGS[tag]}")
    echo(f"questions{', zeroing direct' if item.spec.zeroing == 'direct' else ''}")
    for question in item.spec.questions:
        above = f"  (after {', '.join(question.parents)})" if question.parents else ""
        echo(f"  {question.id:<4} {question.category:<10} {question.question}  {question.expected}{above}")


def _draw_witness(item: Item[Any], name: str, image: Path) -> None:
    if not isinstance(item.spec, FormulaSpec) or item.spec.witness is None:
        raise FormalimgError(f"{name} has no witness to draw: only items made by formalimg synth knolling have one")
    from formalimg.scenes import draw  # here, so that other commands start faster

    save_image(draw(item.spec.witness), image)


def _asked(item: Item[Any]) -> tuple[int, str, str]:
    return item.level, item.prompt, suite_of(item.suite).traits.form.asked_text(item.spec)


def _find_in_run(name: str, folder: Path) -> Item[Any]:
    """Return an item as a run has it: its items may be others than those of the package."""
    from formalimg.runs import open_run

    suite, number = _parts_of(name)
    with closing(open_run(folder)) as run:
        found = run.suite_item(number) if run.manifest.suite == suite else None
    if found is None:
        raise FormalimgError(f"{folder} has no item {name}: it is a run of {run.manifest.suite}")
    return found


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
