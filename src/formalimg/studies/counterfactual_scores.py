"""The scores of CF-World's pictures as a run has them: whose group they are of, and why one has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, Verdict
from formalimg.runs import RunRecord
from formalimg.stats import ScoreProfile, weighted_score
from formalimg.suites import CounterfactualSpec


class GroupScore(NamedTuple):
    """A picture, the group it belongs to, and its score; None if unscored, and then why."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: ScoreProfile = "paper") -> Iterator[GroupScore]:
    """The scores of all planned pictures of a run, before any gate.

    Args:
        run: a run of CF-World or of one of its probes.
        profile: `paper` for scores as they are stored; `official-code` gives each question its full weight.

    Raises:
        FormalimgError: if the items of the run have no groups.
    """
    groups = {name: spec.group for name, spec in counterfactual_specs(run).items()}
    if profile == "paper":
        for outcome in run.outcomes():
            item, level, sample, _, score, reason, _ = outcome
            yield GroupScore(item, groups[item], level, sample, score, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, groups[item], level, sample, score_of_verdict(judged.verdict, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """What the items of a run ask for, by id.

    Raises:
        FormalimgError: if the run is of another benchmark.
    """
    found = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(found) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.card.suite}: name runs of cf-world or of its probes")
    return found


def score_of_verdict(verdict: Verdict | Unscored, profile: ScoreProfile) -> float | None:
    """The score of a picture; None if unscored."""
    return None if isinstance(verdict, Unscored) else picture_score(verdict.score, verdict.parts, profile)


def picture_score(score: float, parts: Sequence[Part], profile: ScoreProfile) -> float | None:
    """The score of a picture of CF-World, by its score as it is stored and by the questions that it is made of.

    Questions of one dimension share its weight in a verdict; `official-code` gives the full weight back to each.
    """
    if profile == "paper" or not parts:  # pictures without anything on them fail as a whole
        return score
    times = Counter(part.kind for part in parts)
    return weighted_score(((it.kind, it.weight * times[it.kind], it.score) for it in parts), profile)
