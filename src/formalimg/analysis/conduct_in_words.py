"""How raters did, as a table of words and as figures."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis.agreement_tables import AgreementTable
from formalimg.analysis.conduct import Conduct, RaterConduct
from formalimg.analysis.figures_in_words import NOTHING, counted


def table_of_conduct(conduct: Conduct) -> AgreementTable:
    """How far raters came, which attention checks they missed, and who was left out."""
    told = "Missed: attention checks, in which the words beside an image are those of another one."
    if conduct.most_missed is not None:
        who = ", ".join(conduct.left_out) or "nobody"
        told += f" Left out for missing more than {100 * conduct.most_missed:g} % of theirs: {who}."
    elif any(it.checks > it.checks_passed for it in conduct.raters):
        told += " Everybody counts, whatever they missed; --exclude-inattentive leaves raters out."
    if conduct.unfinished:
        told += f" Still to be finished: {counted(conduct.unfinished, 'task')}."
    return AgreementTable(
        "Raters",
        told,
        ("", "finished", "missed", "median seconds", "minutes", "counts"),
        tuple(
            (
                it.rater,
                f"{it.finished}/{it.of}",
                f"{it.checks - it.checks_passed}/{it.checks}" if it.checks else NOTHING,
                NOTHING if it.median_seconds is None else f"{it.median_seconds:.1f}",
                f"{it.seconds / 60:.1f}",
                "no" if it.left_out else "yes",
            )
            for it in conduct.raters
        ),
    )


def figures_of_conduct(conduct: Conduct) -> Iterator[dict[str, object]]:
    """The same for spreadsheets: who was left out has a figure of that name, of 1."""
    for it in conduct.raters:
        yield {"figure": "finished", "of": "tasks", "first": it.rater, "value": it.finished, "n": it.of}
        if it.checks:
            passed = {"value": it.checks_passed / it.checks, "n": it.checks}
            yield {"figure": "attention checks passed", "of": "tasks", "first": it.rater, **passed}
        yield {"figure": "seconds", "of": "tasks", "first": it.rater, "value": it.seconds, "n": it.finished}
        yield _left_out(it)


def _left_out(it: RaterConduct) -> dict[str, object]:
    return {"figure": "left out", "of": "tasks", "first": it.rater, "value": int(it.left_out)}
