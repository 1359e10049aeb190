"""Studies of groups of factual and changed prompts: explain failures, and choose the gate threshold from labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from formalimg.cli.commands import argument, option
from formalimg.cli.output import (
    Figures,
    FiguresAs,
    OutputFile,
    OutputFormat,
    figure_formats,
    open_runs,
    output_format,
    write_figures,
    write_output,
)


def diagnose_command(
    runs: Annotated[
        list[Path],
        argument("RUN", "Runs of groups of factual and changed prompts, and of their probes, by the same models."),
    ],
    model: Annotated[
        str | None,
        option(
            "--as NAME",
            "Treat all runs as one model of this name, as for images in folders. Default: runs are grouped by the name "
            "of their model.",
        ),
    ] = None,
    threshold: Annotated[
        float, option("SCORE", "The score of a factual image that opens the gate of its group.", min=0, max=1)
    ] = 0.5,
    judge: Annotated[
        str | None, option("JUDGE", "A judge of all runs, by name or number. Default: the last of each.")
    ] = None,
    profile: Annotated[
        Literal["paper", "official-code"] | None,
        option(
            "official-code: each question has its full weight, and an unknown gate counts as closed. "
            "Default: official-code if all judges followed it, else paper."
        ),
    ] = None,
    format: OutputFormat = None,  # noqa: A002  # what users call it
    out: OutputFile = None,
) -> None:
    """Explain why a model fails on groups of factual and changed prompts.

    Compares changed rules, rare pairs of objects, and prompts without names.
    """
    # These here, so that other commands start faster.
    from formalimg.human_eval.agreement.study_tables import find_study
    from formalimg.runs.manifest import profile_of_judges

    form = output_format(format, out, "a diagnosis")
    with open_runs(runs, judge) as opened:
        study = find_study("diagnose", (run.manifest.suite for run in opened))
        profile = profile or profile_of_judges(run.manifest for run in opened)
        diagnosis = study.make(opened, model=model, threshold=threshold, profile=profile)
    write_output(form, out, lambda: study.text(diagnosis, form), lambda: study.table(diagnosis))


def calibrate_command(
    runs: Annotated[list[Path], argument("RUN", "Runs of groups with a gate.")],
    labels: Annotated[
        Path,
        option("CSV", "Human labels of recognisable factual images: model, item, sample, rater, label (1 or 0)."),
    ],
    judge: Annotated[
        str | None, option("JUDGE", "A judge of the runs, by name or by number. Default: the last.")
    ] = None,
    profile: Annotated[
        Literal["paper", "official-code"] | None,
        option(
            "official-code: scores in which each question has its full weight. "
            "Default: official-code if all judges followed it, else paper."
        ),
    ] = None,
    format: OutputFormat = None,  # noqa: A002  # what users call it
    out: OutputFile = None,
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
) -> None:
    """Find the gate threshold of groups of factual and changed prompts that agrees best with human labels.

    Raters label whether a factual image is recognisable; the gate should open for exactly those images.
    """
    from formalimg.human_eval.agreement.study_tables import find_study
    from formalimg.runs.manifest import profile_of_judges

    formats = figure_formats(figures, figures_as)
    form = output_format(format, out, "a calibration")
    with open_runs(runs, judge) as opened:
        study = find_study("calibrate", (run.manifest.suite for run in opened))
        profile = profile or profile_of_judges(run.manifest for run in opened)
        calibration = study.make(labels, opened, profile=profile)
    if figures is not None:
        from formalimg.reports.figures.studies import study_figures

        write_figures(study_figures(calibration), figures, formats, "no labelled image has a score")
    write_output(form, out, lambda: study.text(calibration, form), lambda: study.table(calibration))
