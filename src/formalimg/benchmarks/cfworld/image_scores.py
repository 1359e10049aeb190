"""Scores of CF-World images: by group and by question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formalimg.benchmarks.cfworld.scores import ScoreProfile, rescore
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.judge_agreement import question_keys
from formalimg.runs.reader import Judged
from formalimg.types import Part, RunRecord, Unscored, Verdict


class GroupScore(NamedTuple):
    """An image, its group, and its score; if that is None, the reason."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: ScoreProfile = "paper") -> Iterator[GroupScore]:
    """Yield the scores of all planned images of a run, before any gate."""
    groups = {name: spec.group for name, spec in counterfactual_specs(run).items()}
    if profile == "paper":
        for outcome in run.outcomes():
            item, level, sample, _, score, reason, _ = outcome
            value = None if score is None else image_score(run, item, score, (), profile)
            yield GroupScore(item, groups[item], level, sample, value, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, groups[item], level, sample, score_of_verdict(run, judged, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """Return the specs of the items of a run, by id."""
    found = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(found) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name runs of cf-world or of its probes")
    return found


def score_of_verdict(run: RunRecord, judged: Judged, profile: ScoreProfile) -> float | None:
    """Return the score of an image of a run; None if unscored."""
    verdict = judged.verdict
    if isinstance(verdict, Unscored):
        return None
    return image_score(run, judged.outcome.item, verdict.score, verdict.parts, profile)


def image_score(run: RunRecord, item: str, score: float, parts: Sequence[Part], profile: ScoreProfile) -> float:
    """Return the score of an image of CF-World from its stored score and the questions behind it."""
    wrong = next((value for value in (*(part.score for part in parts), score) if not 0 <= value <= 1), None)
    if wrong is not None:
        who = run.manifest.judge.name if run.manifest.judge else "the judge"
        raise FormalimgError(
            f"{who} gave item {item} of {run.folder} the score {wrong:g}: scores are from 0 to 1; fix the judge, give "
            "it a new version in its settings, and let it judge again"
        )
    return rescore(score, [(part.kind, part.weight, part.score) for part in parts], profile)


def scores_by_question(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, float]:
    """Return the judge's score of each question, by number. An image that fails as a whole fails each of them."""
    if isinstance(verdict, Unscored):
        return {}
    keys = dict(enumerate(question_keys(question.question for question in spec.questions), 1))
    if not verdict.parts:
        return dict.fromkeys(keys, verdict.score)
    by_key = dict(zip(question_keys(part.name for part in verdict.parts), verdict.parts, strict=True))
    return {number: by_key[key].score for number, key in keys.items() if key in by_key}
