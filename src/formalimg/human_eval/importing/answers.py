"""Import of files of answers to the questions of items as runs, one per image model or a single run for all.

Our own table (CSV, TSV, JSON Lines or JSON) has `item`, `question` (its id, or its words), `answer`, and optionally
`model` and `sample`. Other names for the same are known (`ANSWER_NAMES`). Files of a published benchmark are known by
their columns (`ANSWER_FORMATS`), and bring the rule by which its authors read answers.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from formalimg._util.io import refuse_special_file
from formalimg._util.record_files import TableRecord, iterate_table
from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import QuestionSpec, Zeroing
from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError
from formalimg.judges.question_judge import graph_verdict
from formalimg.runs.config import run_name
from formalimg.runs.manifest import Identity
from formalimg.runs.records import ImportedImage, write_imported_run
from formalimg.types import Item, Part, Setting, Unscored, Verdict

OtherAnswers: TypeAlias = Literal["no", "unscored"]
"""What an answer counts as that is neither yes nor no: no, as in the code of DSG; or its image is unscored."""

ANSWER_NAMES = {
    "model": ("model", "t2i_model", "image_model", "generator"),
    "item": ("item", "item_id", "prompt_id", "image_id"),
    "sample": ("sample", "sample_id"),
    "id": ("question_id", "proposition_id", "qid"),
    "question": ("question", "question_natural_language", "question_text"),
    "answer": ("answer", "response", "prediction"),
}
"""The names under which each field of an answer is found, the first that is there."""

_FIRST_ROWS = 100  # How many rows tell which columns a file has
_MAX_SAMPLE, _MAX_NAME, _MAX_ANSWER = 10_000, 100, 900
_YES_OR_NO = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)
_AS_NUMBER = {"1": True, "1.0": True, "0": False, "0.0": False}


class AnswerFormat(NamedTuple):
    """The answer file format of a benchmark."""

    name: str  # the benchmark
    columns: frozenset[str]  # the fields that its files have, and others do not
    other_answers: OtherAnswers  # what its code makes of an answer that is neither yes nor no
    # whether a model may have answered some splits of the items only: those are then the items of its run
    by_split: bool = False


OWN = AnswerFormat("own table", frozenset(), "unscored")
DSG_ANSWERS = AnswerFormat(
    "DSG-1k", frozenset({"dsg_prompt_split", "t2i_model", "item_id", "question_id", "answer"}), "no", by_split=True
)
"""The released answers of VQA models; their column of dependencies is damaged and not read."""

ANSWER_FORMATS: tuple[AnswerFormat, ...] = (DSG_ANSWERS,)
"""The formats that are known; the first whose columns are all there counts."""


class ImportedReply(NamedTuple):
    """An answer as recorded in a file."""

    model: str  # the image model; empty if the file names none
    item: str  # the item
    sample: int  # which of the item's images by this model, from 0
    question: str  # the id of the question; empty if the file has its words only
    words: str  # the words of the question; empty if the file has its id only
    text: str  # the answer


@dataclass(frozen=True)
class AnswerTable:
    """The answers in a file, which is read again on each iteration because it may contain millions of rows."""

    path: Path  # the file
    format: AnswerFormat  # its format

    def replies(self) -> Iterator[ImportedReply | None]:
        """Yield the answers, and None for each unreadable record."""
        unread = 0

        def skip(position: str, reason: str) -> None:
            nonlocal unread
            unread += 1

        for row in iterate_table(self.path, skip):
            yield _parse_reply(row)
        yield from repeat(None, unread)


def read_answers(path: str | Path) -> AnswerTable:
    """Open a file of answers as a table."""
    path = Path(path)
    first = islice(iterate_table(path, lambda position, reason: None), _FIRST_ROWS)
    columns = {name for row in first for name in row.fields}
    table = AnswerTable(
        path, next((known_format for known_format in ANSWER_FORMATS if known_format.columns <= columns), OWN)
    )
    if all(reply is None for reply in table.replies()):
        raise FormalimgError(f"{path} holds no answers: give a table with item, model, sample, question and answer")
    return table


def read_reply(text: str) -> bool | None:
    """Parse a yes/no answer; None if it is neither."""
    match = _YES_OR_NO.match(text)
    return match.group(1).lower() in ("yes", "true") if match else _AS_NUMBER.get(text.strip())


def read_sample(row: TableRecord, names: Sequence[str]) -> int | None:
    """Return the sample number of a record, 0 if the field is absent; None if it is invalid."""
    text = row.text(tuple(names)) or "0"
    digits = text.lstrip("0") or "0"
    is_sample = text.isascii() and text.isdigit() and len(digits) < 9 and int(digits) <= _MAX_SAMPLE
    return int(digits) if is_sample else None


def read_name(row: TableRecord, names: Sequence[str]) -> str:
    """Return the name of a model or rater, truncated for storage and display; empty if there is none."""
    return truncate(row.text(tuple(names)), _MAX_NAME, 20)


def find_item(name: str, ids: Collection[str]) -> str:
    """Return the id of the item to which a name in a file refers, normalising unusual names such as `a b` to `a-b`."""
    return name if name in ids else free_name(name, ())


def describe_source(path: Path) -> str:
    """Return the name, digest and import date of a file: `mplug.csv (sha256 0123456789ab), 2026-01-31`."""
    return f"{file_mark(path)}, {datetime.now(UTC):%Y-%m-%d}"


def file_mark(path: Path) -> str:
    """Return the name of a file with a shortened digest that distinguishes it from other files."""
    name = truncate(path.name, 80, 20).replace(";", "_")
    try:
        refuse_special_file(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror or error}: check the path") from error
    return f"{name} (sha256 {digest[:12]})"


def _parse_reply(row: TableRecord) -> ImportedReply | None:
    item, sample = row.text(ANSWER_NAMES["item"]), read_sample(row, ANSWER_NAMES["sample"])
    number, words = row.text(ANSWER_NAMES["id"]), row.text(ANSWER_NAMES["question"])
    if not item or sample is None or not (number or words):
        return None
    answer = row.first(ANSWER_NAMES["answer"])
    text = ("yes" if answer else "no") if isinstance(answer, bool) else str(answer) if answer is not None else ""
    return ImportedReply(
        read_name(row, ANSWER_NAMES["model"]), item, sample, number, words, truncate(text, _MAX_ANSWER, 100)
    )


_MODEL = "imported"  # The image model of answers that name none
_MAX_SHOWN, _MAX_GIVEN_NAME = 60, 120
MAX_MODELS = 200  # The most image models of a file; each is a run
MAX_IMAGES = 500_000  # The most images of a file, answered or not
_TOO_MANY_IMAGES = f"the answers are about more than {MAX_IMAGES:,} images: import some items at a time with --only"


class ImportedRun(NamedTuple):
    """A run created from answers: its folder, image model, number of images and number of verdicts."""

    folder: Path
    model: str
    images: int
    scored: int


@dataclass(frozen=True)
class ImportedRuns:
    """The result of importing a file: the runs created and notes on exclusions."""

    runs: tuple[ImportedRun, ...]  # the runs
    notes: tuple[str, ...]  # what was left out or read in a way of its own, one line each


_Answers: TypeAlias = dict[tuple[str, int], dict[str, dict[str, str]]]
"""By image model and sample: the answers about each item, by the id of the question."""


def import_answers(
    table: AnswerTable,
    items: Sequence[Item[object]],
    out: Path,
    *,
    judge: str = "",
    model: str = "",
    only: str = "",
    together: bool = False,
    zeroing: Zeroing | None = None,
    other_answers: OtherAnswers | None = None,
    made_with: str = "",
) -> ImportedRuns:
    """Write runs from answers, including every item that a model could have been asked about, answered or not."""
    for name in (judge, model):
        if len(name) > _MAX_GIVEN_NAME or not name.isprintable():
            raise FormalimgError(
                f"a judge or model cannot be called so: give a name of at most {_MAX_GIVEN_NAME} letters"
            )
    rule = other_answers or table.format.other_answers
    chosen = {
        item.id: _apply_zeroing(item, zeroing)
        for item in items
        if item.id.startswith(only) or fnmatchcase(item.id, only)
    }
    if not chosen:
        raise FormalimgError(
            f"no item is called {only!r} or begins with it: give the beginning of item ids with --only"
        )
    answers, notes = _collect_answers(table, chosen, {item.id for item in items}, model or _MODEL, rule)
    if not answers:
        raise FormalimgError(
            f"{table.path} answers no question of these items: give the items it is about with --items"
        )
    settings = {"imported_from": file_mark(table.path), "zeroing": zeroing or "of the items", "other_answers": rule}
    identity = Identity(judge or truncate(table.path.stem, _MAX_GIVEN_NAME, 0), settings)
    source = describe_source(table.path)
    runs = []
    for name, model_settings, images in split_by_model(
        _list_images(answers, chosen, by_split=table.format.by_split), together=together
    ):
        folder = out / run_name(images[0].item.suite, "all-models" if together else name)
        scored: Counter[bool] = Counter()

        def verdicts(
            images: Sequence[ImportedImage] = images, scored: Counter[bool] = scored
        ) -> Iterator[Verdict | Unscored]:
            for image in images:
                replies = answers[image.model, image.model_sample].get(image.item.id, {})
                verdict = verdict_of_answers(chosen[image.item.id].spec, replies, rule)
                scored[isinstance(verdict, Verdict)] += 1
                yield verdict

        write_imported_run(folder, Identity(name, model_settings), identity, images, verdicts(), source, made_with)
        runs.append(ImportedRun(folder, name, len(images), scored[True]))
    return ImportedRuns(tuple(runs), tuple(notes))


def _apply_zeroing(item: Item[object], zeroing: Zeroing | None) -> Item[QuestionSpec]:
    spec = item.spec
    if not isinstance(spec, QuestionSpec):
        raise FormalimgError(f"item {item.id} of {item.suite} has no questions: give items of question graphs")
    spec = spec if zeroing is None else spec.with_zeroing(zeroing)
    return Item(item.suite, item.id, item.level, item.prompt, spec, item.tags, item.version)


def _collect_answers(
    table: AnswerTable, chosen: Mapping[str, Item[QuestionSpec]], ids: set[str], model: str, rule: OtherAnswers
) -> tuple[_Answers, list[str]]:
    """Collect the answers to each image by question id, with notes on excluded answers."""
    words_of = {
        name: {question.id: _normalize_words(question.question) for question in item.spec.questions}
        for name, item in chosen.items()
    }
    id_of = {name: {words: id_ for id_, words in words_of[name].items()} for name in chosen}
    answers: _Answers = {}
    models: set[str] = set()
    images = unread = 0
    left_out: Counter[str] = Counter()
    for row in table.replies():
        if row is None:
            unread += 1
            continue
        reply = row._replace(item=find_item(row.item, ids))
        if reply.item not in chosen:
            left_out["are about items that are not there"] += reply.item not in ids
            continue
        by_words = id_of[reply.item].get(_normalize_words(reply.words))
        name = reply.question or reply.words
        question = name if name in words_of[reply.item] else by_words
        if question is None:
            left_out["are about questions that their items do not have"] += 1
            continue
        if reply.question and by_words is not None and words_of[reply.item][question] != _normalize_words(reply.words):
            left_out["name one question by its id and another by its words"] += 1
            continue
        # The same names and answers come again and again: each is kept once.
        key = (sys.intern(reply.model or model), reply.sample)
        models.add(key[0])
        by_item = answers.setdefault(key, {})
        images += reply.item not in by_item
        replies = by_item.setdefault(sys.intern(reply.item), {})
        if replies.get(question, reply.text) != reply.text:
            left_out["contradict a later one to the same question"] += 1
        replies[sys.intern(question)] = sys.intern(reply.text)
        if len(models) > MAX_MODELS:
            raise FormalimgError(f"{table.path} names more than {MAX_MODELS} image models: split it")
        if images > MAX_IMAGES:
            raise FormalimgError(_TOO_MANY_IMAGES)
    notes = [f"{count:,} answers {reason}, and were left out" for reason, count in left_out.items() if count]
    texts = (text for by_item in answers.values() for replies in by_item.values() for text in replies.values())
    unclear = sum(read_reply(text) is None for text in texts)
    if unclear:
        effect = "counted as no" if rule == "no" else "left their images unscored"
        notes.append(f"{unclear:,} answers are neither yes nor no, and {effect}")
    if unread:
        notes.append(f"{unread:,} records could not be read, and were left out")
    return answers, notes


def _normalize_words(words: str) -> str:
    return " ".join(words.casefold().split())


def _list_images(answers: _Answers, items: Mapping[str, Item[QuestionSpec]], *, by_split: bool) -> list[ImportedImage]:
    """Return all images of each model, answered or not, ordered by model, sample and item."""
    images: list[ImportedImage] = []
    for model, sample in sorted(answers):
        by_item = answers[model, sample]
        splits = {items[name].tags[:1] for name in by_item}
        images += [
            ImportedImage(item, sample, model, sample)
            for name, item in items.items()
            if name in by_item or not by_split or item.tags[:1] in splits
        ]
        if len(images) > MAX_IMAGES:
            raise FormalimgError(_TOO_MANY_IMAGES)
    return images


def verdict_of_answers(spec: QuestionSpec, answers: Mapping[str, str], rule: OtherAnswers) -> Verdict | Unscored:
    """Compute the verdict from answers keyed by question id, or the reason why the image is unscored."""
    if not answers:
        return Unscored("judge failed", "there are no answers about this image in the file")
    evidence = {"answers": dict(answers)}
    parts: dict[str, Part] = {}
    for question in spec.questions:
        text = answers.get(question.id, "")
        yes = read_reply(text)
        if yes is None and text.strip() and rule == "no":
            yes = False
        if yes is not None:
            reason = f"answered: {truncate(' '.join(text.split()), _MAX_SHOWN, 0)}"
            parts[question.id] = Part(question.question, question.category, float(yes), question.weight, reason=reason)
        elif text.strip():
            reason = f"the answer to question {question.id} is neither yes nor no: {truncate(text, 60, 20)}"
            return Unscored("not understood", reason, evidence)
    met = {
        question.id: (parts[question.id].score == 1) == (question.expected == "yes")
        for question in spec.questions
        if question.id in parts
    }
    failed = spec.failed_parents(met) if spec.zeroing == "transitive" else {}
    missing = next((question.id for question in spec.questions if question.id not in {*parts, *failed}), None)
    if missing is not None:
        return Unscored("judge failed", f"there is no answer to question {missing}", evidence)
    return graph_verdict(spec, parts, Verdict(False, evidence=evidence))


def split_by_model(
    images: Sequence[ImportedImage], *, together: bool
) -> Iterator[tuple[str, dict[str, Setting], Sequence[ImportedImage]]]:
    """Yield the image model, settings and images of each run; `images` must be sorted by model."""
    if not together:
        for model, group in groupby(images, lambda image: image.model):
            yield model, {}, list(group)
        return
    models = list(dict.fromkeys(image.model for image in images))
    pairs = sorted({(image.model, image.model_sample) for image in images})
    numbers = {pair: number for number, pair in enumerate(pairs)}
    samples = [image._replace(sample=numbers[image.model, image.model_sample]) for image in images]
    yield f"{len(models)} models together", {"models": truncate(", ".join(models), 400, 100)}, samples
