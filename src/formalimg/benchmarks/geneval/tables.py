"""Tables for object suites: the verdicts of each profile on the same groundings, by task, image and prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.observations import Band, Observation, Rate
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
    by_profile = _read_verdicts(run.record)
    for profile, observations in by_profile.items():
        summary = summarize(
            [observation for observation, _ in observations],
            bands=suite.bands,
            epsilon=None,
            missing=rules.missing,
            confidence=rules.confidence,
        )
        scores = [score for _, score in observations if score is not None]
        yield TableRow(
            (
                *run_cell(run.name, runs),
                profile,
                *(_estimate_cell(summary.levels.get(level)) for level in levels),
                _estimate_cell(summary.bands.get(_OVERALL)),
                _share_cell([observation.passed for observation, _ in observations]),
                _share_cell(_any_of_prompt([observation for observation, _ in observations])),
                Number(sum(scores) / len(scores)) if scores else "",
            ),
            run.name,
        )


def _read_verdicts(record: RunRecord) -> dict[str, list[tuple[Observation, float | None]]]:
    """Return each profile's verdict on every image, with its graded score if available."""
    judged = [(judged_image.outcome, judged_image.verdict) for judged_image in record.judged()]
    names = dict.fromkeys(
        name for _, verdict in judged if isinstance(verdict, Verdict) for name in _read_profiles(verdict.evidence)
    )
    by_profile: dict[str, list[tuple[Observation, float | None]]] = {name: [] for name in names}
    for outcome, verdict in judged:
        profiles = _read_profiles(verdict.evidence) if isinstance(verdict, Verdict) else {}
        for name in names:
            result = profiles.get(name, {})
            passed, score = result.get("passed"), result.get("score")
            observation = Observation(outcome.item, outcome.level, passed if isinstance(passed, bool) else None)
            by_profile[name].append((observation, float(score) if isinstance(score, int | float) else None))
    return by_profile


def _read_profiles(evidence: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Return the results by profile, ignoring malformed entries."""
    profiles = evidence.get("profiles")
    if not isinstance(profiles, Mapping):
        return {}
    return {str(name): result for name, result in profiles.items() if isinstance(result, Mapping)}


def _any_of_prompt(observations: Sequence[Observation]) -> list[bool | None]:
    """Return whether any image of each prompt passes, or None if none of its images is scored."""
    by_item: dict[str, list[bool]] = {}
    for observation in observations:
        scored = by_item.setdefault(observation.item, [])
        if observation.passed is not None:
            scored.append(observation.passed)
    return [any(scored) if scored else None for scored in by_item.values()]


def _share_cell(passed: Sequence[bool | None]) -> Cell:
    scored = [value for value in passed if value is not None]
    return Number(sum(scored) / len(scored), passed=sum(scored), scored=len(scored)) if scored else ""


def _estimate_cell(estimate: Rate | Band | None) -> Cell:
    return "" if estimate is None else Number(estimate.value, estimate.interval)
