"""A judge measured by what people say together, as a table of words and as figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from formalimg.analysis.rater_agreement import JUDGE, MAJORITY, Panel
from formalimg.analysis.study_tables import (
    NOTHING,
    AgreementTable,
    number_with_interval,
    percent,
    percent_with_interval,
)
from formalimg.stats import Classification, Estimate, RankAgreement, Reliability, Share

Panels: TypeAlias = Mapping[str, Panel]
"""What people say, by what they say it about."""


def table_of_judge(panels: Panels, together: str, intervals: str) -> AgreementTable | None:
    """How well the judge tells what people say together, and what could not be compared; None if nothing could.

    Args:
        panels: what people say.
        together: what people say together is called: `majority` or `mean`.
        intervals: what is said of the intervals.
    """
    if not any(panel.classified.n for panel in panels.values()):
        return None
    figures = [figures_of_judge(panel.classified) for panel in panels.values()]
    counts = [{**panel.classified.confusion._asdict(), **_left_out(panel, together)} for panel in panels.values()]
    return AgreementTable(
        f"The judge, measured by the {together} of people",
        f"In percent, {intervals}. Positive: the judge says yes. True: so do people, by {together}. Cases without "
        f"a {together} or without a verdict are left out.",
        ("", *panels),
        (
            *((name, *(percent_with_interval(those[name]) for those in figures)) for name in figures[0]),
            *((name.replace("_", " "), *(str(those[name]) for those in counts)) for name in counts[0]),
        ),
        "result",
    )


def figures_of_judge(found: Classification) -> dict[str, Share | Estimate]:
    """How well a judge tells what people say together, figure by figure."""
    return {
        "accuracy": found.accuracy,
        "F1": found.f1,
        "recall (sensitivity)": found.recall,
        "specificity": found.specificity,
        "precision": found.precision,
        "balanced accuracy": found.balanced_accuracy,
    }


def _left_out(panel: Panel, together: str) -> dict[str, int]:
    """Why cases were left out; those for which both reasons hold are told with the first."""
    unscored = sum(said.judge is None and said.people is not None for said in panel.told)
    return {f"left out, no {together}": panel.undecided, "left out, no verdict": unscored}


_MOST_LETTERS = 72
"""So many letters of names fit side by side, in terminals and on paper."""


def table_of_reliability(alphas: Mapping[str, Reliability], by_turns: bool, intervals: str) -> AgreementTable:
    """How alike people rate.

    Args:
        alphas: by whose they are, and of what.
        by_turns: whether several people take turns in the columns of Cronbach's alpha.
        intervals: what is said of the intervals.
    """
    told = f"Alpha, {intervals}: 1 if all rate alike, 0 if only by chance. Left out: what too few have rated. "
    if any(found.value is None for found in alphas.values()):
        told += (
            f"{NOTHING} stands where there is nothing to compare: fewer than two people or images, or ratings (for "
            "Cronbach's their sums) that are all the same. "
        )
    if by_turns:
        told += "Less than half was rated by everybody, so people take turns in the columns of Cronbach's."
    else:
        told += "Cronbach's has one column for each person, and only what all of them rated."
    rows = tuple(
        (name, number_with_interval(found, 3), str(found.n), str(found.left_out)) for name, found in alphas.items()
    )
    return AgreementTable("Reliability of people", told, ("", "alpha", "n", "left out"), rows, "result")


def table_of_ranks(ranks: Mapping[str, RankAgreement], level: str, intervals: str) -> AgreementTable | None:
    """How alike people and judge rank runs, level by level; None if nothing can be ranked."""
    levels = sorted({at for found in ranks.values() for at in found.by_level})
    if all(found.mean is None for found in ranks.values()):
        return None
    return AgreementTable(
        "Runs ranked by people and by the judge",
        f"Spearman's correlation of their scores, {intervals} from four runs on. Each {level} that has one weighs the "
        "same in the mean.",
        (level, *ranks),
        (
            *((str(at), *(number_with_interval(found.by_level.get(at)) for found in ranks.values())) for at in levels),
            ("mean", *(NOTHING if found.mean is None else f"{found.mean:.3f}" for found in ranks.values())),
        ),
        "result",
    )


def table_of_pairs(name: str, panel: Panel, together: str) -> AgreementTable:
    """How often any two of people, what they say together, and the judge say the same.

    Where there is no room for a column for each person, each is compared with all others on average.
    """
    people = [who for who in panel.matrix if who not in (MAJORITY, JUDGE)]
    mean = panel.people
    told = f"How often they agree, in percent. The {together} holds what each rater says. "
    told += "No two people rated the same." if mean.value is None else f"Any two people: {percent(mean.value)}."
    if mean.left_out and mean.pairs:
        told += f" Pairs of people with nothing in common, left out of that: {mean.left_out}."
    names = {who: together if who == MAJORITY else who for who in panel.matrix}
    if sum(map(len, names.values())) <= _MOST_LETTERS:
        rows = [
            (names[who], *(percent(row[other].value) if other in row else "" for other in names))
            for who, row in panel.matrix.items()
        ]
        return AgreementTable(f"Any two: {name}", told, ("", *names.values()), tuple(rows))
    rows = [(who, _with_others(panel, who, people), *_with(panel, who, MAJORITY, JUDGE)) for who in people]
    heads = ("", "other people", together, "judge")
    told += " Other people: the mean over all of them who rated the same. The JSON holds all pairs."
    return AgreementTable(f"Each rater: {name}", told, heads, tuple(rows))


def _with_others(panel: Panel, who: str, people: list[str]) -> str:
    shares = [panel.matrix[who][other].value for other in people if other != who]
    known = [share for share in shares if share is not None]
    return percent(sum(known) / len(known) if known else None)


def _with(panel: Panel, who: str, *others: str) -> list[str]:
    return [percent(panel.matrix[who][other].value) for other in others]
