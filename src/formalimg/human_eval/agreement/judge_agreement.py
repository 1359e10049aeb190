"""Agreement of two judges over the images of one run: their scores, agreement rates and disagreements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.score_agreement import (
    JudgeScoreDifference,
    ScoredCounts,
    count_scored,
    score_difference,
)
from formalimg.human_eval.agreement.study_tables import MeanFraction
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import StoredRun, open_run
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.correlation import Correlation, within_level_correlation
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import Interval, Observation, Rate
from formalimg.stats.precision_recall import SensitivitySpecificity, sensitivity_specificity
from formalimg.stats.summary import summarize
from formalimg.types import RunRecord, Verdict


@dataclass(frozen=True)
class JudgeScores:
    """The scores that one judge assigned to a run."""

    judge: Identity  # the judge
    full_mark: Rate  # the pass rate: the share of images that meet all requirements
    full_mark_by_level: Mapping[int, Rate]
    fraction: MeanFraction  # the mean fraction of requirements met
    fraction_by_level: Mapping[int, MeanFraction]


class Disagreement(NamedTuple):
    """An image on which two judges disagree."""

    item: str  # which image
    sample: int
    level: int
    question: str  # the text of the question; empty for whether the image passes as a whole
    kind: str  # the kind of question; empty for the whole image
    first: bool  # the answers of the judges
    second: bool
    first_reason: str  # their reasons, if given
    second_reason: str


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of two judges over the same images of one run."""

    run: str  # the name of the run folder
    suite: str  # the benchmark
    first: JudgeScores  # the scores of the run by each judge
    second: JudgeScores
    images: ScoredCounts  # how many images they scored
    passed: Consistency  # how often they agree on whether an image passes
    passed_by_level: Mapping[int, Consistency]
    # how often they agree on single questions. A question of an image that only one of them scored is left out, and
    # counted; of images that neither scored, the questions are unscored here
    questions: Consistency
    questions_by_kind: Mapping[str, Consistency]
    questions_by_level: Mapping[int, Consistency]
    disagreements: tuple[Disagreement, ...]  # where they disagree, in the order of the run
    confidence: float  # of all intervals
    # how often each passes an image, and the first those that the second passes and fails
    direction: SensitivitySpecificity
    within_levels: Correlation  # the correlation of both on whether an image passes, within levels
    # where answers have grades between no and yes, as ratings do: the difference of the scores, by kind
    graded: Mapping[str, JudgeScoreDifference] = field(default_factory=dict)


class ImageName(NamedTuple):
    """An image of a run, identified by its item and sample number."""

    item: str
    sample: int


class QuestionKey(NamedTuple):
    """A question about an image: its text, and its index among questions with the same text."""

    text: str
    occurrence: int


class JudgeAnswer(NamedTuple):
    """A judge's answer to a question: whether the image satisfies it, the question kind, the reason and the score."""

    holds: bool
    kind: str
    reason: str
    score: float


@dataclass(frozen=True)
class ImageJudgment:
    """A judge's verdict on an image."""

    level: int  # the level of the image's item
    passed: bool | None  # whether it meets all requirements; None if unscored
    score: float | None  # the fraction it meets; None if unscored
    answers: Mapping[QuestionKey, JudgeAnswer]  # the answer to each question; none if unscored
    reason: str = ""  # why it is unscored; empty if it is not


def image_judgments(run: RunRecord) -> dict[ImageName, ImageJudgment]:
    """Return the verdict on each image of a run, ordered by item and sample."""
    judgments = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        parts = verdict.parts if isinstance(verdict, Verdict) else ()
        keys = question_keys(part.name for part in parts)
        answers = {
            key: JudgeAnswer(part.score == 1, part.kind, part.reason, part.score)
            for key, part in zip(keys, parts, strict=True)
        }
        judgments[ImageName(outcome.item, outcome.sample)] = ImageJudgment(
            outcome.level, outcome.passed, outcome.score, answers, outcome.reason
        )
    return judgments


def question_keys(texts: Iterable[str]) -> list[QuestionKey]:
    """Return a unique key for each question text; repeated texts get different indices."""
    counts = Counter[str]()
    keys = []
    for text in texts:
        keys.append(QuestionKey(text, counts[text]))
        counts[text] += 1
    return keys


class _AnswerPair(NamedTuple):
    """The answers of two judges to the same question about an image, or to the image as a whole."""

    image: ImageName
    level: int
    question: str
    kind: str
    first: bool | None
    second: bool | None
    first_reason: str = ""
    second_reason: str = ""
    scores: tuple[float | None, float | None] = (None, None)


@contextmanager
def two_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None
) -> Iterator[tuple[StoredRun, StoredRun]]:
    """Open a run once for each of two judges, by default the two most recent ones."""
    with closing(open_run(folder)) as run:
        judges = list(run.judges())
        if first is None or second is None:
            first, second = _pick_last_two(run)
    for judge in (first, second):
        if judge not in judges:
            raise FormalimgError(f"{judge.name} has not judged {folder} with these settings: use StoredRun.judges()")
    if first == second:
        raise FormalimgError(f"{first.name} cannot be compared with itself: name two judges")
    with closing(open_run(folder, first)) as first_run, closing(open_run(folder, second)) as second_run:
        yield first_run, second_run


def _pick_last_two(run: StoredRun) -> tuple[Identity, Identity]:
    judges = run.judges()
    if len(judges) < 2:
        raise FormalimgError(
            f"{run.folder} was judged by {judges[0].name if judges else 'nobody'}"
            f"{' alone' if judges else ''}: give human --ratings of its images (`formalimg annotate` collects them) "
            "or --votes, or let another judge look with `formalimg judge`"
        )
    return judges[-2], judges[-1]


def judge_of(run: RunRecord) -> Identity:
    """Return the judge of a run."""
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
    return run.manifest.judge


def find_judge(run: StoredRun, name: str) -> Identity:
    """Return the judge of a run by name, or by its 1-based position in the order of first use."""
    judges = run.judges()
    names = ", ".join(f"{number} {judge.name}" for number, judge in enumerate(judges, 1)) or "nobody"
    if name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(judges):
        return judges[int(name) - 1]
    matches = [judge for judge in judges if judge.name == name]
    if len(matches) > 1:
        raise FormalimgError(f"several judges of {run.folder} are called {name}: name them by number; it has {names}")
    if not matches:
        raise FormalimgError(f"no judge of {run.folder} is called {name}: it has {names}")
    return matches[0]


def compare_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None, *, confidence: float = 0.95
) -> JudgeAgreement:
    """Compare two judges over the images of one run; score suites are compared with `Benchmark.study` instead."""
    with two_judges(folder, first, second) as runs:
        return compare_records(*runs, confidence=confidence)


def compare_records(first: RunRecord, second: RunRecord, *, confidence: float = 0.95) -> JudgeAgreement:
    """Compare two judges of a run, given one record of the run per judge."""
    if first.folder != second.folder:
        raise FormalimgError(
            f"{first.folder} and {second.folder} hold different images: compare judges over the images of one run"
        )
    by_first, by_second = image_judgments(first), image_judgments(second)
    if by_first.keys() != by_second.keys():
        raise FormalimgError(f"{first.folder} has grown meanwhile: compare the judges again")
    judgments = [(image, judgment, by_second[image]) for image, judgment in by_first.items()]
    wholes = [
        _AnswerPair(image, judgment.level, "", "", judgment.passed, second_judgment.passed)
        for image, judgment, second_judgment in judgments
    ]
    questions = [pair for row in judgments for pair in _pair_questions(*row)]
    items = [pair.image.item for pair in wholes]

    def agreement(pairs: Iterable[_AnswerPair]) -> Consistency:
        pairs = list(pairs)
        answers = [(pair.first, pair.second) for pair in pairs]
        return consistency(answers, items=[pair.image.item for pair in pairs], confidence=confidence)

    def by_level(pairs: list[_AnswerPair]) -> dict[int, Consistency]:
        levels = sorted({pair.level for pair in pairs})
        return {level: agreement(pair for pair in pairs if pair.level == level) for level in levels}

    by_kind: dict[str, list[_AnswerPair]] = {}
    for pair in questions:
        by_kind.setdefault(pair.kind, []).append(pair)
    return JudgeAgreement(
        first.folder.name,
        first.manifest.suite,
        _score_judge(first, by_first, confidence),
        _score_judge(second, by_second, confidence),
        count_scored((pair.first is not None, pair.second is not None) for pair in wholes),
        agreement(wholes),
        by_level(wholes),
        agreement(questions),
        {kind: agreement(by_kind[kind]) for kind in sorted(by_kind)},
        by_level(questions),
        tuple(_find_disagreements(wholes, questions)),
        confidence,
        sensitivity_specificity([(pair.second, pair.first) for pair in wholes], items=items, confidence=confidence),
        within_level_correlation(
            [(pair.first, pair.second) for pair in wholes],
            [pair.level for pair in wholes],
            items=items,
            confidence=confidence,
        ),
        {
            kind: score_difference([(*pair.scores, pair.image.item) for pair in pairs], confidence)
            for kind, pairs in by_kind.items()
            if any(score is not None and 0 < score < 1 for pair in pairs for score in pair.scores)
        },
    )


def _pair_questions(image: ImageName, first: ImageJudgment, second: ImageJudgment) -> Iterator[_AnswerPair]:
    for key in dict.fromkeys([*first.answers, *second.answers]):
        answer, second_answer = first.answers.get(key), second.answers.get(key)
        yield _AnswerPair(
            image,
            first.level,
            key.text,
            answer.kind if answer else second_answer.kind if second_answer else "",
            answer.holds if answer else None,
            second_answer.holds if second_answer else None,
            answer.reason if answer else "",
            second_answer.reason if second_answer else "",
            (answer.score if answer else None, second_answer.score if second_answer else None),
        )


def _score_judge(run: RunRecord, judgments: Mapping[ImageName, ImageJudgment], confidence: float) -> JudgeScores:
    values = [Observation(image.item, judgment.level, judgment.passed) for image, judgment in judgments.items()]
    summary = summarize(values, bands={}, epsilon=None, confidence=confidence)

    def fraction(level: int | None = None) -> MeanFraction:
        scores = {image: judgment.score for image, judgment in judgments.items() if level in (None, judgment.level)}
        scored = {image: score for image, score in scores.items() if score is not None}
        interval = mean_interval(scored.values(), confidence, items=[image.item for image in scored])
        if interval is not None:  # a normal interval may reach beyond what fractions can be
            interval = Interval(max(0.0, interval.low), min(1.0, interval.high))
        mean = sum(scored.values()) / len(scored) if scored else None
        return MeanFraction(mean, interval, len(scored), len(scores) - len(scored))

    fractions = {level: fraction(level) for level in summary.levels}
    return JudgeScores(judge_of(run), summary.overall, summary.levels, fraction(), fractions)


def _find_disagreements(wholes: list[_AnswerPair], questions: list[_AnswerPair]) -> Iterator[Disagreement]:
    by_image: dict[ImageName, list[_AnswerPair]] = {pair.image: [pair] for pair in wholes}
    for pair in questions:
        by_image[pair.image].append(pair)
    for pairs in by_image.values():
        for image, level, question, kind, first, second, first_reason, second_reason, _ in pairs:
            if first is not None and second is not None and first != second:
                yield Disagreement(*image, level, question, kind, first, second, first_reason, second_reason)
