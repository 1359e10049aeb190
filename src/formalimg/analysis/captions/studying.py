"""Studying the captions of a file, as ConceptMix does with those of a training set (section 4.5, appendix D.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg._util.io import atomic_write
from formalimg.analysis.captions.category import number_of
from formalimg.analysis.captions.counts import SETS, CategoryCounts
from formalimg.analysis.captions.finding import VERSION, find_mentions
from formalimg.analysis.captions.reading import Caption, read_captions
from formalimg.analysis.captions.results import LINES_FILE, TABLE_FILE, CaptionResult, ResultFiles
from formalimg.analysis.captions.study import CaptionStudy, study_json
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.models import ChatModel

STUDY_FILE = "study.json"


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
    """Find out which categories of visual concepts the captions of a file speak of.

    Without a model the words are looked up in our lexicon; the file may then be of any length. A model is asked about
    each different caption once. What it has said is kept in the folder at once, so that the same call goes on where
    it was; captions without an answer are asked about again.

    Args:
        path: one caption on each line; or `.jsonl`, `.csv`, `.tsv`.
        model: who finds the categories; our lexicon if None.
        column: where the caption is in a table; by default the first of caption, prompt and text that is there.
        limit: only the first so many captions.
        out: the folder for `study.json` and for `per_caption.jsonl` and `per_caption.csv`, which tell what was found
            in each caption.
        prompts: a folder with texts that replace ours.
        on_progress: is called now and then with the number of captions done.

    Raises:
        FormalimgError: if the file cannot be read or holds no caption, the folder holds answers to another question, or
            the model can never answer (a wrong key).
    """
    source, folder = Path(path), None if out is None else Path(out)
    _refuse_to_overwrite(source, folder)
    count = _Count(on_progress)
    captions = _some(_not_empty(read_captions(source, column=column, limit=limit), count), source)
    with ExitStack() as opened:
        if model is None:
            asked: dict[str, object] = {"lexicon": f"version {VERSION}"}
            count.files = opened.enter_context(ResultFiles(folder)) if folder else None
            for caption in captions:
                count.add(_looked_up(caption))
        else:
            from formalimg.analysis.captions.asking import Asking, asked_of, question_text  # takes asyncio and pydantic
            from formalimg.analysis.captions.kept_answers import KeptAnswers

            question = question_text(prompts)
            asked = asked_of(model, question)
            kept = KeptAnswers(folder, asked)
            opened.callback(kept.close)
            count.files = opened.enter_context(ResultFiles(folder)) if folder else None
            asking = Asking(model, question, kept)
            asking.hand_on(captions, count.add)
            count.cost = asking.cost
    study = CaptionStudy(
        str(source), asked, CategoryCounts(tuple(count.by_set)), count.empty, dict(count.unanswered), count.cost
    )
    if folder is not None:
        atomic_write(folder / STUDY_FILE, [study_json(study).encode()])
    return study


@dataclass
class _Count:
    told: Callable[[int], None]
    files: ResultFiles | None = None
    by_set: list[int] = field(default_factory=lambda: [0] * SETS)
    empty: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    cost: float | None = 0.0
    done: int = 0

    def add(self, result: CaptionResult) -> None:
        if result.found is None:
            self.unanswered[result.unanswered] += 1
        else:
            self.by_set[result.found] += 1
        if self.files is not None:
            self.files.add(result)
        self.done += 1
        self.told(self.done)


def _looked_up(caption: Caption) -> CaptionResult:
    mentions = tuple(find_mentions(caption.text))
    return CaptionResult(caption, number_of(mention.category for mention in mentions), mentions)


def _not_empty(captions: Iterator[Caption], count: _Count) -> Iterator[Caption]:
    for caption in captions:
        if caption.text:
            yield caption
        else:
            count.empty += 1


def _some(captions: Iterator[Caption], source: Path) -> Iterator[Caption]:
    """The captions, if there are any."""
    first = next(captions, None)
    if first is None:
        raise FormalimgError(f"there are no captions in {source}: give a file with at least one")
    return chain([first], captions)


def _refuse_to_overwrite(source: Path, folder: Path | None) -> None:
    for name in (LINES_FILE, TABLE_FILE):
        path = None if folder is None else folder / name
        if path is not None and path.exists() and source.exists() and path.samefile(source):
            raise FormalimgError(f"{source} would be written over by what is found in it: choose another folder")
