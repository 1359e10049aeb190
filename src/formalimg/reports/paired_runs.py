"""Pairwise comparison of the runs of a suite on their shared items, for both reports and the viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isclose
from pathlib import Path
from typing import NamedTuple

from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.agreement.rated_images import ImageName
from formalimg.judges.factory import DRAWN
from formalimg.reports.comparison_model import GradedImage, HowCounted, RunRow, SeenImage, SeenRun
from formalimg.reports.run_numbers import has_same_items, same_items
from formalimg.reports.tables.format import level_name
from formalimg.runs.manifest import RunManifest
from formalimg.runs.plan import judge_key
from formalimg.stats.comparison import (
    ItemMeans,
    MissingAs,
    PairedDifference,
    PairedItems,
    RankRange,
    adjust_for_all,
    group_means,
    group_name,
    is_significant,
    item_rates,
    pair_items,
    rank_ranges,
    with_missing,
)
from formalimg.stats.corrected_difference import (
    LabelledImage,
    PairedItem,
    estimate_corrected_difference,
    pair_groups,
    pair_labelled,
)
from formalimg.stats.judge_error import MEASURED_GAPS, NO_ERRORS, ErrorRates, TippingPoint, tipping_point
from formalimg.stats.observations import Observation, ScoreObservation
from formalimg.types import Benchmark

PUBLIC_GAPS = (  # How unequally judges treat models
    "On public data with human labels, the false-pass rates of one judge were measured "
    f"{100 * MEASURED_GAPS[0]:.0f}–{100 * MEASURED_GAPS[1]:.0f} points apart between models: label images to be sure "
    "(`formalimg annotate RUN RUN --for-correction`)."
)


class RunPair(NamedTuple):
    """A comparison of one number between two runs."""

    first: str  # the names of the runs; the difference is the first minus the second
    second: str
    number: str  # what is compared: a band, a level, or all of them
    # the difference that decides: by people where both runs have labels, otherwise by the judge. Its adjusted p-value
    # is corrected for all pairs, number by number
    found: PairedDifference
    by: str = ""  # who says so: `people`, or the name of the judge
    judge: PairedDifference | None = None  # the difference by the judge alone, where people decide
    # the difference that decides, with missing verdicts as failures of the first run and passes of the second, and
    # the reverse; None if none is missing. What people say of such an image is no assumption
    worst: PairedDifference | None = None
    best: PairedDifference | None = None
    # whether it would be certain on what has a verdict, and is not with the verdicts that are missing
    is_undone: bool = False
    # how unequally the judge would have to treat the two models to explain the difference; None where people decide,
    # the judge makes no errors, or the suite has scores
    tipping: TippingPoint | None = None
    # the judge's errors by its certificate, with which the tipping point was computed
    judge_errors: ErrorRates = NO_ERRORS

    @property
    def is_by_people(self) -> bool:
        """Whether human labels decide the difference."""
        return self.judge is not None

    @property
    def is_certain(self) -> bool:
        """Whether the adjusted p-value is significant."""
        return is_significant(self.found)


class PairedRuns(NamedTuple):
    """All pairwise comparisons of the runs of a suite."""

    headline: tuple[RunPair, ...]  # one for each pair: the number that runs are ranked by
    details: tuple[RunPair, ...]  # the other bands, and the levels
    # the rank of each run, from all pairs; none where no pair has items in common. Where runs are listed once for
    # each judge, the rank among those with the same judge, and None for the only one with its judge
    ranks: tuple[RankRange | None, ...]


def compare_in_pairs(
    suite: Benchmark,
    runs: Sequence[SeenRun],
    rules: HowCounted,
    baseline: Path | None,
    labels: Mapping[Path, RunLabels] | None = None,
    errors: Mapping[Path, ErrorRates] | None = None,
) -> PairedRuns:
    """Compare runs in pairs, only within the same judge if runs are listed once for each judge."""
    reader = _PairReader(runs, rules, labels or {}, of_groups=suite.has_scores)
    by_judge = rows_by_judge(runs)
    all_pairs = {pair for rows in by_judge for pair in combinations(rows, 2)}
    if not all_pairs:
        return PairedRuns((), (), ())
    visible = sorted(all_pairs)
    if baseline:
        with_baseline = _pairs_with(runs, baseline)
        visible = [pair for pair in with_baseline if any({*pair} <= {*rows} for rows in by_judge)] or visible
    paired = {pair: reader.pair(*pair) for pair in {*all_pairs, *visible}}
    numbers = _numbers_to_compare(suite, [pair.counted.items for pair in paired.values()])
    headline, *details = numbers

    def compare(name: str, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], RunPair]:
        single = [
            _compare_pair(suite, [runs[n] for n in pair], paired[pair], name, numbers[name], rules, errors or {})
            for pair in pairs
        ]
        adjusted = adjust_for_all([pair.found for pair in single])
        judged = adjust_for_all([pair.judge or pair.found for pair in single])
        return {
            rows: pair._replace(found=difference, judge=pair.judge and judge)
            for rows, pair, difference, judge in zip(pairs, single, adjusted, judged, strict=True)
        }

    # What is shown is adjusted for all that is shown; ranks need all pairs of a judge, and are adjusted for them.
    ranks: list[RankRange | None] = [None] * len(runs)
    for rows in by_judge:
        compared = compare(headline, list(combinations(rows, 2)))
        differences = {(rows.index(a), rows.index(b)): pair.found for (a, b), pair in compared.items()}
        if any(difference.estimate is not None for difference in differences.values()):
            for row, rank in zip(rows, rank_ranges(len(rows), differences, confidence=rules.confidence), strict=True):
                ranks[row] = rank
    by_number = [compare(name, visible) for name in details]
    with_estimates = [pairs for pairs in by_number if any(pair.found.estimate is not None for pair in pairs.values())]
    return PairedRuns(
        tuple(compare(headline, visible).values()),
        tuple(pairs[rows] for rows in visible for pairs in with_estimates),
        tuple(ranks) if any(ranks) else (),
    )


def rows_by_judge(runs: Sequence[SeenRun | RunRow]) -> list[list[int]]:
    """Return the positions of comparable runs: grouped by judge if a run is listed for several judges."""
    folders = {run.record.folder if isinstance(run, SeenRun) else run.folder for run in runs}
    if len(folders) == len(runs):
        return [[*range(len(runs))]]
    rows: dict[str, list[int]] = {}
    for number, run in enumerate(runs):
        judge = _manifest_of(run).judge
        rows.setdefault(judge_key(judge) if judge else "", []).append(number)
    return [*rows.values()]


def _pairs_with(runs: Sequence[SeenRun], baseline: Path) -> list[tuple[int, int]]:
    """Return each other run paired with the baseline, preferring the baseline's row by the same judge."""
    baselines = [n for n, run in enumerate(runs) if run.record.folder.resolve() == baseline.resolve()]
    return [
        (n, min(baselines, key=lambda number: runs[number].record.manifest.judge != run.record.manifest.judge))
        for n, run in enumerate(runs)
        if baselines and n not in baselines
    ]


class _ComparedNumber(NamedTuple):
    """A number to compare: the levels it averages with equal weight, all items if None, or whole groups."""

    levels: tuple[int, ...] | None = None
    of_groups: bool = False

    def by_judge(self, pair: _CountedPair, confidence: float) -> PairedDifference:
        if self.of_groups:
            return pair.items.group_difference(confidence=confidence)
        return pair.items.difference(self.levels, confidence=confidence)

    def by_people(self, pair: _CountedPair, confidence: float) -> PairedDifference | None:
        labelled = pair_groups(pair.labelled) if self.of_groups else pair.labelled
        return estimate_corrected_difference([*labelled.values()], self.levels, confidence=confidence)


def _numbers_to_compare(suite: Benchmark, paired: Sequence[PairedItems]) -> dict[str, _ComparedNumber]:
    """Return the numbers to compare by name: the one that ranks runs, then the other bands, then the levels."""
    pair_levels = [{level for level, _ in pair.differences.values()} for pair in paired if pair.differences]
    levels = sorted(set().union(*pair_levels))
    numbers: dict[str, _ComparedNumber] = {}
    if suite.has_scores:  # their bands are no means over groups
        numbers["all levels"] = _ComparedNumber(of_groups=True)
    else:
        *bands, last = suite.bands or [""]
        if last and all(levels_of_pair.issuperset(suite.bands[last]) for levels_of_pair in pair_levels):
            numbers[last] = _ComparedNumber(tuple(suite.bands[last]))
        else:  # some pair has no item at a level of it
            numbers["all items"] = _ComparedNumber()
        numbers |= {band: _ComparedNumber(tuple(suite.bands[band])) for band in bands}
    if len(levels) > 1:
        numbers |= {level_name(suite, level): _ComparedNumber((level,)) for level in levels}
    return numbers


class _CountedPair(NamedTuple):
    """Two runs paired item by item, under one rule for missing verdicts."""

    items: PairedItems  # by the judge
    labelled: Mapping[str, PairedItem]  # the same with people's labels; empty where one of the runs has none


class _Pair(NamedTuple):
    """A pair of runs under several rules for missing verdicts."""

    counted: _CountedPair  # by the rule of the report
    worst: _CountedPair | None  # as failures of the first run and passes of the second; None if none is missing
    best: _CountedPair | None  # the reverse


def _compare_pair(
    suite: Benchmark,
    runs: Sequence[SeenRun],
    pair: _Pair,
    name: str,
    number: _ComparedNumber,
    rules: HowCounted,
    errors: Mapping[Path, ErrorRates],
) -> RunPair:
    """Return the difference between two runs, by people or by the judge, without adjustment for multiple tests."""
    first, second = runs
    plain = number.by_judge(pair.counted, rules.confidence)
    judged = RunPair(first.name, second.name, name, plain, judge_text([first, second]))
    if pair.worst is not None and pair.best is not None:
        worst, best = (number.by_judge(counted, rules.confidence) for counted in (pair.worst, pair.best))
        judged = judged._replace(found=with_missing(plain, worst, best), worst=worst, best=best)
    by_people = number.by_people(pair.counted, rules.confidence)
    if by_people is not None:
        return _decide_by_people(judged, by_people, pair, number, rules.confidence)
    judged = judged._replace(is_undone=_is_undone(plain, judged.found))
    judge = first.record.manifest.judge
    if suite.has_scores or (judge is not None and judge.name == DRAWN) or not judged.found.estimate:
        return judged
    trailing, leading = sorted(_find_rate(run, name, number) for run in runs)
    certified = {errors.get(run.record.folder.resolve(), NO_ERRORS) for run in runs}
    judge_errors = certified.pop() if len(certified) == 1 else NO_ERRORS
    return judged._replace(tipping=tipping_point(leading, trailing, judge_errors), judge_errors=judge_errors)


def _decide_by_people(
    judged: RunPair, plain: PairedDifference, pair: _Pair, number: _ComparedNumber, confidence: float
) -> RunPair:
    decided = judged._replace(found=plain, by="people", judge=judged.found, worst=None, best=None)
    if pair.worst is None or pair.best is None:
        return decided
    worst, best = (number.by_people(counted, confidence) for counted in (pair.worst, pair.best))
    if worst is None or best is None:
        return decided
    difference = with_missing(plain, worst, best, is_within=True)
    # Otherwise people saw what the judge did not.
    is_open = not isclose(worst.estimate or 0, best.estimate or 0, abs_tol=1e-9)
    is_undone = is_open and _is_undone(plain, difference)
    return decided._replace(found=difference, worst=worst, best=best, is_undone=is_undone)


def _is_undone(before: PairedDifference, after: PairedDifference) -> bool:
    """Return whether missing verdicts make a significant difference insignificant."""
    return before.p is not None and before.p <= 1 - after.confidence < (after.p or 0.0)


def judge_text(runs: Sequence[SeenRun | RunRow]) -> str:
    """Return the name of the judge, or `their judges` if runs have several."""
    names = {judge.name for run in runs if (judge := _manifest_of(run).judge) is not None}
    return names.pop() if len(names) == 1 else "their judges"


def _manifest_of(run: SeenRun | RunRow) -> RunManifest:
    return run.record.manifest if isinstance(run, SeenRun) else run.manifest


def _find_rate(run: SeenRun, name: str, number: _ComparedNumber) -> float:
    summary = run.summary
    if name in summary.bands:
        return summary.bands[name].value or 0.0
    rate = summary.overall if number.levels is None else summary.levels.get(number.levels[0])
    return rate.value or 0.0 if rate is not None else 0.0


class _PairReader:
    """Reads the data for comparisons, once for each run."""

    def __init__(
        self, runs: Sequence[SeenRun], rules: HowCounted, labels: Mapping[Path, RunLabels], *, of_groups: bool
    ) -> None:
        self._runs, self._missing, self._of_groups = runs, rules.missing, of_groups
        self._labels = [labels.get(run.record.folder.resolve()) if labels else None for run in runs]
        self._whole: dict[tuple[int, MissingAs], ItemMeans] = {}

    def pair(self, first: int, second: int) -> _Pair:
        run, baseline = self._runs[first].record, self._runs[second].record
        same = None if has_same_items(run, baseline) else same_items([run, baseline])
        # An item that asks something else under the same id stays on one side, and is left out for that.
        baseline_items = None if same is None else {*same, *({*baseline.items} - same - {*run.items})}

        def count(of_first: MissingAs, of_second: MissingAs, run_items: set[str] | None) -> _CountedPair:
            items = pair_items(self._means(first, of_first, run_items), self._means(second, of_second, baseline_items))
            return _CountedPair(items, self._labelled_items((first, second), (of_first, of_second), same))

        is_missing = self._missing == "exclude" and any(
            image.counting is None if isinstance(image, GradedImage) else image.passed is None
            for number in (first, second)
            for image in self._images(number)
            if same is None or image.item in same
        )
        return _Pair(
            count(self._missing, self._missing, None),
            count("fail", "pass", same) if is_missing else None,
            count("pass", "fail", same) if is_missing else None,
        )

    def _images(self, number: int) -> Sequence[GradedImage | SeenImage]:
        return self._runs[number].graded if self._of_groups else self._runs[number].images

    def _means(self, number: int, missing: MissingAs, among: set[str] | None) -> ItemMeans:
        if among is None and (number, missing) in self._whole:
            return self._whole[number, missing]
        run = self._runs[number]
        if self._of_groups:
            graded = (image for image in run.graded if among is None or image.item in among)
            means = group_means(
                (ScoreObservation(image.group, image.level, image.sample, image.counting) for image in graded), missing
            )
        else:
            images = (image for image in run.images if among is None or image.item in among)
            means = item_rates((Observation(image.item, image.level, image.passed) for image in images), missing)
        if among is None:
            self._whole[number, missing] = means
        return means

    def _labelled_items(
        self, pair: tuple[int, int], missing: tuple[MissingAs, MissingAs], among: set[str] | None
    ) -> dict[str, PairedItem]:
        """Return the labelled items of a pair, or nothing if a run has no labels or both are the same run."""
        first, second = (self._labels[number] for number in pair)
        if first is None or second is None:
            return {}
        if len({self._runs[number].record.folder.resolve() for number in pair}) == 1:
            return {}
        is_known = not (first.assumed or second.assumed)
        by_item = first.drawn_by_item and second.drawn_by_item if is_known else None
        images = (self._labelled_images(number, rule, among) for number, rule in zip(pair, missing, strict=True))
        return pair_labelled(*images, by_item=by_item)

    def _labelled_images(
        self, number: int, missing: MissingAs, among: set[str] | None
    ) -> dict[str, list[LabelledImage]]:
        """Return the labelled images by item, or by level of each group, with scores before any gate.

        Images without a verdict are left out, or count as failures or passes, unless people labelled them.
        """
        labels = self._labels[number]
        by_item: dict[str, list[LabelledImage]] = {}
        if labels is None:
            return by_item
        for image in self._images(number):
            value = image.score if isinstance(image, GradedImage) else image.passed
            if (value is None and missing not in ("fail", "pass")) or (among is not None and image.item not in among):
                continue
            name = ImageName(image.item, image.sample)
            label = labels.scores.get(name) if self._of_groups else labels.passed.get(name)
            key = group_name(image.group, image.level) if isinstance(image, GradedImage) else image.item
            judge = float(missing == "pass") if value is None else min(1.0, float(value))
            people = None if label is None else min(1.0, float(label))
            is_assumed = value is None and people is None
            labelled = LabelledImage(image.level, judge, judge if is_assumed else people, is_assumed)
            by_item.setdefault(key, []).append(labelled)
        return by_item
