"""`formalimg share`: bundle, verify, publish and log runs, and write model cards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg import __version__
from formalimg.cli.commands import argument, option
from formalimg.cli.output import FiguresAs, figure_formats
from formalimg.cli.streams import echo, print_data, print_json
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.reports.sharing.bundle_checks import BundleCheck
    from formalimg.reports.sharing.trackers import Tracker
    from formalimg.runs.manifest import Identity
    from formalimg.stats.observations import Profile

_MAX_FINDINGS = 50  # that are printed


def bundle_command(
    runs: Annotated[list[Path], argument("RUN", "Run folders.")],
    out: Annotated[Path, option("FILE", "The file to write, as in results.zip.")],
    images: Annotated[bool, option("--images", "Put the images in too. Their digests always are.")] = False,
) -> None:
    """Write runs to one file that can be cited and verified.

    It holds manifests, items, verdicts of all judges with their raw answers, versions, a report, and a digest of every
    file. Cite the digest that is printed: nothing in the bundle can be changed without changing it.
    """
    from formalimg.reports.sharing.bundle import write_bundle
    from formalimg.reports.sharing.bundle_format import digest_text  # here, so that other commands start faster
    from formalimg.reports.tables.format import count_noun

    if out.suffix.lower() != ".zip":
        raise FormalimgError(f"a bundle is a zip file: name it {out.with_suffix('.zip')}")
    done = write_bundle(runs, out, f"formalimg {__version__}", images=images)
    verdicts = sum(sum(run["verdicts"].values()) for run in done.runs)
    counts = f"{count_noun(len(done.runs), 'run')}, {count_noun(verdicts, 'verdict')}"
    echo(f"{done.path}: {counts}, {'with' if images else 'without'} images, {done.bytes:,} bytes")
    echo(f"cite it as {digest_text(done.digest)}")


def verify_bundle_command(
    bundle: Annotated[Path, argument("FILE", "A bundle.")],
    digest: Annotated[str | None, option("SHA256", "The digest that was cited.")] = None,
    unpack: Annotated[Path | None, option("DIR", "Also write its runs into this folder, for report and view.")] = None,
    all_images: Annotated[
        bool, option("--all-images", "Let judges look at all images again, not at a sample of 100.")
    ] = False,
    as_json: Annotated[bool, option("--json", "Print the result as JSON.")] = False,
) -> None:
    """Compute a bundle again, and say what differs and what cannot be computed.

    Compares the digest of each file, and only if all are right the counts, keys and seeds, verdicts with the raw
    answers, scenes and images that they follow from, and every number of the report.

    Exit code 0: nothing differs. 1: something differs, or a part of the plan was never made or judged.
    """
    from formalimg.reports.sharing.bundle_verification import (
        unpack_bundle,
        verify_bundle,
    )  # here, so that other commands start faster

    check = verify_bundle(bundle, digest, all_images=all_images)
    if as_json:
        print_json(check.to_json())
    else:
        for line in _verification_lines(bundle, check):
            echo(line)
    version = f"formalimg {__version__}"
    if check.made_with != version:
        echo(f"made with {check.made_with}, verified with {version}: rules may have changed in between", err=True)
    if unpack is not None:
        for folder in unpack_bundle(bundle, unpack, digest):
            echo(f"run in {folder}", err=True)
    raise typer.Exit(0 if check.is_complete else 1)


def _verification_lines(bundle: Path, check: BundleCheck) -> Iterator[str]:
    from formalimg.reports.sharing.bundle_format import digest_text
    from formalimg.reports.tables.format import count_noun

    yield from map(str, check.findings[:_MAX_FINDINGS])
    if len(check.findings) > _MAX_FINDINGS:
        yield f"and {len(check.findings) - _MAX_FINDINGS:,} more"
    if check.numbers:
        values, verdicts = count_noun(check.numbers, "value"), count_noun(check.verdicts, "verdict")
        sources = f"{check.by_answers:,} from raw answers, {check.by_scene:,} from stored scenes"
        yield f"computed again: {values} of the report; of {verdicts} {sources}"
        if check.images_to_judge:
            images = count_noun(check.images_to_judge, "image")
            yield f"looked at again: {check.by_image:,} of {images} whose judge is computed here"
    for missing in check.missing:
        yield f"missing: {missing}"
    for unproven in check.unproven:
        yield f"not computed again: {unproven}"
    yield f"{bundle}: {_outcome(check)}"
    yield digest_text(check.digest)


def _outcome(check: BundleCheck) -> str:
    from formalimg.reports.tables.format import count_noun

    if check.findings:
        return count_noun(len(check.findings), "difference")
    if check.missing:
        lacking = sum(missing.number for missing in check.missing)
        images = count_noun(check.planned, "planned image")
        return f"not complete: {lacking:,} verdicts on {images} are missing; nothing differs in what was computed again"
    cited = "it is the bundle that was cited" if check.is_cited else "without a cited digest the rest is taken on trust"
    return f"nothing differs in what was computed again; {cited}"


def card_command(
    run: Annotated[Path, argument("RUN", "A run folder.")],
    out: Annotated[Path | None, option("FILE", "The file to write. Default: standard output.")] = None,
    figures: Annotated[
        Path | None,
        option(
            "FOLDER", "Write its figures into this folder. Default: with --out, `figures` beside the file; else none."
        ),
    ] = None,
    figures_as: FiguresAs = "png",
    judge: Annotated[str | None, option("JUDGE", "Whose verdicts, by name or number. Default: the last.")] = None,
    heading: Annotated[int, option("N", "Level of its heading.", min=1, max=5)] = 2,
) -> None:
    """Write a section for a model card: the numbers, figures, what fails, and how to reproduce it.

    It is Markdown, as model pages show it. Captions have no options in them.
    """
    from formalimg._util.io import atomic_write_text
    from formalimg.human_eval.agreement.rated_images import find_judge
    from formalimg.reports.sharing.cards import model_card
    from formalimg.runs.reader import open_run

    folder = figures if figures is not None or out is None else out.parent / "figures"
    formats = figure_formats(folder, figures_as)
    with closing(open_run(run)) as opened:
        chosen = None if judge is None else find_judge(opened, judge)
    beside = None if out is None else out.parent
    made = model_card(run, judge=chosen, figures=folder, beside=beside, formats=formats or ("png",), heading=heading)
    if out is None:
        print_data(made.text)
        return
    echo(atomic_write_text(out, made.text))
    for path in made.figures:
        echo(path)


def push_command(
    run: Annotated[Path, argument("RUN", "A run folder.")],
    to: Annotated[str, option("ADDRESS", "The dataset, as in hf://datasets/OWNER/NAME.")],
    images: Annotated[bool, option("--images/--no-images", "Whether to push the images.")] = True,
    private: Annotated[bool, option("--private", "Make a new dataset private.")] = False,
    licence: Annotated[str, option("--license LICENCE", "Licence of the dataset, as in cc-by-4.0.")] = "",
) -> None:
    """Push a run to a dataset on the Hugging Face Hub: images, verdicts, manifest, bundle and data card.

    Needs formalimg[hf] and a token (HF_TOKEN, or `hf auth login`). Pushing again replaces what was there.
    """
    from formalimg.reports.sharing.bundle_format import digest_text  # here, so that other commands start faster
    from formalimg.reports.sharing.cards import push_run
    from formalimg.reports.tables.format import count_noun

    done = push_run(run, to, f"formalimg {__version__}", images=images, private=private, licence=licence)
    echo(f"{count_noun(done.images, 'image')} and {count_noun(done.rows, 'verdict')} in {done.address}")
    echo(f"commit {done.commit}, bundle {digest_text(done.digest)}")


def log_command(
    runs: Annotated[list[Path], argument("RUN", "Run folders.")],
    to: Annotated[list[str], option("TRACKER", "wandb[:PROJECT], mlflow[:URI] or tensorboard[:DIR]; repeatable.")],
    failures: Annotated[int, option("N", "The most failures with images.", min=0, max=1000)] = 24,
) -> None:
    """Log runs to an experiment tracker: rates by level, coverage, cost, and failures with images.

    Each tracker is an extra of its own, as in formalimg[tensorboard]. Logging a run again replaces it. W&B works
    offline with WANDB_MODE=offline.
    """
    from formalimg.runs.reader import open_run

    trackers = read_trackers(to)
    judged: list[tuple[Path, Identity | None]] = []
    for folder in runs:
        with closing(open_run(folder)) as run:
            judged += [(folder, judge) for judge in run.judges() or (None,)]
    log_runs(judged, trackers, failures)


def read_trackers(names: Sequence[str] | None) -> list[Tracker]:
    """Open the named trackers, so that errors are raised before any work is done."""
    if not names:
        return []
    from formalimg.reports.sharing.trackers import read_tracker

    return [read_tracker(name) for name in names]


def log_runs(
    judged: Sequence[tuple[Path, Identity | None]],
    trackers: Sequence[Tracker],
    failures: int | None = None,
    profile: Profile | None = None,
) -> None:
    """Log each run with the verdicts of a judge, and print the locations."""
    if not trackers:
        return
    from formalimg.reports.sharing.trackers import MAX_FAILURES, log_run, read_tracked_run

    for folder, judge in judged:
        run = read_tracked_run(
            folder, judge, max_failures=MAX_FAILURES if failures is None else failures, profile=profile
        )
        for tracker in trackers:
            echo(f"{run.name} in {tracker.name}: {log_run(run, tracker)}", err=True)
