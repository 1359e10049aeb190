"""`diagnose`: explain failures on changed worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from formalimg.cli.commands import argument, option
from formalimg.cli.output import OutputFile, OutputFormat, open_runs, output_format, write_output


def diagnose_command(
    runs: Annotated[
        list[Path],
        argument("RUN", "Runs of groups of factual and changed prompts, and of their probes, by the same models."),
    ],
    model: Annotated[
        str | None,
        option(
            "--as NAME",
            "Treat all runs as one model of this name, as for images in folders. Default: runs are grouped "
            "by the name of their model.",
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
    from formalimg.human_eval.agreement.study_tables import find_study  # here, so that other commands start faster
    from formalimg.runs.manifest import profile_of_judges

    form = output_format(format, out, "a diagnosis")
    with open_runs(runs, judge) as opened:
        study = find_study("diagnose", (run.manifest.suite for run in opened))
        found = study.make(
            opened,
            model=model,
            threshold=threshold,
            profile=profile or profile_of_judges(run.manifest for run in opened),
        )
    write_output(form, out, lambda: study.text(found, form), lambda: study.table(found))
