"""Names, captions and notes of runs side by side: what tells them apart, and what limits a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from formalimg._util.text import truncate
from formalimg.benchmarks.odd_records import SKIPPED, count_odd, odd_text
from formalimg.judges.factory import DRAWN
from formalimg.reports.comparison_model import Comparison, PublishedRow, RunRow, Section, name_with_task
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
from formalimg.runs.database import PlannedItem
from formalimg.runs.manifest import Identity, RunManifest, judge_names
from formalimg.runs.reader import StoredRun
from formalimg.types import Benchmark, RunRecord

if TYPE_CHECKING:
    from formalimg.reports.corrected import CorrectedRun

_DETAIL_HEAD, _DETAIL_TAIL = 240, 160
"""Characters of a long detail that are shown: what happened stands at its beginning, what to do at its end."""

# --- names


def identity_text(identity: Identity | None) -> str:
    """Return a model or judge with all its settings, such as `icons (judging_rules=1)`; `none` if there is none."""
    if identity is None:
        return "none"
    settings = settings_text(identity.settings)
    return f"{identity.name} ({settings})" if settings else identity.name


def settings_text(settings: Mapping[str, object]) -> str:
    """Return settings by name, such as `guidance=3.5, steps=20`."""
    return ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))


def run_names(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return a name for each run: its model, and as many of its settings as it takes to make the name unique."""
    names = [_model_and_task(run.manifest) for run in runs]
    for aspect in (_differing_settings, *_ASPECTS):
        for name in sorted(set(names)):
            alike = [number for number, other in enumerate(names) if other == name]
            if len(alike) > 1:
                found = aspect([runs[number] for number in alike])
                if len(set(found)) > 1:
                    for number, text in zip(alike, found, strict=True):
                        names[number] = ", ".join(filter(None, [name, text]))
    repeated = {name for name in names if names.count(name) > 1}
    return tuple(
        f"{name} ({names[: number + 1].count(name)})" if name in repeated else name for number, name in enumerate(names)
    )


def _model_and_task(manifest: RunManifest) -> str:
    return name_with_task(manifest.model.name, manifest.task, manifest.condition)


def _differing_settings(runs: Sequence[RunRecord]) -> list[str]:
    settings = [run.manifest.model.settings for run in runs]
    keys = sorted({key for one in settings for key in one})
    differing = [key for key in keys if len({repr(one.get(key)) for one in settings}) > 1]
    return [" ".join(f"{key}={one[key]}" for key in differing if key in one) for one in settings]


def _differing_judges(runs: Sequence[RunRecord]) -> list[str]:
    """Return who judged; where judges of one name differ, in which setting."""
    names = iter(judge_names([run.manifest.judge for run in runs if run.manifest.judge]))
    return [f"by {next(names)}" if run.manifest.judge else "not judged" for run in runs]


def _aspect(text_of: Callable[[RunManifest], str]) -> Callable[[Sequence[RunRecord]], list[str]]:
    return lambda runs: [text_of(run.manifest) for run in runs]


_ASPECTS: tuple[Callable[[Sequence[RunRecord]], list[str]], ...] = (
    _aspect(lambda manifest: f"layouts by {manifest.layouts.partition(' sha256')[0]}" if manifest.layouts else ""),
    _aspect(lambda manifest: f"{manifest.style} style text" if manifest.style != "none" else "no style text"),
    _differing_judges,
    _aspect(lambda manifest: f"{manifest.size} px"),
    _aspect(lambda manifest: f"seed {manifest.seed}"),
    lambda runs: [run.folder.name for run in runs],
)

# --- captions


def caption(section: Section, comparison: Comparison, *, intervals: bool = True) -> str:
    """Return the caption of the main table: what its numbers are, who judged, and by which rules they were made."""
    sentences = _score_caption if section.suite.has_scores else _rate_caption
    return f"{'. '.join(sentences(section, comparison, interval_note(section, comparison) if intervals else ''))}."


def short_caption(section: Section, comparison: Comparison) -> str:
    """Return in one line what the numbers of the main table are, who judged which images, and unusual rules."""
    suite = section.suite
    of_what = "mean scores of images" if suite.has_scores else f"pass rates in percent, by {suite.level}"
    judges = list(dict.fromkeys(row.manifest.judge.name for row in section.rows if row.manifest.judge))
    by = f", by {join_names(judges)}" if judges else ""
    rules = (suite.score_rules(comparison.how) or ()) if comparison.profile != "paper" else ()
    extras = [
        *dict.fromkeys(map(extent, section.rows)),
        f"{100 * comparison.confidence:g} % intervals",
        RULES["fail"].lower() if comparison.missing == "fail" else "",
        f"profile: {comparison.profile}" if any("profile:" in rule for rule in rules) else "",
    ]
    return f"{suite.title}: {of_what}{by}. {'; '.join(filter(None, extras))}."


def caveats(section: Section) -> Iterator[str]:
    """Yield in a line each what limits the numbers of a section, the most important first."""
    missing = [row for row in section.rows if row.summary.overall.scored < row.summary.overall.expected]
    if missing:
        texts = [_missing_text(row, section.suite) for row in missing]
        named = [f"{row.name}: {text}" for row, text in zip(missing, texts, strict=True)]
        yield f"{INCOMPLETE} {'; '.join(named if len(section.rows) > 1 else texts)}"
    yield from _sources(section)
    for row in section.rows:
        if row.looks is not None:
            from formalimg.reports.adaptive_tables import adaptive_remark  # here: few runs are adaptive

            yield adaptive_remark(row, row.looks, section.suite)
    yield from (note for note in section.notes if note.startswith("The "))
    if judge_alone(section.suite, section.rows, section.corrected):
        yield f"{_measure(section.suite)} are the judge's alone; people's labels correct them (--human)"
    yield from (note for note in section.notes if not note.startswith("The "))
    yield "Intervals cover which items and images were drawn, not errors of the judge"


def _missing_text(row: RunRow, suite: Benchmark) -> str:
    """Return how many images of a run have no verdict, and between which values that leaves its headline number."""
    overall, (*_, band) = row.summary.overall, suite.bands or [""]
    bounds = None if suite.has_scores else row.band_bounds(band) if band else row.overall_bounds()
    between = f", so {band or 'the rate'} is {format_interval(bounds, suite.scale, compact=True)}" if bounds else ""
    return f"of {overall.expected:,} images {join_counts(row.unscored)}{between}"


def interval_note(section: Section, comparison: Comparison) -> str:
    """Return what the intervals of the main table are, what they cover, and what they do not."""
    over, drawn = (", over groups", "groups") if section.suite.has_scores else ("", "items")
    return (
        f"Intervals: {100 * comparison.confidence:g} %{over}; they cover which {drawn} and images were drawn, not "
        "errors of the judge, nor what other prompts or settings would change"
    )


def _rate_caption(section: Section, comparison: Comparison, intervals: str) -> Iterator[str]:
    yield f"{section.title}: pass rate in percent, by {section.suite.level}"
    yield from _extent_and_judge(section)
    yield rule_text(comparison.missing)
    if intervals:
        yield intervals
    if section.epsilon is not None:
        yield (
            f"G{epsilon_text(section.epsilon)}: the largest {section.suite.level} up to which at least "
            f"{format_value(section.epsilon, 'percent').removesuffix('.0')} % of images pass"
        )


def _score_caption(section: Section, comparison: Comparison, intervals: str) -> Iterator[str]:
    what = f" ({section.suite.levels_note})" if section.suite.levels_note else ""
    yield f"{section.title}: mean scores of images, from 0 to 1{what}"
    yield from _extent_and_judge(section)
    yield from section.suite.score_rules(comparison.how) or ()
    if intervals:
        yield intervals


def _extent_and_judge(section: Section) -> Iterator[str]:
    """Yield how many images there are, and who judged; where judges differ, the notes say so."""
    yield "; ".join(dict.fromkeys(map(extent, section.rows)))
    judges = [row.manifest.judge for row in section.rows]
    if judges[0] is not None and judges.count(judges[0]) == len(judges):
        details = ", ".join(filter(None, (judges[0].components, judges[0].wording)))
        yield f"Judged by {judges[0].name}{f' ({details})' if details else ''}"
    yield from _sources(section)
    alone = judge_alone(section.suite, section.rows, section.corrected)
    if alone:
        yield alone
    elif section.corrected:
        yield f"{_measure(section.suite)} are the judge's; those corrected by human labels have tables of their own"


def judge_alone(suite: Benchmark, rows: Sequence[RunRow], corrected: Sequence[CorrectedRun]) -> str:
    """Return whose numbers are those of a judge that no human labels correct; empty if there are none.

    A judge that knows what drawings show makes no errors.
    """
    judged = [row.name for row in rows if row.manifest.judge is not None and row.manifest.judge.name != DRAWN]
    alone = [name for name in judged if name not in {run.name for run in corrected}]
    if not alone:
        return ""
    of = f" of {join_names(alone)}" if len(alone) < len(judged) else ""
    return f"{_measure(suite)}{of} are the judge's, without human labels: `formalimg report --human` corrects them"


def _measure(suite: Benchmark) -> str:
    return "Scores" if suite.has_scores else "Rates"


def _sources(section: Section) -> Iterator[str]:
    """Yield where imported answers come from: those of the judges that are shown."""
    found = [
        source
        for row in section.rows
        if row.manifest.imported and row.manifest.judge is not None
        for source in row.manifest.imported.split("; ")
        if source.startswith(str(row.manifest.judge.settings.get("imported_from", "")))
    ]
    if found:
        yield f"Answers imported from {'; '.join(dict.fromkeys(found))}: the images are not here"


def extent(row: RunRow) -> str:
    """Return how many images a run has: `20 items, 2 images of each`, or `1 to 2 images of each, 32 in all`."""
    fewest, most = row.images_of_each
    if fewest == most:
        return f"{count_noun(row.items, 'item')}, {count_noun(most, 'image')} of each"
    return (
        f"{count_noun(row.items, 'item')}, {fewest} to {count_noun(most, 'image')} of each, "
        f"{row.summary.overall.expected:,} in all"
    )


def remarks(section: Section) -> list[str]:
    """Return remarks on the main table: how runs differ, what is unscored, what failed by rule, how judges did."""
    found = [*section.notes, *_unscored_remarks(section)]
    for row in section.rows:
        if row.looks is not None:
            from formalimg.reports.adaptive_tables import adaptive_remark  # here: few runs are adaptive

            found.append(adaptive_remark(row, row.looks, section.suite))
        if row.by_rule:
            failed = count_noun(sum(row.by_rule.values()), "image")
            found.append(f"{row.name}: {failed} failed by rule: {join_counts(row.by_rule)}.")
        judge = row.manifest.judge
        asked = judge is not None and bool(judge.settings.get("logprobs"))
        found += [f"{row.name}: {remark}." for remark in quality_remarks(row.quality, wants_logprobs=asked)]
    if section.ranks:
        found.append(_note_on_ranks(section))
    if len(section.rows) > 1 and any(row.looks for row in section.rows):
        found.append("Beside adaptive runs there are no paired differences: looks before the end change their p.")
    if any(row.quality.soft_score for row in section.rows):
        found.append(f"{SOFT_SCORE}.")
    return found


def few_labels_in_common(section: Section) -> Iterator[str]:
    """Yield a note on runs that are both labelled, and on too few common items for people to decide."""
    folders = {run.name: run.folder for run in section.corrected}
    apart = [
        f"{pair.first} and {pair.second}"
        for pair in section.pairs
        if pair.found.estimate is not None and not pair.is_by_people
        if folders.get(pair.first) != folders.get(pair.second) and {pair.first, pair.second} <= {*folders}
    ]
    if apart:
        yield (
            f"{'; '.join(apart)}: fewer than three items are labelled in both, so the judge decides. Label the same "
            "items with `formalimg annotate RUN RUN --for-correction`."
        )


def _note_on_ranks(section: Section) -> str:
    from formalimg.reports.paired_runs import rows_by_judge  # here: reports of one run have no ranks

    who = ", among the runs with the same judge" if len(rows_by_judge(section.rows)) > 1 else ""
    by = " and ".join(dict.fromkeys(pair.by for pair in section.pairs))
    return (
        f"rank: {section.ranked_by} by {by}{who}, from 1 + the number of runs that are significantly better to the "
        "number that are not significantly worse; runs with several ranks are tied. Significant: the p of their paired "
        "difference, adjusted for all pairs of runs by Holm's method, is at most 0.05."
    )


def _unscored_remarks(section: Section) -> Iterator[str]:
    """Yield how many images are unscored and why; what is the same for several runs is said once."""
    named: dict[str, list[str]] = {}
    for row in section.rows:
        if row.unscored:
            overall = row.summary.overall
            missing = f"{overall.expected - overall.scored:,} of {count_noun(overall.expected, 'image')}"
            remark = f"{missing} unscored: {_reasons(row)}{_headline_bounds(row, section.suite)}."
            named.setdefault(remark, []).append(row.name)
    for remark, names in named.items():
        yield f"{join_names(names)}{', each' if len(names) > 1 else ''}: {remark}"


def _headline_bounds(row: RunRow, suite: Benchmark) -> str:
    """Return between which values the headline rate lies, whatever the unscored images show."""
    *_, band = suite.bands or [""]
    bounds = row.band_bounds(band) if band else row.overall_bounds()
    if suite.has_scores or bounds is None:
        return ""
    low, high = (format_value(end, suite.scale) for end in bounds)
    return f"; {band or 'the rate'} lies from {low} (all of these fail) to {high} (all pass)"


def _reasons(row: RunRow) -> str:
    """Return each reason with its count and the most common of its details."""
    found = []
    for reason, count in row.unscored.items():
        detail = row.details.get(reason)
        often = (
            "" if detail is None or detail.times == count else "for example " if detail.times == 1 else "most often "
        )
        text = truncate(" ".join(detail.text.split()), _DETAIL_HEAD, _DETAIL_TAIL) if detail else ""
        found.append(f"{count:,} {reason}" + (f" ({often}{text})" if detail else ""))
    return "; ".join(found)


# --- notes


def comparison_notes(
    runs: Sequence[RunRecord], rows: Sequence[RunRow], published: Sequence[PublishedRow]
) -> Iterator[str]:
    """Yield how the runs differ besides their models, and what else limits a comparison of their numbers."""
    if len({run.manifest.items_digest for run in runs}) > 1:
        shared = len(set.intersection(*({_item_key(item) for item in run.items.values()} for run in runs)))
        counts = _by_value(rows, lambda row: f"{row.items:,}")
        yield f"The runs are over different items: {counts}; {shared:,} are the same in all. Compare them with care."
    yield from setting_differences(rows)
    yield from _note_on_judges(rows)
    if any(row.manifest.judge is not None and row.manifest.judge.name == DRAWN for row in rows):
        from formalimg.judges.drawn_judge import DRAWN_NOTE  # here, because it comes with what reads drawings

        yield f"{DRAWN_NOTE}."
    for row in rows:
        if row.manifest.judge is None:
            yield f"{row.name}: the images have not been judged yet."
    yield from _note_on_hidden_judges(runs, rows)
    odd = {row.name: _odd_among_items(run) for run, row in zip(runs, rows, strict=True)}
    if any(odd.values()):
        found = _by_value([row for row in rows if odd[row.name]], lambda row: odd[row.name])
        # Published data or the user's own, in the same layout: nothing tells which.
        yield f"The items given with --items have odd records: {found}. List them with formalimg items census --items."
    for run, row in zip(runs, rows, strict=True):
        if run.manifest.matched and isinstance(run, StoredRun):
            yield f"{row.name}: the images were made elsewhere, and matched to the items: {run.matched()}."
    if any(row.manifest.task == "layout" for row in rows):
        yield "A layout that cannot be read or leaves the canvas counts as a failure of the model."
    if published:
        sources = list(dict.fromkeys(row.source for row in published))
        theirs = all(row.manifest.origin == "authors" for row in rows)
        items = "on their items" if theirs else "on their items, which are others than those of the runs,"
        yield (
            f"Published numbers are as their authors gave them, {items} and by their judge: "
            f"{'; '.join(sources)}.{_note_on_computed(published, len(sources) > 1)}"
        )


def setting_differences(rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield each setting in which runs differ besides their models and judges."""
    for what, value_of in _DIFFERENCES.items():
        if len({value_of(row) for row in rows}) > 1:
            yield f"The runs differ in their {what}: {_by_value(rows, value_of)}."


def _odd_among_items(run: RunRecord) -> str:
    """Return the odd records among the items of a run, and how many of the data were skipped."""
    skipped = (count for count in run.manifest.odd.split(", ") if count.startswith(f"{SKIPPED} "))
    return ", ".join(filter(None, (odd_text(count_odd(item.tags for item in run.items.values())), *skipped)))


def _note_on_computed(published: Sequence[PublishedRow], names_source: bool) -> str:
    """Return which numbers beside published ones were not printed, but computed from the others."""
    computed: dict[str, dict[str, None]] = {}
    for row in published:
        computed.setdefault(row.source, {}).update(dict.fromkeys(row.computed))
    found = {source: list(names) for source, names in computed.items() if names}
    if len({*map(tuple, found.values())}) == 1 and len(found) == len(computed):
        names_source = False
    # Sources of which the same is computed are said once.
    texts = dict.fromkeys(
        join_names(names) + (f" of {source}" if names_source else "") for source, names in found.items()
    )
    verb = "is" if len(texts) == 1 and all(len(names) == 1 for names in found.values()) else "are"
    return f" Only {join_names(list(texts))} {verb} computed from them here." if texts else ""


def _note_on_judges(rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield that judges differ; and who judged which run, unless the names of the runs say it."""
    judges = [row.manifest.judge for row in rows if row.manifest.judge]
    names = dict(zip(map(identity_text, judges), judge_names(judges), strict=True))

    def judge_of(row: RunRow) -> str:
        return names[identity_text(row.manifest.judge)] if row.manifest.judge else "none"

    if len(set(map(judge_of, rows))) > 1:
        is_known = all(row.name.endswith(f"by {judge_of(row)}") for row in rows)
        yield f"The runs differ in their judges{'' if is_known else f': {_by_value(rows, judge_of)}'}."


def _note_on_hidden_judges(runs: Sequence[RunRecord], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield whose verdicts are stored but not shown: a run shows those of one judge."""
    shown = {(run.folder, identity_text(run.manifest.judge)) for run in runs}
    hidden: dict[str, str] = {}
    for run, row in zip(runs, rows, strict=True):
        others = [
            judge
            for judge in (run.judges() if isinstance(run, StoredRun) else ())
            if (run.folder, identity_text(judge)) not in shown
        ]
        if others:
            names = judge_names([*others, *([row.manifest.judge] if row.manifest.judge else [])])
            hidden[row.name] = join_names(list(dict.fromkeys(names[: len(others)])))
    if hidden:
        found = _by_value([row for row in rows if row.name in hidden], lambda row: hidden[row.name])
        yield f"Verdicts of other judges are there, and not shown: {found}. See all with formalimg report --judges all."


def _item_key(item: PlannedItem) -> tuple[str, str, str]:
    return item.id, item.prompt, item.formula


_DIFFERENCES: dict[str, Callable[[RunRow], str]] = {
    "tasks": lambda row: row.manifest.task,
    "conditions": lambda row: row.manifest.condition or "words alone",
    "style texts": lambda row: row.manifest.style,
    "layouts": lambda row: row.manifest.layouts or "none",
    "items": lambda row: row.manifest.items_label or "own items",
    "images per item": lambda row: str(row.manifest.samples),
    "sizes of images": lambda row: f"{row.manifest.size} px",
    "seeds": lambda row: str(row.manifest.seed),
}


def _by_value(rows: Sequence[RunRow], value_of: Callable[[RunRow], str]) -> str:
    """Return each value once, with the runs that have it."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(value_of(row), []).append(row.name)
    return "; ".join(f"{value} for {join_names(those)}" for value, those in names.items())
