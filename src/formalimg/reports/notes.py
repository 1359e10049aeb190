"""Captions and notes for runs side by side: how they differ, and what limits their comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from formalimg._util.text import truncate
from formalimg.benchmarks.odd_records import SKIPPED, count_odd, odd_text
from formalimg.judges.factory import DRAWN
from formalimg.reports.comparison_model import Comparison, PublishedRow, RunRow, Section, identity_text
from formalimg.reports.judge_quality import SOFT_SCORE, quality_remarks
from formalimg.reports.tables.format import (
    INCOMPLETE,
    RULES,
    count_noun,
    epsilon_text,
    format_interval,
    format_value,
    join_counts,
    join_names,
    rule_text,
)
from formalimg.runs.manifest import judge_names
from formalimg.runs.reader import StoredRun
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark, RunRecord

if TYPE_CHECKING:
    from formalimg.reports.corrected import CorrectedRun

_DETAIL_HEAD, _DETAIL_TAIL = 240, 160  # Of a long detail: what happened stands at its beginning, the remedy at its end

# --- captions


def main_caption(section: Section, comparison: Comparison, *, intervals: bool = True) -> str:
    """Return the caption of the main table: what its numbers mean, who judged, and the rules that apply."""
    suite = section.suite
    if suite.has_scores:
        levels = f" ({suite.levels_note})" if suite.levels_note else ""
        sentences = [f"{section.title}: mean scores of images, from 0 to 1{levels}"]
        rules = suite.score_rules(comparison.how) or ()
    else:
        sentences = [f"{section.title}: pass rate in percent, by {suite.level}"]
        rules = (rule_text(comparison.missing),)
    sentences += [*_extent_and_judge(section), *rules]
    if intervals:
        sentences.append(interval_note(section, comparison))
    if section.epsilon is not None:
        sentences.append(
            f"G{epsilon_text(section.epsilon)}: the largest {suite.level} up to which at least "
            f"{format_value(section.epsilon, 'percent').removesuffix('.0')} % of images pass"
        )
    return f"{'. '.join(sentences)}."


def short_caption(section: Section, comparison: Comparison) -> str:
    """Return a one-line caption of the main table: its numbers, the judge and images, and any unusual rules."""
    suite = section.suite
    measure = "mean scores of images" if suite.has_scores else f"pass rates in percent, by {suite.level}"
    judges = list(dict.fromkeys(row.manifest.judge.name for row in section.rows if row.manifest.judge))
    by = f", by {join_names(judges)}" if judges else ""
    rules = (suite.score_rules(comparison.how) or ()) if comparison.profile != "paper" else ()
    extras = [
        *dict.fromkeys(map(extent_text, section.rows)),
        f"{100 * comparison.confidence:g} % intervals",
        RULES["fail"].lower() if comparison.missing == "fail" else "",
        f"profile: {comparison.profile}" if any("profile:" in rule for rule in rules) else "",
    ]
    return f"{suite.title}: {measure}{by}. {'; '.join(filter(None, extras))}."


def list_caveats(section: Section) -> Iterator[str]:
    """Yield the limitations of a section's numbers, one line each, the most important first."""
    suite = section.suite
    texts = []
    for row in section.rows:
        if row.summary.overall.scored < row.summary.overall.expected:
            name = f"{row.name}: " if len(section.rows) > 1 else ""
            number, bounds = _headline_bounds(row, suite)
            between = f", so {number} is {format_interval(bounds, suite.scale, compact=True)}" if bounds else ""
            texts.append(f"{name}of {row.summary.overall.expected:,} images {join_counts(row.unscored)}{between}")
    if texts:
        yield f"{INCOMPLETE} {'; '.join(texts)}"
    yield from _import_sources(section)
    yield from filter(None, (_adaptive_remark(row, suite) for row in section.rows))
    yield from (note for note in section.notes if note.startswith("The "))
    if judge_alone(suite, section.rows, section.corrected):
        yield f"{_measure_name(suite)} are the judge's alone; people's labels correct them (--human)"
    yield from (note for note in section.notes if not note.startswith("The "))
    yield "Intervals cover which items and images were drawn, not errors of the judge"


def _adaptive_remark(row: RunRow, suite: Benchmark) -> str:
    if row.looks is None:
        return ""
    from formalimg.reports.adaptive_tables import adaptive_remark  # here: few runs are adaptive

    return adaptive_remark(row, row.looks, suite)


def _headline_bounds(row: RunRow, suite: Benchmark) -> tuple[str, Interval | None]:
    """Return the name of the headline rate, and its bounds over all possible missing verdicts."""
    *_, band = suite.bands or [""]
    bounds = row.bounds_of(lambda estimates: estimates.bands.get(band) if band else estimates.overall)
    return band or "the rate", None if suite.has_scores else bounds


def interval_note(section: Section, comparison: Comparison) -> str:
    """Return a note on the intervals of the main table: their confidence, what they cover, and what they do not."""
    over, units = (", over groups", "groups") if section.suite.has_scores else ("", "items")
    return (
        f"Intervals: {100 * comparison.confidence:g} %{over}; they cover which {units} and images were drawn, not "
        "errors of the judge, nor what other prompts or settings would change"
    )


def _extent_and_judge(section: Section) -> Iterator[str]:
    """Yield the number of images, and the judge if all runs have the same one."""
    yield "; ".join(dict.fromkeys(map(extent_text, section.rows)))
    judges = [row.manifest.judge for row in section.rows]
    if judges[0] is not None and judges.count(judges[0]) == len(judges):
        details = ", ".join(filter(None, (judges[0].components, judges[0].wording)))
        yield f"Judged by {judges[0].name}{f' ({details})' if details else ''}"
    yield from _import_sources(section)
    sentence = judge_alone(section.suite, section.rows, section.corrected)
    if sentence:
        yield sentence
    elif section.corrected:
        measure = _measure_name(section.suite)
        yield f"{measure} are the judge's; those corrected by human labels have tables of their own"


def judge_alone(suite: Benchmark, rows: Sequence[RunRow], corrected: Sequence[CorrectedRun]) -> str:
    """Return a note on the numbers of a judge that no human labels correct, or an empty string if there are none.

    A judge that knows what drawings show makes no errors.
    """
    judged = [row.name for row in rows if row.manifest.judge is not None and row.manifest.judge.name != DRAWN]
    alone = [name for name in judged if name not in {run.name for run in corrected}]
    if not alone:
        return ""
    names = f" of {join_names(alone)}" if len(alone) < len(judged) else ""
    return (
        f"{_measure_name(suite)}{names} are the judge's, without human labels: `formalimg report --human` corrects them"
    )


def _measure_name(suite: Benchmark) -> str:
    return "Scores" if suite.has_scores else "Rates"


def _import_sources(section: Section) -> Iterator[str]:
    """Yield the sources of imported answers of the judges that are shown."""
    sources = [
        source
        for row in section.rows
        if row.manifest.imported and row.manifest.judge is not None
        for source in row.manifest.imported.split("; ")
        if source.startswith(str(row.manifest.judge.settings.get("imported_from", "")))
    ]
    if sources:
        yield f"Answers imported from {'; '.join(dict.fromkeys(sources))}: the images are not here"


def extent_text(row: RunRow) -> str:
    """Return the number of images in a run: `20 items, 2 images of each`, or `1 to 2 images of each, 32 in all`."""
    fewest, largest = row.images_of_each
    items, images = count_noun(row.items, "item"), count_noun(largest, "image")
    if fewest == largest:
        return f"{items}, {images} of each"
    return f"{items}, {fewest} to {images} of each, {row.summary.overall.expected:,} in all"


def main_remarks(section: Section) -> list[str]:
    """Return remarks on the main table: differences between runs, unscored images, failures by rule, judge quality."""
    lines = [*section.notes, *_remarks_on_unscored(section)]
    for row in section.rows:
        lines += filter(None, [_adaptive_remark(row, section.suite)])
        if row.by_rule:
            failed = count_noun(sum(row.by_rule.values()), "image")
            lines.append(f"{row.name}: {failed} failed by rule: {join_counts(row.by_rule)}.")
        judge = row.manifest.judge
        wants_logprobs = judge is not None and bool(judge.settings.get("logprobs"))
        lines += [f"{row.name}: {line}." for line in quality_remarks(row.quality, wants_logprobs=wants_logprobs)]
    if section.ranks:
        lines.append(_rank_note(section))
    if len(section.rows) > 1 and any(row.looks for row in section.rows):
        lines.append("Beside adaptive runs there are no paired differences: looks before the end change their p.")
    if any(row.quality.soft_score for row in section.rows):
        lines.append(f"{SOFT_SCORE}.")
    return lines


def few_labels_in_common(section: Section) -> Iterator[str]:
    """Yield a note for labelled runs that have too few labelled items in common for people to decide."""
    folders = {run.name: run.folder for run in section.corrected}
    pairs = [
        f"{pair.first} and {pair.second}"
        for pair in section.pairs
        if pair.found.estimate is not None and not pair.is_by_people
        if folders.get(pair.first) != folders.get(pair.second) and {pair.first, pair.second} <= {*folders}
    ]
    if pairs:
        yield (
            f"{'; '.join(pairs)}: fewer than three items are labelled in both, so the judge decides. Label the same "
            "items with `formalimg annotate RUN RUN --for-correction`."
        )


def _rank_note(section: Section) -> str:
    from formalimg.reports.paired_runs import rows_by_judge  # here: reports of one run have no ranks

    among = ", among the runs with the same judge" if len(rows_by_judge(section.rows)) > 1 else ""
    by = " and ".join(dict.fromkeys(pair.by for pair in section.pairs))
    return (
        f"rank: {section.ranked_by} by {by}{among}, from 1 + the number of runs that are significantly better to the "
        "number that are not significantly worse; runs with several ranks are tied. Significant: the p of their paired "
        "difference, adjusted for all pairs of runs by Holm's method, is at most 0.05."
    )


def _remarks_on_unscored(section: Section) -> Iterator[str]:
    """Yield the number of unscored images with reasons, merging runs with identical remarks."""
    suite = section.suite
    names_by_remark: dict[str, list[str]] = {}
    for row in section.rows:
        if row.unscored:
            overall, (number, bounds) = row.summary.overall, _headline_bounds(row, suite)
            remark = (
                f"{overall.expected - overall.scored:,} of {count_noun(overall.expected, 'image')} unscored: "
                f"{'; '.join(_reason_texts(row))}"
            )
            if bounds is not None:
                low, high = (format_value(end, suite.scale) for end in bounds)
                remark += f"; {number} lies from {low} (all of these fail) to {high} (all pass)"
            names_by_remark.setdefault(f"{remark}.", []).append(row.name)
    for remark, names in names_by_remark.items():
        yield f"{join_names(names)}{', each' if len(names) > 1 else ''}: {remark}"


def _reason_texts(row: RunRow) -> Iterator[str]:
    """Yield each reason with its count and its most common detail."""
    for reason, count in row.unscored.items():
        text, detail = f"{count:,} {reason}", row.details.get(reason)
        if detail:
            often = "" if detail.times == count else "for example " if detail.times == 1 else "most often "
            text += f" ({often}{truncate(' '.join(detail.text.split()), _DETAIL_HEAD, _DETAIL_TAIL)})"
        yield text


# --- notes


def comparison_notes(
    runs: Sequence[RunRecord], rows: Sequence[RunRow], published: Sequence[PublishedRow]
) -> Iterator[str]:
    """Yield how the runs differ apart from their models, and other limitations of comparing their numbers."""
    if len({run.manifest.items_digest for run in runs}) > 1:
        items = [{(item.id, item.prompt, item.formula) for item in run.items.values()} for run in runs]
        counts = _by_value(rows, lambda row: f"{row.items:,}")
        same = len(set.intersection(*items))
        yield f"The runs are over different items: {counts}; {same:,} are the same in all. Compare them with care."
    yield from setting_differences(rows)
    yield from _judge_note(rows)
    if any(row.manifest.judge is not None and row.manifest.judge.name == DRAWN for row in rows):
        from formalimg.judges.drawn_judge import DRAWN_NOTE  # here, because it comes with what reads drawings

        yield f"{DRAWN_NOTE}."
    for row in rows:
        if row.manifest.judge is None:
            yield f"{row.name}: the images have not been judged yet."
    yield from _hidden_judges_note(runs, rows)
    odd = {}
    for run, row in zip(runs, rows, strict=True):
        skipped = (count for count in run.manifest.odd.split(", ") if count.startswith(f"{SKIPPED} "))
        counts = odd_text(count_odd(item.tags for item in run.items.values()))
        odd[row.name] = ", ".join(filter(None, (counts, *skipped)))
    if any(odd.values()):
        texts = _by_value([row for row in rows if odd[row.name]], lambda row: odd[row.name])
        # Published data or the user's own, in the same layout: nothing tells which.
        yield f"The items given with --items have odd records: {texts}. List them with formalimg items census --items."
    for run, row in zip(runs, rows, strict=True):
        if run.manifest.matched and isinstance(run, StoredRun):
            yield f"{row.name}: the images were made elsewhere, and matched to the items: {run.matched()}."
    if any(row.manifest.task == "layout" for row in rows):
        yield "A layout that cannot be read or leaves the canvas counts as a failure of the model."
    if published:
        sources = list(dict.fromkeys(row.source for row in published))
        same_items = all(row.manifest.origin == "authors" for row in rows)
        their_items = "on their items" if same_items else "on their items, which are others than those of the runs,"
        yield (
            f"Published numbers are as their authors gave them, {their_items} and by their judge: "
            f"{'; '.join(sources)}.{_note_on_computed(published, len(sources) > 1)}"
        )


def setting_differences(rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield each setting, other than model and judge, in which the runs differ."""
    for setting, value_of in _SETTINGS.items():
        if len({value_of(row) for row in rows}) > 1:
            yield f"The runs differ in their {setting}: {_by_value(rows, value_of)}."


_SETTINGS: dict[str, Callable[[RunRow], str]] = {
    "tasks": lambda row: row.manifest.task,
    "conditions": lambda row: row.manifest.condition or "words alone",
    "style texts": lambda row: row.manifest.style,
    "layouts": lambda row: row.manifest.layouts or "none",
    "items": lambda row: row.manifest.items_label or "own items",
    "images per item": lambda row: str(row.manifest.samples),
    "sizes of images": lambda row: f"{row.manifest.size} px",
    "seeds": lambda row: str(row.manifest.seed),
}


def _note_on_computed(published: Sequence[PublishedRow], names_source: bool) -> str:
    computed: dict[str, dict[str, None]] = {}
    for row in published:
        computed.setdefault(row.source, {}).update(dict.fromkeys(row.computed))
    by_source = {source: list(names) for source, names in computed.items() if names}
    if len({*map(tuple, by_source.values())}) == 1 and len(by_source) == len(computed):
        names_source = False
    # Sources of which the same is computed are said once.
    texts = dict.fromkeys(
        join_names(names) + (f" of {source}" if names_source else "") for source, names in by_source.items()
    )
    verb = "is" if len(texts) == 1 and all(len(names) == 1 for names in by_source.values()) else "are"
    return f" Only {join_names(list(texts))} {verb} computed from them here." if texts else ""


def _judge_note(rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield a note that the judges differ, listing them unless they are part of the run names."""
    judges = [row.manifest.judge for row in rows if row.manifest.judge]
    names = dict(zip(map(identity_text, judges), judge_names(judges), strict=True))

    def judge_of(row: RunRow) -> str:
        return names[identity_text(row.manifest.judge)] if row.manifest.judge else "none"

    if len(set(map(judge_of, rows))) > 1:
        in_names = all(row.name.endswith(f"by {judge_of(row)}") for row in rows)
        yield f"The runs differ in their judges{'' if in_names else f': {_by_value(rows, judge_of)}'}."


def _hidden_judges_note(runs: Sequence[RunRecord], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield a note on the judges whose verdicts are stored but not shown."""
    visible = {(run.folder, identity_text(run.manifest.judge)) for run in runs}
    hidden: dict[str, str] = {}
    for run, row in zip(runs, rows, strict=True):
        judges = run.judges() if isinstance(run, StoredRun) else ()
        hidden_judges = [judge for judge in judges if (run.folder, identity_text(judge)) not in visible]
        if hidden_judges:
            names = judge_names([*hidden_judges, *([row.manifest.judge] if row.manifest.judge else [])])
            hidden[row.name] = join_names(list(dict.fromkeys(names[: len(hidden_judges)])))
    if hidden:
        texts = _by_value([row for row in rows if row.name in hidden], lambda row: hidden[row.name])
        yield f"Verdicts of other judges are there, and not shown: {texts}. See all with formalimg report --judges all."


def _by_value(rows: Sequence[RunRow], value_of: Callable[[RunRow], str]) -> str:
    names_by_value: dict[str, list[str]] = {}
    for row in rows:
        names_by_value.setdefault(value_of(row), []).append(row.name)
    return "; ".join(f"{value} for {join_names(names)}" for value, names in names_by_value.items())
