"""The scores of CF-World's images as a run has them: whose group they are of, and why one has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formalimg.analysis.opinions import numbered
from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, Verdict
from formalimg.runs import Judged, RunRecord
from formalimg.stats import ScoreProfile, rescored
from formalimg.suites import CounterfactualSpec


class GroupScore(NamedTuple):
    """An image, the group it belongs to, and its score; None if unscored, and then why."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: ScoreProfile = "paper") -> Iterator[GroupScore]:
    """The scores of all planned images of a run, before any gate.

    Args:
        run: a run of CF-World or of one of its probes.
        profile: `paper` for scores as they are stored; `official-code` gives each question its full weight.

    Raises:
        FormalimgError: if the items of the run have no groups, or the judge gave what is no score.
    """
    groups = {name: spec.group for name, spec in counterfactual_specs(run).items()}
    if profile == "paper":
        for outcome in run.outcomes():
            item, level, sample, _, score, reason, _ = outcome
            given = None if score is None else image_score(run, item, score, (), profile)
            yield GroupScore(item, groups[item], level, sample, given, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, groups[item], level, sample, score_of_verdict(run, judged, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """What the items of a run ask for, by id.

    Raises:
        FormalimgError: if the run is of another benchmark.
    """
    found = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(found) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name runs of cf-world or of its probes")
    return found


def score_of_verdict(run: RunRecord, judged: Judged, profile: ScoreProfile) -> float | None:
    """The score of an image of a run; None if unscored.

    Raises:
        FormalimgError: as `image_score` does.
    """
    verdict = judged.verdict
    if isinstance(verdict, Unscored):
        return None
    return image_score(run, judged.outcome.item, verdict.score, verdict.parts, profile)


def image_score(run: RunRecord, item: str, score: float, parts: Sequence[Part], profile: ScoreProfile) -> float:
    """The score of an image of CF-World, by its score as it is stored and by the questions that it is made of.

    Raises:
        FormalimgError: if the judge gave what is no score.
    """
    wrong = next((given for given in (*(part.score for part in parts), score) if not 0 <= given <= 1), None)
    if wrong is not None:
        who = run.manifest.judge.name if run.manifest.judge else "the judge"
        raise FormalimgError(
            f"{who} gave item {item} of {run.folder} the score {wrong:g}: scores are from 0 to 1; mend the judge, give "
            "it a new version in its settings, and let it judge again"
        )
    return rescored(score, [(part.kind, part.weight, part.score) for part in parts], profile)


def scores_by_question(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, float]:
    """What the judge gave for each question, by number. An image that fails as a whole fails each of them."""
    if isinstance(verdict, Unscored):
        return {}
    asked = dict(enumerate(numbered(question.question for question in spec.questions), 1))
    if not verdict.parts:
        return dict.fromkeys(asked, verdict.score)
    by_words = dict(zip(numbered(part.name for part in verdict.parts), verdict.parts, strict=True))
    return {number: by_words[question].score for number, question in asked.items() if question in by_words}
