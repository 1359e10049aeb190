"""Tables of T2I-CompBench: the mean score for each task and computed profile, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from formalimg.benchmarks.t2i_compbench.composition import translated_shares
from formalimg.benchmarks.t2i_compbench.judge import COMPOSITION_PROFILES, profile_scores
from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column
from formalimg.reports.tables.format import level_head, level_name, level_word, rule_text
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.types import Benchmark, Table, Unscored, Verdict

_OVERALL = "Overall"
_HARD = "yes or no"


class _ImageScores(NamedTuple):
    """An image's scores by profile: None without a verdict, or empty if the image counts as 0."""

    level: int
    scores: Mapping[str, float] | None


def composition_tables(suite: Benchmark, runs: Sequence[SeenRun], rules: HowCounted) -> tuple[Table, ...]:
    """Return the table of mean scores, omitting runs without any."""
    read = {run.name: _read_run(run, rules) for run in runs}
    levels = sorted({image.level for images, _ in read.values() for image in images})
    rows = [
        TableRow(
            (*run_cell(run.name, runs), profile, *_mean_cells(suite, read[run.name][0], profile, levels)), run.name
        )
        for run in runs
        for profile in COMPOSITION_PROFILES
        if any(profile in (image.scores or ()) for image in read[run.name][0])
    ]
    columns = (
        *run_column(runs),
        Column("profile"),
        *(
            Column(level_name(suite, level), "score", short=level_head(suite, level), group=level_word(suite))
            for level in levels
        ),
        Column(_OVERALL, "score", starts=True),
    )
    notes = [
        "official: the published rules; official-code: the published code with its slips; logic: 1 if the formula of "
        f"the prompt holds, and else 0. {_OVERALL} is the mean of all tasks, where each has a score; the paper has "
        f"none. {rule_text(rules.missing, of_scores=True)}."
    ]
    if any(_HARD in made_of for _, made_of in read.values()):
        notes.append(
            f"{_HARD}: a judge gave no log-probabilities for some images, so that a noun phrase counts 1 or 0 there, "
            "and scores of attributes are not those of the paper's rule; use a judge whose server gives them "
            "(-J logprobs=true)."
        )
    if any(row.cells[len(run_column(runs))] == "logic" for row in rows):
        notes.append(_share_note(suite, runs))
    return (Table("compositions", "Mean scores, by profile", columns, tuple(rows), tuple(notes)),)


def _read_run(run: SeenRun, rules: HowCounted) -> tuple[list[_ImageScores], set[str]]:
    """Return the scores of the images in a run, and the sources of its noun-phrase scores."""
    images = []
    made_of: set[str] = set()
    for judged in run.record.judged():
        verdict, level = judged.verdict, judged.outcome.level
        if isinstance(verdict, Verdict):
            images.append(_ImageScores(level, profile_scores(verdict.evidence, COMPOSITION_PROFILES)))
            if isinstance(source := verdict.evidence.get("score_from"), str):
                made_of.add(source)
        else:
            is_zero = isinstance(verdict, Unscored) and rules.missing == "fail"
            images.append(_ImageScores(level, dict.fromkeys(COMPOSITION_PROFILES, 0.0) if is_zero else None))
    return images, made_of


def _mean_cells(suite: Benchmark, images: Sequence[_ImageScores], profile: str, levels: Sequence[int]) -> list[Cell]:
    means: list[Cell] = []
    by_level: dict[int, float] = {}
    for level in levels:
        group = [image for image in images if image.level == level]
        scores = [image.scores[profile] for image in group if image.scores is not None and profile in image.scores]
        if scores:
            by_level[level] = fmean(scores)
        means.append(Number(by_level.get(level), scored=len(scores), expected=len(group)) if scores else Number(None))
    whole = suite.bands.get(_OVERALL, ())
    overall = [by_level[level] for level in whole if level in by_level]
    return [*means, Number(fmean(overall) if whole and len(overall) == len(whole) else None)]


def _share_note(suite: Benchmark, runs: Sequence[SeenRun]) -> str:
    items = {item.id: item for run in runs for item in run.record.suite_items()}
    shares = translated_shares(items.values())
    counts = [f"{share.translated:,} of {share.items:,} {level_head(suite, share.level)}" for share in shares]
    translated, total = sum(share.translated for share in shares), sum(share.items for share in shares)
    share = f" ({100 * translated / total:.1f} %)" if total else ""
    return f"Our reader translated {translated:,} of {total:,} prompts{share} into formulas: {', '.join(counts)}."
