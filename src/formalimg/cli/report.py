"""`formalimg report`: compare runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from formalimg.cli.commands import argument, option
from formalimg.cli.comparisons import ExcludeInattentive, HumanRatingFiles, LabelFiles, read_human_ratings
from formalimg.cli.options import MAX_COUNT, MinCoverage
from formalimg.cli.output import Figures, FiguresAs, figure_formats, write_figures
from formalimg.cli.run_output import exit_if_uncovered, find_uncovered_runs
from formalimg.cli.streams import echo, print_data, print_next, print_table
from formalimg.errors import FormalimgError
from formalimg.reports.formats import Format
from formalimg.stats.observations import MissingPolicy, Profile

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy
    from formalimg.reports.comparison_model import Comparison
    from formalimg.reports.figures.svg import FigureFormat
    from formalimg.runs.reader import StoredRun

_DEFAULT_THRESHOLD = 0.5


def report_command(
    runs: Annotated[list[Path], argument("RUN", "Run folders.")],
    format: Annotated[  # noqa: A002  # what users call it
        Format | None,
        option(
            "html: one page with figures and images; the others: tables. Default: by the suffix of --out "
            "(html, md, tex, csv, json, txt), else terminal."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option("FILE", "The file to write. Default: standard output; for html, report.html in the first run."),
    ] = None,
    missing: Annotated[
        MissingPolicy, option("Images without a verdict: exclude them, count them as failures, or stop with an error.")
    ] = "exclude",
    epsilon: Annotated[
        float | None, option("RATE", "Pass rate that defines G. Default: the suite's, 0.7 for FormalImg.", min=0, max=1)
    ] = None,
    reference: Annotated[bool, option("--reference", "Show published results beside the runs.")] = False,
    details: Annotated[
        bool, option("--details", "Show the detailed tables of the suites in the terminal; other formats always do.")
    ] = False,
    profile: Annotated[
        Profile | None,
        option(
            "Which rules apply where a paper and its published code aggregate differently. Default: official-code "
            "if all judges followed it (`run --protocol published`), else paper."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        option(
            "SCORE",
            "For groups of factual and changed prompts: a factual image below this score closes the gate of its "
            "group. Default: 0.5.",
            min=0,
            max=1,
        ),
    ] = None,
    baseline: Annotated[
        Path | None, option("RUN", "One of the runs: compare each other run with it. Default: each run with each.")
    ] = None,
    judges: Annotated[
        Literal["last", "all"], option("Which verdicts: those of the last judge, or a row for each judge of a run.")
    ] = "last",
    human: HumanRatingFiles = None,
    labels: LabelFiles = None,
    exclude_inattentive: ExcludeInattentive = None,
    certificate: Annotated[
        list[Path] | None,
        option(
            "FILE", "Show how well the judge sees: a certificate by `formalimg certify --suite … --out`; repeatable."
        ),
    ] = None,
    gallery: Annotated[int, option("N", "Images per run on an html page.", min=0, max=MAX_COUNT)] = 24,
    images: Annotated[
        Literal["embed", "folder", "none"],
        option("Images of an html page: embedded thumbnails, larger ones in a folder beside it, or none."),
    ] = "embed",
    max_size: Annotated[
        float, option("MB", "Maximum size of an html page; it has fewer images if needed, and says so.", min=0.1)
    ] = 15,
    printed: Annotated[
        Literal["open", "all"],
        option("--print", "What an html page prints: what is open on it, or all of its folded parts too."),
    ] = "open",
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
    min_coverage: MinCoverage = None,
) -> None:
    """Compare runs: pass rates, confidence intervals, and what could not be scored."""
    from formalimg._util.io import atomic_write
    from formalimg.human_eval.agreement.studies import study_table
    from formalimg.judges.certificates.certificate import read_certificate
    from formalimg.reports.comparison import compare
    from formalimg.reports.formats import format_of
    from formalimg.reports.report import render, write_page
    from formalimg.reports.terminal_report import terminal_table
    from formalimg.runs.manifest import profile_of_judges

    if not human and exclude_inattentive is not None:
        raise FormalimgError("--exclude-inattentive applies to a rating study: give it with --human")
    formats = figure_formats(figures, figures_as)
    certificates = [read_certificate(path) for path in certificate or ()]
    form: Format = format or (format_of(out) if out else "terminal")
    runs = _run_folders(runs)
    with ExitStack() as opened:
        records = [
            opened.enter_context(closing(record)) for run in runs for record in _open_by_judge(run, judges == "all")
        ]
        for note in _without_effect({record.manifest.suite for record in records}, epsilon, threshold):
            echo(note, err=True)
        uncovered = find_uncovered_runs(records, min_coverage)
        profile = profile or profile_of_judges(record.manifest for record in records)
        gate = _DEFAULT_THRESHOLD if threshold is None else threshold
        human_ratings = read_human_ratings(runs, human or [], labels or [], exclude_inattentive, profile)
        studies = human_ratings.studies
        comparison = compare(
            records,
            missing=missing,
            epsilon=epsilon,
            references=reference,
            profile=profile,
            threshold=gate,
            labels=human_ratings.labels,
            baseline=baseline,
            certificates=certificates,
        )
        if form == "html":
            path = out or runs[0] / "report.html"
            write_page(
                comparison,
                records,
                path,
                images=images,
                studied=studies,
                gallery=gallery,
                most_megabytes=max_size,
                printed=printed,
            )
            echo(path)
        if figures is not None:
            _draw(comparison, records, studies, figures, formats)
    if form == "html":
        pass  # written above
    elif out is not None:
        atomic_write(out, [render(comparison, form, details=details, studied=studies).encode()])
        echo(out)
    elif form == "terminal":
        print_table(terminal_table(comparison, details=details))
        if studies and details:
            print_table(study_table(studies))
        print_next("report", runs, "--format html" if details else "--details")
    else:
        print_data(render(comparison, form, studied=studies))
    exit_if_uncovered(uncovered)


def _draw(
    comparison: Comparison,
    runs: Sequence[StoredRun],
    studies: Sequence[HumanStudy],
    folder: Path,
    formats: Sequence[FigureFormat],
) -> None:
    from formalimg.reports.figures.runs import comparison_figures
    from formalimg.reports.figures.studies import study_figures
    from formalimg.reports.page_images import image_grids

    drawings = [
        *comparison_figures(comparison),
        *image_grids(runs).values(),
        *(drawing for study in studies for drawing in study_figures(study)),
    ]
    write_figures(drawings, folder, formats, "no image of these runs is scored yet")


def _without_effect(suites: set[str], epsilon: float | None, threshold: float | None) -> Iterator[str]:
    """Yield a note for each option that has no effect on the given suites."""
    from formalimg.benchmarks.registry import suite, suite_names

    listed = ", ".join(sorted(suites))
    if epsilon is not None and all(suite(name).has_scores for name in suites):
        yield f"--epsilon has no effect on {listed}: it has mean scores instead of pass rates"
    if threshold is not None and all(suite(name).gate is None for name in suites):
        gated = " and ".join(name for name in suite_names() if suite(name).gate is not None)
        yield f"--threshold has no effect on {listed}: only {gated} has a gate"


def _open_by_judge(folder: Path, by_every_judge: bool) -> Iterator[StoredRun]:
    """Yield the run opened with its last judge, or once for each judge if `by_every_judge`."""
    from formalimg.runs.reader import open_run

    if not by_every_judge:
        yield open_run(folder)
        return
    with closing(open_run(folder)) as run:
        judges = run.judges()
    for judge in judges or (None,):
        yield open_run(folder, judge)


def _run_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the paths that are run folders, warning about the others."""
    reasons = [_why_not_a_run(path) for path in paths]
    if all(reasons):
        raise FormalimgError(reasons[0])
    for reason in filter(None, reasons):
        echo(f"skipped: {reason}", err=True)
    return [path for path, reason in zip(paths, reasons, strict=True) if not reason]


def _why_not_a_run(path: Path) -> str:
    """Return the reason why a path is not a run, or an empty string for runs and missing paths."""
    if path.is_file():
        advice = f"give the folder {path.parent}" if path.name == "run.toml" else "leave it out"
        return f"{path} is a file, not a run folder: {advice}"
    if not path.is_dir() or any((path / name).exists() for name in ("run.toml", "results.sqlite")):
        return ""
    from formalimg.runs.manifest import read_manifest  # here, so that other commands start faster

    try:
        read_manifest(path)
    except FormalimgError as error:
        return str(error)
    return ""
