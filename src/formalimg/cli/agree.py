"""`formalimg agree`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.cli.studied import StudyFile, StudyFormat, put_out, studied_format
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.runs import Party, StoredRun
    from formalimg.stats import ScoreProfile
    from formalimg.studies import JudgesCompared, PeopleStudied, ScoresCompared, ScoresStudied


def agree_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.", show_default=False)],
    judges: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Two judges of the runs, by name or by number in the order in which they judged. Default: the last "
            "two.",
            show_default=False,
        ),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Votes of people: model, item, sample, question, rater, vote. They are compared with each other and "
            "with the last judge, or with both of --judges.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Scores of people, 0 to 1, for runs of cf-world and its probes: model, item, sample, question, rater, "
            "score. They are compared with the last judge, or with both of --judges.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        Literal["paper", "official-code"],
        typer.Option(help="CF-World: official-code compares scores in which each question has its full weight."),
    ] = "paper",
    format: StudyFormat = None,  # noqa: A002  # what users call it
    out: StudyFile = None,
) -> None:
    """Tell how far two judges, or people and a judge, say the same about the same pictures."""
    from formalimg.studies import agreement_table, agreement_text  # here, so that other commands start faster

    form = studied_format(format, out, "the agreement")
    if scores:
        if votes:
            raise FormalimgError("votes and scores are different studies: give --votes or --scores, not both")
        from formalimg.studies import scores_table, scores_text

        found = _scores_studied(runs, judges, scores, profile)
        put_out(form, out, lambda: scores_text(found, form), lambda: scores_table(found))
        return
    studies: list[JudgesCompared | ScoresCompared | PeopleStudied] = [
        *(_judges_compared(runs, judges, profile) if judges or not votes else []),
        *(_people_studied(runs, judges, votes) if votes else []),
    ]
    put_out(form, out, lambda: agreement_text(studies, form), lambda: agreement_table(studies))


def _judges_compared(
    runs: list[Path], judges: tuple[str, str] | None, profile: ScoreProfile
) -> Iterator[JudgesCompared | ScoresCompared]:
    """What two judges say about each run: whether pictures pass, or how they score."""
    from formalimg.runs import open_run
    from formalimg.studies import compare_judges, compare_scores
    from formalimg.suites import suite

    for folder in runs:
        with closing(open_run(folder)) as run:
            first, second = _named(run, judges) if judges else (None, None)
            has_scores = suite(run.card.suite).kind == "counterfactual"
        if has_scores:
            yield compare_scores(folder, first, second, profile=profile)
        else:
            yield compare_judges(folder, first, second)


def _people_studied(runs: list[Path], judges: tuple[str, str] | None, votes: Path) -> list[PeopleStudied]:
    """One study for each judge to compare with."""
    from formalimg.studies import study_votes

    return [study_votes(votes, there) for there in _opened(runs, judges)]


def _scores_studied(
    runs: list[Path], judges: tuple[str, str] | None, scores: Path, profile: ScoreProfile
) -> list[ScoresStudied]:
    """One study for each judge to compare with."""
    from formalimg.studies import study_scores

    return [study_scores(scores, there, profile=profile) for there in _opened(runs, judges)]


def _opened(runs: list[Path], judges: tuple[str, str] | None) -> Iterator[list[StoredRun]]:
    """The runs, opened with the last judge; or once with each of two judges."""
    from formalimg.runs import open_run

    for which in range(2 if judges else 1):
        with ExitStack() as opened:
            there = [opened.enter_context(closing(open_run(folder))) for folder in runs]
            if judges:
                chosen = [_named(run, judges)[which] for run in there]
                there = [opened.enter_context(closing(open_run(*pair))) for pair in zip(runs, chosen, strict=True)]
            yield there


def _named(run: StoredRun, judges: tuple[str, str]) -> tuple[Party, Party]:
    from formalimg.studies import judge_named

    return judge_named(run, judges[0]), judge_named(run, judges[1])
