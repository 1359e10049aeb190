"""`formalimg certify`: measure a grounder or judge on drawings with known content, and detect changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from formalimg import __version__
from formalimg.cli.commands import SECTIONS, argument, option
from formalimg.cli.options import (
    MAX_COUNT,
    MAX_SEED,
    DryRun,
    PriceOptions,
    Prices,
    ProtocolName,
    key_value_option,
    read_options,
    require_prices,
)
from formalimg.cli.run_output import print_estimated_calls
from formalimg.cli.streams import echo, print_json, progress_bar
from formalimg.errors import FormalimgError, OverBudgetError

if TYPE_CHECKING:
    from formalimg.judges.certificates.anchors import AnchorSet
    from formalimg.judges.certificates.certificate import JudgeCertificate
    from formalimg.judges.certificates.flipped_scenes import FlippedScene
    from formalimg.judges.certificates.grounder_certificate import Certificate
    from formalimg.types import Grounder, Item, Judge

    _Result: TypeAlias = Certificate | JudgeCertificate | AnchorSet

_READINGS, _ANCHORS = 300, 100  # scenes by default: to find objects in, and of an anchor set
_SECONDS_PER_QUESTION = 5  # of a chat model, roughly


def certify_command(
    judge: Annotated[
        str, argument("JUDGE", "The judge to measure; without --suite, the grounder.", show_default=True)
    ] = "builtin/icons",
    judge_option: Annotated[list[str] | None, key_value_option("-J", "judge or grounder")] = None,
    suite: Annotated[
        str | None,
        option(
            "SUITE",
            "Measure verdicts, by drawn items of a suite with a drawn world, such as knolling. Default: how "
            "well a grounder finds objects.",
        ),
    ] = None,
    protocol: ProtocolName = "default",
    scenes: Annotated[
        int | None,
        option(
            "N",
            "Number of scenes. Default: 300 to find objects in, 200 to judge, 100 with --anchor.",
            min=1,
            max=MAX_COUNT,
        ),
    ] = None,
    seed: Annotated[int, option("N", "Seed of the scenes.", min=0, max=MAX_SEED)] = 7,
    others: Annotated[
        int, option("N", "Without --suite: number of images that are not drawings.", min=0, max=MAX_COUNT)
    ] = 50,
    anchor: Annotated[
        Path | None,
        option(
            "DIR",
            "Make an anchor set of drawings and answers; if DIR is one, ask again. Exit code 1 if the judge has "
            "changed.",
        ),
    ] = None,
    looks_per: Annotated[
        int | None,
        option(
            "N", "With --anchor: ask again about N of its images, chosen at random. Default: all.", min=1, max=MAX_COUNT
        ),
    ] = None,
    require: Annotated[
        float | None,
        option(
            "SHARE",
            "Minimum precision, recall and F1 on clean images, or sensitivity and specificity of every kind, else "
            "exit code 1.",
            min=0,
            max=1,
        ),
    ] = None,
    budget: Annotated[
        float | None, option("DOLLARS", "Stop when this command has cost this much.", panel=SECTIONS[3], min=0)
    ] = None,
    price: Prices = None,
    dry_run: DryRun = False,
    out: Annotated[Path | None, option("FILE", "Write the certificate, for `report --certificate`.")] = None,
    as_json: Annotated[bool, option("--json", "Print the certificate as JSON.")] = False,
) -> None:
    """Measure the accuracy of a judge or grounder on drawings with known content.

    With --suite, items are drawn as they should be, with one clause flipped, and with changes that should not affect
    the verdict (brightness, JPEG, text, a border, a mirror). The certificate has sensitivity and specificity by kind of
    clause, predicate, level, size and number of objects, how many answers stay, and the faults in words.

    Without, a grounder looks for the objects of random scenes. An object counts as found if its class is right and the
    boxes overlap by 0.9. Drawings are used as they are, and after compression, scaling, blur and noise. With --require,
    all other images must be refused, too.
    """
    from formalimg.models.pricing import Spending  # here, so that other commands start faster

    _check_options(suite, protocol, anchor, looks_per, out, require)
    role = "grounder" if suite is None else "judge"
    settings = read_options(judge_option) | PriceOptions(price, {role: [judge]}).option(role, judge)
    if suite is None:
        measurement = _measure_grounder(judge, settings, scenes or _READINGS, others, seed)
    else:
        from formalimg.judges.factory import open_judge

        opened = open_judge(suite, judge, settings, protocol=protocol)
        if anchor is None:
            measurement = _measure_judge(opened, suite, protocol, scenes, seed)
        else:
            measurement = _measure_anchor(opened, suite, protocol, scenes or _ANCHORS, seed, anchor, looks_per)
    require_prices(budget, [measurement.party])
    if dry_run:
        _print_estimate(measurement)
        return
    _print_expectation(measurement, always=suite is not None)
    spending = Spending()
    spending.budget = budget
    try:
        with progress_bar(f"certifying {measurement.party.name}", measurement.images) as on_progress:
            result = measurement.certify(spending=spending, on_progress=on_progress)
    except OverBudgetError as error:
        echo(f"stopped; {error}", err=True)
        raise typer.Exit(130) from None
    finally:
        print_estimated_calls(spending.estimated)
    if spending.cost:
        echo(f"it cost ${spending.cost:,.2f}", err=True)
    raise typer.Exit(_print_result(result, out, as_json, require))


def _check_options(
    suite: str | None,
    protocol: str,
    anchor: Path | None,
    looks_per: int | None,
    out: Path | None,
    require: float | None,
) -> None:
    if suite is None and (anchor is not None or protocol != "default"):
        name = "--anchor" if anchor is not None else "--protocol"
        raise FormalimgError(
            f"{name} applies to the verdicts of a judge: add --suite with a suite that has a drawn world"
        )
    if anchor is None and looks_per is not None:
        raise FormalimgError("--looks-per says how many images of an anchor set are asked again: add --anchor DIR")
    if anchor is not None and (out is not None or require is not None):
        raise FormalimgError(
            f"{'--require' if out is None else '--out'} applies to a certificate: leave it out, or --anchor"
        )


def _print_result(result: _Result, out: Path | None, as_json: bool, require: float | None) -> int:
    """Print a certificate or anchor result, write it to a file if requested, and return the exit code."""
    from formalimg._util.io import atomic_write_text
    from formalimg.judges.certificates.anchors import AnchorSet, anchor_text

    if out is not None:
        echo(atomic_write_text(out, f"{json.dumps(result.to_json(), indent=2, ensure_ascii=False)}\n"))
    if as_json:
        print_json(result.to_json())
    elif out is None:
        echo(anchor_text(result) if isinstance(result, AnchorSet) else str(result))
    if isinstance(result, AnchorSet):
        return int(result.evidence.alarm)
    return int(require is not None and not result.reaches(require))


class _Measurement(NamedTuple):
    """The party to be measured, the numbers of images and questions, and the function that measures it."""

    party: Grounder | Judge
    images: int
    questions: Callable[[], int]
    certify: Callable[..., _Result]


def _measure_grounder(name: str, settings: Mapping[str, str], scenes: int, others: int, seed: int) -> _Measurement:
    from formalimg.drawing.icon_scene import drawable_classes
    from formalimg.judges.certificates.grounder_certificate import certify, images_to_certify
    from formalimg.judges.factory import open_grounder

    grounder = open_grounder(name, settings)
    images, questions = images_to_certify(scenes, others), getattr(grounder, "questions", lambda classes: 0)
    run = partial(certify, grounder, scenes, seed, others=others)
    return _Measurement(grounder, images, lambda: images * questions(drawable_classes()), run)


def _measure_judge(judge: Judge, suite: str, protocol: ProtocolName, scenes: int | None, seed: int) -> _Measurement:
    from formalimg.judges.certificates.measurement import SCENES, certify_judge, images_of, refuse_to_certify

    scenes = scenes or SCENES
    refuse_to_certify(judge, scenes)
    examples = _arrange_once(judge, suite, scenes, seed)

    def certify(**settings: Any) -> JudgeCertificate:
        settings |= {"examples": examples(), "protocol": protocol, "made_with": __version__}
        return certify_judge(judge, suite, scenes, seed, **settings)

    def questions() -> int:
        return _count_questions(judge, [example.item for example in examples()], images_of(1))

    return _Measurement(judge, images_of(scenes), questions, certify)


def _arrange_once(judge: Judge, suite: str, scenes: int, seed: int) -> Callable[[], list[FlippedScene]]:
    """Return a function that arranges the scenes on its first call and caches them."""
    from formalimg.judges.certificates.flipped_scenes import flipped_scenes

    @cache
    def arrange() -> list[FlippedScene]:
        examples = []
        with progress_bar("arranging scenes", scenes) as on_progress:
            for example in flipped_scenes(suite, scenes, seed, judge):
                examples.append(example)
                on_progress(len(examples))
        return examples

    return arrange


def _measure_anchor(
    judge: Judge,
    suite: str,
    protocol: ProtocolName,
    scenes: int,
    seed: int,
    folder: Path,
    looks_per: int | None,
) -> _Measurement:
    from formalimg.judges.certificates.anchors import ANCHOR_FILE, look_again, make_anchor, read_anchor
    from formalimg.judges.certificates.flipped_scenes import drawn_items
    from formalimg.judges.certificates.measurement import refuse_to_certify

    if not (folder / ANCHOR_FILE).exists():
        refuse_to_certify(judge, scenes)
        examples = _arrange_once(judge, suite, scenes, seed)

        def make(**settings: Any) -> AnchorSet:
            return make_anchor(judge, suite, folder, scenes, seed, examples=examples(), protocol=protocol, **settings)

        def questions() -> int:
            return _count_questions(judge, [example.item for example in examples()], 4)

        return _Measurement(judge, 4 * scenes, questions, make)
    anchor = read_anchor(folder)
    if (anchor.suite, anchor.protocol) != (suite, protocol):
        raise FormalimgError(
            f"{folder} is an anchor set of {anchor.suite}, protocol {anchor.protocol}: give these, or another folder"
        )
    images = min(looks_per or len(anchor.images), len(anchor.images))
    ids = {image.item for image in anchor.images}
    items = [item for item in drawn_items(suite) if item.id in ids]
    per_image = _count_questions(judge, items, 1) // max(1, len(items))
    return _Measurement(judge, images, lambda: images * per_image, partial(look_again, judge, folder, looks_per))


def _count_questions(judge: Judge, items: Sequence[Item[Any]], images: int) -> int:
    """Return the number of questions needed for the given number of images of each item."""
    questions = getattr(judge, "questions", None)
    return images * sum(map(questions, items)) if questions else 0


def _print_expectation(measurement: _Measurement, *, always: bool) -> None:
    """Print the expected images, questions, cost and duration, unless a grounder asks no questions."""
    from formalimg.runs.prepared_run import question_cost

    questions = measurement.questions()
    if not (questions or always):
        return
    cost = question_cost(measurement.party, questions)
    price = "cost unknown" if cost is None else f"about ${cost:,.2f}"
    minutes = questions * _SECONDS_PER_QUESTION / max(1, measurement.party.concurrency) / 60
    length = "under a minute" if minutes < 1 else f"about {minutes:,.0f} min"
    time = f"{length} at {_SECONDS_PER_QUESTION} s a question" if questions else "time unknown"
    echo(f"at most {measurement.images:,} images, {questions:,} questions, {price}, {time}", err=True)


def _print_estimate(measurement: _Measurement) -> None:
    from formalimg.cli.run_output import dollars
    from formalimg.runs.prepared_run import question_cost

    questions = measurement.questions()
    echo(f"{measurement.party.name}:")
    echo(f"  images to look at  {measurement.images:>9,}")
    echo(f"  questions to ask   {questions:>9,}  {dollars(question_cost(measurement.party, questions))}")
