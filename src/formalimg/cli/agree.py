"""`formalimg agree`: measure agreement between judges, and with human ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from formalimg.cli.commands import argument, option
from formalimg.cli.comparisons import compare_judge_pairs, compare_with_ratings, compare_with_scores, compare_with_votes
from formalimg.cli.output import (
    Figures,
    FiguresAs,
    OutputFile,
    OutputFormat,
    figure_formats,
    output_format,
    write_figures,
    write_output,
)
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
    from formalimg.human_eval.agreement.score_agreement import JudgeScoreAgreement
    from formalimg.human_eval.agreement.studies import HumanStudy
    from formalimg.human_eval.agreement.vote_study import VoteStudy
    from formalimg.reports.figures.svg import FigureFormat


def agree_command(
    runs: Annotated[list[Path], argument("RUN", "Run folders.")],
    judges: Annotated[
        tuple[str, str] | None,
        option("A B", "Two judges of the runs, by name, or by number in the order they judged. Default: the last two."),
    ] = None,
    judge: Annotated[
        str | None,
        option(
            "JUDGE",
            "With --votes, --scores or --ratings: one judge to compare raters with, by name or by number. "
            "Default: the last.",
        ),
    ] = None,
    votes: Annotated[
        Path | None,
        option(
            "CSV",
            "Human votes: model, item, sample, question, rater, vote. They are compared with each other and "
            "with the last judge, or with both of --judges.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        option(
            "CSV",
            "Human scores, 0 to 1, for suites whose images have scores: model, item, sample, question, rater, "
            "score. They are compared with the last judge, or with both of --judges.",
        ),
    ] = None,
    ratings: Annotated[
        Path | None,
        option(
            "STUDY",
            "Human ratings: the folder of a study by `formalimg annotate`, or a CSV file with votes, "
            "scores, or ratings from 1 to 5; compared with each other and with the last judge, or with both of "
            "--judges. Corrected boxes measure the grounder.",
        ),
    ] = None,
    exclude_inattentive: Annotated[
        float | None,
        option(
            "SHARE",
            "With --ratings: exclude raters who missed more than this share of their attention checks, such as "
            "0.2; they are listed. Default: the rule that the study stated beforehand, if any.",
        ),
    ] = None,
    rule: Annotated[
        Literal["majority", "mean"] | None,
        option(
            "How ratings from 1 to 5 become a label of an image: most of them are 4 or more, or their mean is, as "
            "in the human study of FormalImg. Default: the rule of the study; majority for a file."
        ),
    ] = None,
    iou: Annotated[
        float | None,
        option(
            "SHARE",
            "For corrected boxes: minimum overlap (intersection over union) of matching boxes. Default: "
            "0.9, as in the paper.",
        ),
    ] = None,
    profile: Annotated[
        Literal["paper", "official-code"],
        option(
            "official-code: of weighted questions, scores in which each has its full weight; of question graphs, "
            "images without a verdict count as 0."
        ),
    ] = "paper",
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
    format: OutputFormat = None,  # noqa: A002  # what users call it
    out: OutputFile = None,
) -> None:
    """Measure how far two judges, or human raters and a judge, agree on the same images."""
    form = output_format(format, out, "the agreement")
    formats = figure_formats(figures, figures_as)
    if sum(map(bool, (votes, scores, ratings))) > 1:
        raise FormalimgError("these are different studies: give --votes, --scores or --ratings, not both")
    if judge is not None and (judges or not (votes or scores or ratings)):
        raise FormalimgError(
            "--judge compares one judge with raters: give it with --votes, --scores or --ratings; two are --judges A B"
        )
    options = {"--exclude-inattentive": exclude_inattentive, "--rule": rule, "--iou": iou}
    option = next((name for name, value in options.items() if value is not None), "")
    if option and not ratings:
        raise FormalimgError(f"{option} applies to a rating study: give it with --ratings")
    chosen = judges or (() if judge is None else (judge,))
    if ratings:
        from formalimg.human_eval.agreement.studies import (
            human_study_text,
            study_table,
        )  # here, so that other commands start faster

        studies_of_ratings = compare_with_ratings(runs, chosen, ratings, exclude_inattentive, iou, profile, rule)
        write_output(
            form, out, lambda: human_study_text(studies_of_ratings, form), lambda: study_table(studies_of_ratings)
        )
        _draw(studies_of_ratings, figures, formats)
    elif scores:
        from formalimg.human_eval.agreement.studies import human_study_text, study_table

        study = compare_with_scores(runs, chosen, scores, profile)
        write_output(form, out, lambda: human_study_text(study, form), lambda: study_table(study))
        _draw(study, figures, formats)
    else:
        from formalimg.human_eval.agreement.studies import agreement_text, study_table

        studies: list[JudgeAgreement | JudgeScoreAgreement | VoteStudy] = [
            *(compare_judge_pairs(runs, judges, profile) if judges or not votes else []),
            *(compare_with_votes(runs, chosen, votes) if votes else []),
        ]
        write_output(form, out, lambda: agreement_text(studies, form), lambda: study_table(studies))
        _draw(studies, figures, formats)


def _draw(
    studies: Sequence[HumanStudy | JudgeAgreement | JudgeScoreAgreement],
    figures: Path | None,
    formats: Sequence[FigureFormat],
) -> None:
    """Write the figures of all studies, using a numbered subfolder for each if there are several."""
    if figures is None:
        return
    from formalimg.reports.figures.studies import study_figures

    for number, study in enumerate(studies, 1):
        folder = figures / str(number) if len(studies) > 1 else figures
        write_figures(study_figures(study), folder, formats, "no image has both")
