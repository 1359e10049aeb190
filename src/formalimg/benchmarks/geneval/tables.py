"""Tables for object suites: the verdicts of each profile on the same groundings, by task, image and prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.observations import Observation
from formalimg.stats.summary import summarize
from formalimg.types import Benchmark, RunRecord, Table, Verdict

_OVERALL = "Overall"


def object_tables(suite: Benchmark, runs: Sequence[SeenRun], rules: HowCounted) -> tuple[Table, ...]:
    """Return the profile table, without rows if no verdict includes several profiles."""
    levels = sorted({level for run in runs for level in run.summary.levels})
    rows = [row for run in runs for row in _profile_rows(suite, run, runs, levels, rules)]
    columns = (
        *run_column(runs),
        Column("profile"),
        *(
            Column(level_name(suite, level), "percent", short=level_head(suite, level), group=level_word(suite))
            for level in levels
        ),
        Column(_OVERALL, "percent", starts=True),
        Column("images", "percent", starts=True),
        Column("prompts", "percent"),
        Column("mean score", "score"),
    )
    note = (
        "All profiles judge the same boxes: official is the authors' rule, strict asks for exact numbers of boxes (as "
        "flow_grpo does), logic verifies the translated formulas. Overall is the mean of the tasks, images the share "
        "of all scored images that pass, prompts the share of prompts with an image that passes; mean score is the "
        "graded score of strict."
    )
    return (Table("profiles", "By profile", columns, tuple(rows), (note,)),)


def _profile_rows(
    suite: Benchmark, run: SeenRun, runs: Sequence[SeenRun], levels: Sequence[int], rules: HowCounted
) -> Iterator[TableRow]:
    for profile, results in _read_verdicts(run.record).items():
        observations = [observation for observation, _ in results]
        summary = summarize(
            observations, bands=suite.bands, epsilon=None, missing=rules.missing, confidence=rules.confidence
        )
        by_item: dict[str, list[bool]] = {}
        for observation in observations:
            by_item.setdefault(observation.item, []).extend([] if observation.passed is None else [observation.passed])
        scores = [score for _, score in results if score is not None]
        estimates = [*(summary.levels.get(level) for level in levels), summary.bands.get(_OVERALL)]
        yield TableRow(
            (
                *run_cell(run.name, runs),
                profile,
                *("" if estimate is None else Number(estimate.value, estimate.interval) for estimate in estimates),
                _share_cell([passed for scored in by_item.values() for passed in scored]),
                _share_cell([any(scored) for scored in by_item.values() if scored]),
                Number(sum(scores) / len(scores)) if scores else "",
            ),
            run.name,
        )


def _read_verdicts(record: RunRecord) -> dict[str, list[tuple[Observation, float | None]]]:
    judged = [(image.outcome, _read_profiles(image.verdict)) for image in record.judged()]
    by_profile: dict[str, list[tuple[Observation, float | None]]] = {
        name: [] for _, profiles in judged for name in profiles
    }
    for outcome, profiles in judged:
        for name, results in by_profile.items():
            passed, score = (profiles.get(name, {}).get(key) for key in ("passed", "score"))
            observation = Observation(outcome.item, outcome.level, passed if isinstance(passed, bool) else None)
            results.append((observation, float(score) if isinstance(score, int | float) else None))
    return by_profile


def _read_profiles(verdict: object) -> dict[str, Mapping[str, object]]:
    profiles = verdict.evidence.get("profiles") if isinstance(verdict, Verdict) else None
    if not isinstance(profiles, Mapping):
        return {}
    return {str(name): result for name, result in profiles.items() if isinstance(result, Mapping)}


def _share_cell(passed: Sequence[bool]) -> Cell:
    return Number(sum(passed) / len(passed), passed=sum(passed), scored=len(passed)) if passed else ""
