"""How alike people rate, and how alike people and judge rank runs, as tables of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.stats import Correlation, RankAgreement, Reliability
from formalimg.studies.agreement_tables import AgreementTable
from formalimg.studies.figures_in_words import NOTHING


def table_of_alphas(alphas: Mapping[str, Reliability], by_turns: bool, intervals: str) -> AgreementTable:
    """How alike people rate.

    Args:
        alphas: by whose they are, and of what.
        by_turns: whether several people take turns in the columns of Cronbach's alpha.
        intervals: what is said of the intervals.
    """
    told = f"Alpha, {intervals}: 1 if all rate alike, 0 if only by chance. "
    if by_turns:
        told += "Nothing was rated by everybody, so people take turns in the columns of Cronbach's."
    else:
        told += "Cronbach's has one column for each person, and only what all of them rated."
    rows = tuple((name, *_cells(found)) for name, found in alphas.items())
    return AgreementTable("How alike people rate", told, ("", "alpha", "n", "left out"), rows)


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
            *((str(at), *(_correlation(found.by_level.get(at)) for found in ranks.values())) for at in levels),
            ("mean", *(NOTHING if found.mean is None else f"{found.mean:.3f}" for found in ranks.values())),
        ),
    )


def _cells(found: Reliability) -> Sequence[str]:
    value = NOTHING if found.value is None else f"{found.value:.3f}"
    bounds = f" ({found.interval.low:.3f} to {found.interval.high:.3f})" if found.interval else ""
    return value + bounds, str(found.n), str(found.left_out)


def _correlation(found: Correlation | None) -> str:
    if found is None or found.value is None:
        return NOTHING
    bounds = f" ({found.interval.low:.2f} to {found.interval.high:.2f})" if found.interval else ""
    return f"{found.value:.2f}{bounds}"
