"""Two judges over the same images: how they score, how often they say the same, and where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.judges_compared import Disagreement, Fraction, JudgesCompared, JudgeScores, Scored
from formalimg.analysis.opinions import ImageName, Opinion, Question, opinions
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord, StoredRun, open_run
from formalimg.stats import Consistency, Interval, Observation, consistency, mean_interval, summarize


class _Pair(NamedTuple):
    """What two judges say to the same question about the same image, or about the image as a whole."""

    image: ImageName
    level: int
    question: str
    kind: str
    first: bool | None
    second: bool | None
    first_reason: str = ""
    second_reason: str = ""


def compare_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None, *, confidence: float = 0.95
) -> JudgesCompared:
    """Compares two judges over the images of one run. Scores of CF-World are compared by `compare_scores`.

    Args:
        folder: the run folder.
        first: one of those who judged it, as `StoredRun.judges()` names them; None for the last but one.
        second: another of them; None for the last.
        confidence: of all intervals.

    Raises:
        FormalimgError: if it is no run, or fewer than two have judged it.
    """
    with two_judges(folder, first, second) as (one, other):
        return compare_records(one, other, confidence=confidence)


@contextmanager
def two_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None
) -> Iterator[tuple[StoredRun, StoredRun]]:
    """A run as two of its judges saw it; None for the last two.

    Raises:
        FormalimgError: if it is no run, or they are not two who have judged it.
    """
    with closing(open_run(folder)) as run:
        judges = list(run.judges())
        if first is None or second is None:
            first, second = last_two(run)
    for judge in (first, second):
        if judge not in judges:
            raise FormalimgError(f"{judge.name} has not judged {folder} with these settings: use StoredRun.judges()")
    if first == second:
        raise FormalimgError(f"{first.name} cannot be compared with itself: name two judges")
    with closing(open_run(folder, first)) as one, closing(open_run(folder, second)) as other:
        yield one, other


def judge_of(run: RunRecord) -> Identity:
    """Who judged a run.

    Raises:
        FormalimgError: if nobody has.
    """
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
    return run.manifest.judge


def compare_records(first: RunRecord, second: RunRecord, *, confidence: float = 0.95) -> JudgesCompared:
    """Compares the judges of one run that was opened twice, each time with another judge.

    Raises:
        FormalimgError: if these are two runs, or nobody has judged one of them.
    """
    if first.folder != second.folder:
        raise FormalimgError(
            f"{first.folder} and {second.folder} hold different images: compare judges over the images of one run"
        )
    here, there = opinions(first), opinions(second)
    if here.keys() != there.keys():
        raise FormalimgError(f"{first.folder} has grown meanwhile: compare the judges again")
    wholes = [_Pair(image, one.level, "", "", one.passed, there[image].passed) for image, one in here.items()]
    questions = [pair for image, one in here.items() for pair in _questions(image, one, there[image])]

    def agreement(pairs: Iterable[_Pair]) -> Consistency:
        chosen = list(pairs)
        answers = [(pair.first, pair.second) for pair in chosen]
        return consistency(answers, items=[pair.image.item for pair in chosen], confidence=confidence)

    def by_level(pairs: list[_Pair]) -> dict[int, Consistency]:
        levels = sorted({pair.level for pair in pairs})
        return {level: agreement(pair for pair in pairs if pair.level == level) for level in levels}

    kinds = sorted({pair.kind for pair in questions})
    scored = [(pair.first is not None, pair.second is not None) for pair in wholes]
    return JudgesCompared(
        first.folder.name,
        first.manifest.suite,
        _scores(first, here, confidence),
        _scores(second, there, confidence),
        Scored(*(scored.count(which) for which in ((True, True), (True, False), (False, True), (False, False)))),
        agreement(wholes),
        by_level(wholes),
        agreement(questions),
        {kind: agreement(pair for pair in questions if pair.kind == kind) for kind in kinds},
        by_level(questions),
        tuple(_disagreements(wholes, questions)),
        confidence,
    )


def last_two(run: StoredRun) -> tuple[Identity, Identity]:
    """The two who came last to judge a run.

    Raises:
        FormalimgError: if there are no two.
    """
    judges = run.judges()
    if len(judges) < 2:
        raise FormalimgError(
            f"{run.folder} was judged by {judges[0].name if judges else 'nobody'}"
            f"{' alone' if judges else ''}: let another judge look with `formalimg judge`, or give --votes of people"
        )
    return judges[-2], judges[-1]


def judge_named(run: StoredRun, name: str) -> Identity:
    """The judge of a run with this name, or with this number in the order in which they first judged.

    Raises:
        FormalimgError: if there is none, or more than one of the name.
    """
    judges = run.judges()
    known = ", ".join(f"{number} {judge.name}" for number, judge in enumerate(judges, 1)) or "nobody"
    if name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(judges):
        return judges[int(name) - 1]
    found = [judge for judge in judges if judge.name == name]
    if len(found) > 1:
        raise FormalimgError(f"several judges of {run.folder} are called {name}: name them by number; it has {known}")
    if not found:
        raise FormalimgError(f"no judge of {run.folder} is called {name}: it has {known}")
    return found[0]


def _questions(image: ImageName, one: Opinion, other: Opinion) -> Iterable[_Pair]:
    asked: dict[Question, None] = dict.fromkeys([*one.answers, *other.answers])
    for question in asked:
        here, there = one.answers.get(question), other.answers.get(question)
        kind = here.kind if here else there.kind if there else ""
        yield _Pair(
            image,
            one.level,
            question.words,
            kind,
            here.holds if here else None,
            there.holds if there else None,
            here.reason if here else "",
            there.reason if there else "",
        )


def _scores(run: RunRecord, said: Mapping[ImageName, Opinion], confidence: float) -> JudgeScores:
    judge = judge_of(run)
    seen = [Observation(image.item, opinion.level, opinion.passed) for image, opinion in said.items()]
    summary = summarize(seen, bands={}, epsilon=None, confidence=confidence)

    def fraction(level: int | None = None) -> Fraction:
        chosen = {image: it for image, it in said.items() if level in (None, it.level)}
        known = {image: it.score for image, it in chosen.items() if it.score is not None}
        interval = mean_interval(known.values(), confidence, items=[image.item for image in known])
        mean = sum(known.values()) / len(known) if known else None
        return Fraction(mean, _within_0_and_1(interval), len(known), len(chosen) - len(known))

    return JudgeScores(
        judge,
        summary.overall,
        summary.levels,
        fraction(),
        {level: fraction(level) for level in summary.levels},
    )


def _within_0_and_1(interval: Interval | None) -> Interval | None:
    """The interval of a share: a normal one may reach beyond what shares can be."""
    return None if interval is None else Interval(max(0.0, interval.low), min(1.0, interval.high))


def _disagreements(wholes: list[_Pair], questions: list[_Pair]) -> Iterable[Disagreement]:
    by_image: dict[ImageName, list[_Pair]] = {pair.image: [pair] for pair in wholes}
    for pair in questions:
        by_image[pair.image].append(pair)
    for pairs in by_image.values():
        for image, level, question, kind, first, second, *reasons in pairs:
            if first is not None and second is not None and first != second:
                yield Disagreement(*image, level, question, kind, first, second, *reasons)
