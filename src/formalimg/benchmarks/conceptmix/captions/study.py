"""Studies of the captions in a file, as in section 4.5 and appendix D.4 of ConceptMix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg._util.io import atomic_write
from formalimg._util.text import json_text, visible
from formalimg.benchmarks.conceptmix.captions.files import (
    LINES_FILE,
    MASKS,
    TABLE_FILE,
    Caption,
    CaptionResult,
    CategoryCounts,
    categories_to_mask,
    open_results,
    read_captions,
)
from formalimg.benchmarks.conceptmix.captions.mentions import VERSION, find_mentions
from formalimg.benchmarks.conceptmix.spec import CATEGORIES
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.study_tables import OwnStudy
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, TableRow
from formalimg.reports.tables.terminal import render_terminal
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

    from formalimg.benchmarks.conceptmix.captions.chat import CaptionEstimate
    from formalimg.reports.figures.svg import Figure
    from formalimg.types import ChatModel


STUDY_FILE = "study.json"


@dataclass(frozen=True)
class CaptionStudy:
    """A study of the visual-concept categories that the captions in a file mention."""

    source: str  # the file
    asked: Mapping[str, object]  # what found the categories: the lexicon, or a chat model with its settings
    counts: CategoryCounts  # of all captions that were answered
    empty: int = 0  # how many lines had no caption and were skipped
    # how many captions have no answer, by kind of reason; they are in none of the counts
    unanswered: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = 0.0  # the cost of new answers, in US dollars; None if the price is unknown

    @property
    def with_object(self) -> CategoryCounts:
        """The counts over captions that name an object, the only ones the paper includes."""
        return self.counts.having("object")

    @property
    def captions(self) -> int:
        """The number of captions, including those without an answer."""
        return self.counts.captions + sum(self.unanswered.values())

    def figures(self) -> Iterator[Figure]:
        """Return the figures of this study."""
        from formalimg.benchmarks.conceptmix.figures import caption_figures  # here: most studies are not drawn

        return caption_figures(self)


def caption_study_json(study: CaptionStudy) -> str:
    """Return a study as JSON."""
    data = {
        "source": study.source,
        "found_by": dict(study.asked),
        "captions": study.captions,
        "answered": study.counts.captions,
        "unanswered": dict(sorted(study.unanswered.items())),
        "empty_lines": study.empty,
        "cost": study.cost,
        "all": _counts_data(study.counts),
        "with_object": _counts_data(study.with_object),
    }
    return json_text(data)


def _counts_data(counts: CategoryCounts) -> dict[str, object]:
    together = {first: {second: counts.together(first, second) for second in CATEGORIES} for first in CATEGORIES}
    return {
        "captions": counts.captions,
        "mean": counts.mean,
        "sd": counts.deviation,
        "most": counts.maximum,
        "histogram": {str(size): count for size, count in enumerate(counts.histogram)},
        "share_with": {category: counts.share(count) for category, count in counts.captions_with.items()},
        "together": together,
        "share_together": {
            first: {second: counts.share(count) for second, count in row.items()} for first, row in together.items()
        },
    }


def caption_study_csv(study: CaptionStudy) -> str:
    """Return the counts of a study as CSV, one count per row."""
    lines = ["captions,table,row,column,count,share"]
    for scope, counts in (("all", study.counts), ("with_object", study.with_object)):
        rows = [("histogram", str(size), "", count) for size, count in enumerate(counts.histogram)]
        for first in CATEGORIES:
            rows += [("together", first, second, counts.together(first, second)) for second in CATEGORIES]
        for table, row, column, count in rows:
            share = counts.share(count)
            lines.append(f"{scope},{table},{row},{column},{count},{'' if share is None else format(share, '.6f')}")
    lines += [f"unanswered,{kind},,,{count}," for kind, count in sorted(study.unanswered.items())]
    return "\n".join([*lines, f"empty,lines,,,{study.empty},"]) + "\n"


def study_captions(
    path: str | Path,
    *,
    model: ChatModel | None = None,
    column: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    prompts: Path | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> CaptionStudy:
    """Count the visual-concept categories that the captions in a file mention.

    Without a model the words are looked up in a lexicon; the file may then be of any length. A model is asked about
    each distinct caption once. Its answers are stored in the folder at once, so that the same call resumes where it
    stopped; captions without an answer are tried again.

    Args:
        path: one caption on each line; or `.jsonl`, `.csv`, `.tsv`.
        model: the model that finds the categories; the lexicon if None.
        column: the column of the caption in a table; by default the first of caption, prompt and text.
        limit: the maximum number of captions.
        out: the folder for `study.json`, and for `per_caption.jsonl` and `per_caption.csv` with the result of each
            caption.
        prompts: a folder with prompts that replace the built-in ones.
        on_progress: is called now and then with the number of captions done.

    Raises:
        FormalimgError: if the file cannot be read or holds no caption, the folder holds answers of another model or
            prompt, or the model can never answer (a wrong key).
    """
    source, folder = Path(path), None if out is None else Path(out)
    for results in (folder / LINES_FILE, folder / TABLE_FILE) if folder is not None else ():
        if results.exists() and source.exists() and results.samefile(source):
            raise FormalimgError(f"{source} would be overwritten by the results: choose another folder")
    tally = _CaptionTally(on_progress)
    captions = tally.skip_empty(read_captions(source, column=column, limit=limit))
    first = next(captions, None)
    if first is None:
        raise FormalimgError(f"there are no captions in {source}: give a file with at least one")
    captions = chain([first], captions)
    with ExitStack() as stack:
        if model is None:
            settings: dict[str, object] = {"lexicon": f"version {VERSION}"}
            tally.write = stack.enter_context(open_results(folder)) if folder else None
            for caption in captions:
                mentions = tuple(find_mentions(caption.text))
                mask = categories_to_mask(mention.category for mention in mentions)
                tally.add(CaptionResult(caption, mask, mentions))
        else:
            from formalimg.benchmarks.conceptmix.captions.chat import (  # takes asyncio and pydantic
                CaptionAnswerCache,
                CaptionClassifier,
                classifier_settings,
                load_question,
            )

            question = load_question(prompts)
            settings = classifier_settings(model, question)
            cache = stack.enter_context(closing(CaptionAnswerCache(folder, settings)))
            tally.write = stack.enter_context(open_results(folder)) if folder else None
            classifier = CaptionClassifier(model, question, cache)
            classifier.classify(captions, tally.add)
            tally.cost = classifier.cost
    counts = CategoryCounts(tuple(tally.by_set))
    study = CaptionStudy(str(source), settings, counts, tally.empty, dict(tally.unanswered), tally.cost)
    if folder is not None:
        atomic_write(folder / STUDY_FILE, [caption_study_json(study).encode()])
    return study


@dataclass
class _CaptionTally:
    """Counts incoming results and writes them to files."""

    on_progress: Callable[[int], None]
    write: Callable[[CaptionResult], None] | None = None
    by_set: list[int] = field(default_factory=lambda: [0] * MASKS)
    empty: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    cost: float | None = 0.0

    def skip_empty(self, captions: Iterator[Caption]) -> Iterator[Caption]:
        for caption in captions:
            self.empty += not caption.text
            if caption.text:
                yield caption

    def add(self, result: CaptionResult) -> None:
        if result.mask is None:
            self.unanswered[result.unanswered] += 1
        else:
            self.by_set[result.mask] += 1
        if self.write is not None:
            self.write(result)
        self.on_progress(sum(self.by_set) + self.unanswered.total())


_MAX_BAR = 40  # The length of the longest bar


def caption_study_table(study: CaptionStudy) -> ConsoleRenderable:
    """Return a caption study as a `rich` renderable."""
    from rich.console import Group
    from rich.text import Text

    lines = [
        Text(visible(line, one_line=True), style="" if number else "bold")
        for number, line in enumerate(_summary_lines(study))
    ]
    return Group(*lines, Text(), render_terminal(_build_tables(study)))


def _summary_lines(study: CaptionStudy) -> Iterator[str]:
    finder = study.asked.get("model") or f"the lexicon, {study.asked['lexicon']}"
    yield f"{count_noun(study.captions, 'caption')} of {study.source}, by {finder}"
    for counts, subject in ((study.counts, "a caption"), (study.with_object, "a caption that names an object")):
        if counts.mean is not None:
            spread = "" if counts.deviation is None else f" ± {counts.deviation:.2f}"
            yield f"{counts.mean:.2f}{spread} categories in {subject}, {counts.maximum} at most ({counts.captions:,})"
    if study.empty:
        yield f"{count_noun(study.empty, 'empty line')} skipped"
    for kind, count in sorted(study.unanswered.items()):
        yield f"{count_noun(count, 'caption')} without an answer ({kind}): in none of the figures below"


def _build_tables(study: CaptionStudy) -> Iterator[Table]:
    counts, with_object = study.counts, study.with_object
    captions, longest = Column("captions", "count"), max(counts.histogram) or 1
    yield Table(
        "histogram",
        "Categories per caption",
        (Column("categories"), captions, Column("share", "percent", unit="%"), Column("")),
        tuple(
            TableRow((str(size), count, counts.share(count), "█" * round(_MAX_BAR * count / longest)))
            for size, count in enumerate(counts.histogram)
        ),
    )
    of_those = Column("of those with an object", "percent", unit="%")
    yield Table(
        "categories",
        "Captions per category",
        (Column("category"), captions, Column("share", "percent", unit="%"), of_those),
        tuple(
            TableRow((name, count, counts.share(count), with_object.share(with_object.together(name, name))))
            for name, count in counts.captions_with.items()
        ),
    )
    yield Table(
        "together",
        "Captions with both categories",
        (Column("together"), *(Column(second, "count") for second in CATEGORIES)),
        tuple(TableRow((first, *(counts.together(first, second) for second in CATEGORIES))) for first in CATEGORIES),
    )


def _estimate_study(path: Path, model: ChatModel, **options: Any) -> CaptionEstimate:
    from formalimg.benchmarks.conceptmix.captions.chat import estimate_caption_study  # takes asyncio and pydantic

    return estimate_caption_study(path, model, **options)


CAPTIONS = OwnStudy(
    study_captions,
    lambda study, format: caption_study_json(study) if format == "json" else caption_study_csv(study),  # noqa: A006
    caption_study_table,
    lambda path, **options: sum(bool(caption.text) for caption in read_captions(path, **options)),
    _estimate_study,
)
"""The study behind `formalimg items captions`."""
