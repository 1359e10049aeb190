"""`formalimg certify`: measure a grounder or judge on drawings with known content, and detect changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
from formalimg.cli.streams import echo, print_data, progress_bar
from formalimg.errors import FormalimgError, OverBudgetError

if TYPE_CHECKING:
    from formalimg.judges.certificates.anchors import AnchorSet
    from formalimg.judges.certificates.certificate import JudgeCertificate
    from formalimg.judges.certificates.flipped_scenes import FlippedScene
    from formalimg.judges.certificates.grounder_certificate import Certificate
    from formalimg.types import Grounder, Item, Judge

_READINGS, _ANCHORS = 300, 100  # The number of scenes by default: to find objects in, and of an anchor set
_SECONDS_PER_QUESTION = 5  # A chat model takes so long to answer about an image, roughly


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
    """Measure a judge, or a grounder, by drawings whose content is known.

    With --suite, items are drawn as they should be, with one clause flipped, and with changes that must not matter
    (brightness, JPEG, text, a border, a mirror). The certificate has sensitivity and specificity by kind of clause,
    predicate, level, size and number of objects, how many answers stay, and the faults in words.

    Without, a grounder looks for the objects of random scenes. An object counts as found if its class is right and the
    boxes overlap by 0.9. Drawings are used as they are, and after compression, scaling, blur and noise. With --require,
    all other images must be refused, too.
    """
    from formalimg.models.pricing import Spending  # here, so that other commands start faster

    _check_options(suite, protocol, anchor, looks_per, out, require)
    prices = PriceOptions(price, {"grounder" if suite is None else "judge": [judge]})
    given = read_options(judge_option) | prices.option("grounder" if suite is None else "judge", judge)
    if suite is None:
        measured = _grounder(judge, given, scenes or _READINGS, others, seed)
    elif anchor is None:
        measured = _judge(suite, judge, given, protocol, scenes, seed)
    else:
        measured = _anchor(suite, judge, given, protocol, scenes or _ANCHORS, seed, anchor, looks_per)
    require_prices(budget, [measured.party])
    if dry_run:
        _print_estimate(measured)
        return
    _print_expectation(measured, always=suite is not None)
    spending = Spending()
    spending.budget = budget
    try:
        with progress_bar(f"certifying {measured.party.name}", measured.images) as on_progress:
            found = measured.certify(spending=spending, on_progress=on_progress)
    except OverBudgetError as error:
        echo(f"stopped; {error}", err=True)
        raise typer.Exit(130) from None
    finally:
        print_estimated_calls(spending.estimated)
    if spending.cost:
        echo(f"it cost ${spending.cost:,.2f}", err=True)
    raise typer.Exit(_print(found, out, as_json, require))


def _check_options(
    suite: str | None,
    protocol: str,
    anchor: Path | None,
    looks_per: int | None,
    out: Path | None,
    require: float | None,
) -> None:
    if suite is None and (anchor is not None or protocol != "default"):
        option = "--anchor" if anchor is not None else "--protocol"
        raise FormalimgError(
            f"{option} applies to the verdicts of a judge: add --suite with a suite that has a drawn world"
        )
    if anchor is None and looks_per is not None:
        raise FormalimgError("--looks-per says how many images of an anchor set are asked again: add --anchor DIR")
    if anchor is not None and (out is not None or require is not None):
        option = "--out" if out is not None else "--require"
        raise FormalimgError(f"{option} applies to a certificate: leave it out, or --anchor")


def _print(
    found: Certificate | JudgeCertificate | AnchorSet, out: Path | None, as_json: bool, require: float | None
) -> int:
    """Print a certificate or anchor result, write it to a file if requested, and return the exit code."""
    from formalimg._util.io import atomic_write_text
    from formalimg.judges.certificates.anchors import AnchorSet, anchor_text

    text = f"{json.dumps(found.to_json(), indent=2, ensure_ascii=False)}\n"
    if out is not None:
        echo(atomic_write_text(out, text))
    if as_json:
        print_data(text)
    elif out is None:
        echo(anchor_text(found) if isinstance(found, AnchorSet) else str(found))
    if isinstance(found, AnchorSet):
        return int(found.evidence.alarm)
    return int(require is not None and not found.reaches(require))


class _Measured(NamedTuple):
    """The party to be measured, the numbers of images and questions, and the function that measures it."""

    party: Grounder | Judge
    images: int
    questions: Callable[[], int]
    certify: Callable[..., Certificate | JudgeCertificate | AnchorSet]


def _grounder(name: str, options: Mapping[str, str], scenes: int, others: int, seed: int) -> _Measured:
    from formalimg.drawing.icon_scene import drawable_classes
    from formalimg.judges.certificates.grounder_certificate import certify, images_to_certify
    from formalimg.judges.factory import open_grounder

    grounder = open_grounder(name, options)
    images, of_classes = images_to_certify(scenes, others), getattr(grounder, "questions", lambda classes: 0)
    return _Measured(
        grounder,
        images,
        lambda: images * of_classes(drawable_classes()),
        partial(certify, grounder, scenes, seed, others=others),
    )


def _judge(
    suite: str, name: str, options: Mapping[str, str], protocol: ProtocolName, scenes: int | None, seed: int
) -> _Measured:
    from formalimg.judges.certificates.measurement import SCENES, certify_judge, images_of, refuse_to_certify
    from formalimg.judges.factory import open_judge

    judge = open_judge(suite, name, options, protocol=protocol)
    scenes = scenes or SCENES
    refuse_to_certify(judge, scenes)
    examples = _arranger(judge, suite, scenes, seed)

    def certify(**more: Any) -> JudgeCertificate:
        options = {"examples": examples(), "protocol": protocol, "made_with": __version__, **more}
        return certify_judge(judge, suite, scenes, seed, **options)

    return _Measured(judge, images_of(scenes), lambda: _questions(judge, _items(examples()), images_of(1)), certify)


def _arranger(judge: Judge, suite: str, scenes: int, seed: int) -> Callable[[], list[FlippedScene]]:
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


def _items(examples: Sequence[FlippedScene]) -> list[Item[Any]]:
    return [example.item for example in examples]


def _anchor(
    suite: str,
    name: str,
    options: Mapping[str, str],
    protocol: ProtocolName,
    scenes: int,
    seed: int,
    folder: Path,
    looks_per: int | None,
) -> _Measured:
    from formalimg.judges.certificates.anchors import ANCHOR_FILE, look_again, make_anchor, read_anchor
    from formalimg.judges.certificates.flipped_scenes import drawn_items
    from formalimg.judges.certificates.measurement import refuse_to_certify
    from formalimg.judges.factory import open_judge

    judge = open_judge(suite, name, options, protocol=protocol)
    if not (folder / ANCHOR_FILE).exists():
        refuse_to_certify(judge, scenes)
        examples = _arranger(judge, suite, scenes, seed)

        def make(**more: Any) -> AnchorSet:
            return make_anchor(judge, suite, folder, scenes, seed, examples=examples(), protocol=protocol, **more)

        return _Measured(judge, 4 * scenes, lambda: _questions(judge, _items(examples()), 4), make)
    known = read_anchor(folder)
    if (known.suite, known.protocol) != (suite, protocol):
        raise FormalimgError(
            f"{folder} is an anchor set of {known.suite}, protocol {known.protocol}: give these, or another folder"
        )
    images = min(looks_per or len(known.images), len(known.images))
    asked = {image.item for image in known.images}
    items = [item for item in drawn_items(suite) if item.id in asked]
    each = _questions(judge, items, 1) // max(1, len(items))
    return _Measured(judge, images, lambda: images * each, partial(look_again, judge, folder, looks_per))


def _questions(judge: Judge, items: Sequence[Item[Any]], images: int) -> int:
    """Return the number of questions needed for the given number of images of each item."""
    of_item = getattr(judge, "questions", None)
    return images * sum(map(of_item, items)) if of_item else 0


def _print_expectation(measured: _Measured, *, always: bool) -> None:
    """Print the expected images, questions, cost and duration on one line.

    Nothing is printed for a grounder that asks no questions, unless `always` is True.
    """
    from formalimg.runs.prepared_run import question_cost

    questions = measured.questions()
    if not (questions or always):
        return
    cost = question_cost(measured.party, questions)
    price = "cost unknown" if cost is None else f"about ${cost:,.2f}"
    minutes = questions * _SECONDS_PER_QUESTION / max(1, measured.party.concurrency) / 60
    length = "under a minute" if minutes < 1 else f"about {minutes:,.0f} min"
    time = f"{length} at {_SECONDS_PER_QUESTION} s a question" if questions else "time unknown"
    echo(f"at most {measured.images:,} images, {questions:,} questions, {price}, {time}", err=True)


def _print_estimate(measured: _Measured) -> None:
    """Print the number of images and questions and the estimated cost."""
    from formalimg.cli.run_output import dollars
    from formalimg.runs.prepared_run import question_cost

    questions = measured.questions()
    echo(f"{measured.party.name}:")
    echo(f"  images to look at  {measured.images:>9,}")
    echo(f"  questions to ask   {questions:>9,}  {dollars(question_cost(measured.party, questions))}")
