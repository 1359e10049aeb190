"""A judge measured by what people say together, as a table of words and as figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from formalimg.analysis.agreement_tables import AgreementTable
from formalimg.analysis.figures_in_words import percent_with_interval
from formalimg.analysis.panels import Panel
from formalimg.stats import Classification, Estimate, Share

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
