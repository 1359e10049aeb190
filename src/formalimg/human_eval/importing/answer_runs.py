"""Answers that were given elsewhere become runs: one for each image model, or one of all of them together."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeAlias

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec, Zeroing
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.answer_files import AnswerTable, OtherAnswers, find_item, read_reply
from formalimg.human_eval.importing.file_source import describe_source, file_mark
from formalimg.judges.question_graph_judge import graph_verdict
from formalimg.runs.config import run_name
from formalimg.runs.manifest import Identity
from formalimg.runs.records import ImportedImage, write_imported_run
from formalimg.types import Item, Part, Unscored, Verdict

_MODEL = "imported"
"""The image model of answers that name none."""
_MAX_SHOWN, _MAX_NAME = 60, 120
MAX_MODELS = 200
"""The most image models of a file; each is a run."""
MAX_IMAGES = 500_000
"""The most images of a file, answered or not."""
_TOO_MANY_IMAGES = f"the answers are about more than {MAX_IMAGES:,} images: import some items at a time with --only"


class ImportedRun(NamedTuple):
    """A run that was made of answers: its folder, its image model, and how many images it has, and with a verdict."""

    folder: Path
    model: str
    images: int
    scored: int


@dataclass(frozen=True)
class ImportedRuns:
    """What became of a file of answers."""

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
    """Write runs from answers: each item that a model could have been asked about is there, answered or not."""
    for name in (judge, model):
        if len(name) > _MAX_NAME or not name.isprintable():
            raise FormalimgError(f"a judge or model cannot be called so: give a name of at most {_MAX_NAME} letters")
    rule = other_answers or table.format.other_answers
    chosen = {item.id: _with_rule(item, zeroing) for item in items if _is_wanted(item.id, only)}
    if not chosen:
        raise FormalimgError(
            f"no item is called {only!r} or begins with it: give the beginning of item ids with --only"
        )
    answers, notes = _by_image(table, chosen, {item.id for item in items}, model or _MODEL, rule)
    if not answers:
        raise FormalimgError(
            f"{table.path} answers no question of these items: give the items it is about with --items"
        )
    who = Identity(
        judge or truncate(table.path.stem, _MAX_NAME, 0),
        {
            "imported_from": file_mark(table.path),
            "zeroing": zeroing or "of the items",
            "other_answers": rule,
        },
    )
    source = describe_source(table.path)
    images = _images(answers, chosen, by_split=table.format.by_split)
    made = []
    for name, settings, those in _runs(images, together=together):
        folder = out / run_name(those[0].item.suite, "all-models" if together else name)
        scored: Counter[bool] = Counter()

        def verdicts(
            those: Sequence[ImportedImage] = those, scored: Counter[bool] = scored
        ) -> Iterator[Verdict | Unscored]:
            for image in those:
                given = answers[image.model, image.model_sample].get(image.item.id, {})
                verdict = answered_verdict(chosen[image.item.id].spec, given, rule)
                scored[isinstance(verdict, Verdict)] += 1
                yield verdict

        write_imported_run(folder, Identity(name, settings), who, those, verdicts(), source, made_with)
        made.append(ImportedRun(folder, name, len(those), scored[True]))
    return ImportedRuns(tuple(made), tuple(notes))


def _with_rule(item: Item[object], zeroing: Zeroing | None) -> Item[QuestionSpec]:
    spec = item.spec
    if not isinstance(spec, QuestionSpec):
        raise FormalimgError(f"item {item.id} of {item.suite} has no questions: give items of question graphs")
    spec = spec if zeroing is None else spec.with_zeroing(zeroing)
    return Item(item.suite, item.id, item.level, item.prompt, spec, item.tags, item.version)


def _is_wanted(item: str, only: str) -> bool:
    return item.startswith(only) or fnmatchcase(item, only)


def _by_image(
    table: AnswerTable, chosen: Mapping[str, Item[QuestionSpec]], known: set[str], model: str, rule: OtherAnswers
) -> tuple[_Answers, list[str]]:
    """Return the answers about each image by the id of the question, and remarks on those that are not among them."""
    ids = {name: {one.id: _key(one.question) for one in item.spec.questions} for name, item in chosen.items()}
    words = {name: {_key(one.question): one.id for one in item.spec.questions} for name, item in chosen.items()}
    answers: _Answers = {}
    models: set[str] = set()
    images = unread = 0
    left_out: Counter[str] = Counter()
    for given in table.replies():
        if given is None:
            unread += 1
            continue
        reply = given._replace(item=find_item(given.item, known))
        if reply.item not in chosen:
            left_out["are about items that are not there"] += reply.item not in known
            continue
        by_words = words[reply.item].get(_key(reply.words))
        called = reply.question or reply.words
        question = called if called in ids[reply.item] else by_words
        if question is None:
            left_out["are about questions that their items do not have"] += 1
            continue
        if reply.question and by_words is not None and ids[reply.item][question] != _key(reply.words):
            left_out["name one question by its id and another by its words"] += 1
            continue
        # The same names and answers come again and again: each is kept once.
        whose = (sys.intern(reply.model or model), reply.sample)
        models.add(whose[0])
        by_item = answers.setdefault(whose, {})
        images += reply.item not in by_item
        own = by_item.setdefault(sys.intern(reply.item), {})
        if own.get(question, reply.text) != reply.text:
            left_out["contradict a later one to the same question"] += 1
        own[sys.intern(question)] = sys.intern(reply.text)
        if len(models) > MAX_MODELS:
            raise FormalimgError(f"{table.path} names more than {MAX_MODELS} image models: split it")
        if images > MAX_IMAGES:
            raise FormalimgError(_TOO_MANY_IMAGES)
    notes = [f"{count:,} answers {why}, and were left out" for why, count in left_out.items() if count]
    texts = (text for by_item in answers.values() for own in by_item.values() for text in own.values())
    others = sum(read_reply(text) is None for text in texts)
    if others:
        means = "counted as no" if rule == "no" else "left their images unscored"
        notes.append(f"{others:,} answers are neither yes nor no, and {means}")
    if unread:
        notes.append(f"{unread:,} records could not be read, and were left out")
    return answers, notes


def _key(words: str) -> str:
    return " ".join(words.casefold().split())


def _images(answers: _Answers, items: Mapping[str, Item[QuestionSpec]], *, by_split: bool) -> list[ImportedImage]:
    """Return each image of each model, answered or not, in the order of models, samples and items.

    Where a model has answered some splits of the items only, its images are of these.
    """
    images: list[ImportedImage] = []
    for model, sample in sorted(answers):
        answered = answers[model, sample]
        splits = {items[name].tags[:1] for name in answered}
        images += [
            ImportedImage(item, sample, model, sample)
            for name, item in items.items()
            if name in answered or not by_split or item.tags[:1] in splits
        ]
        if len(images) > MAX_IMAGES:
            raise FormalimgError(_TOO_MANY_IMAGES)
    return images


def answered_verdict(spec: QuestionSpec, answers: Mapping[str, str], rule: OtherAnswers) -> Verdict | Unscored:
    """Return the verdict that answers make, given by the id of the question; or why there is none."""
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
            parts[question.id] = _part(question, text, yes)
        elif text.strip():
            why = f"the answer to question {question.id} is neither yes nor no: {truncate(text, 60, 20)}"
            return Unscored("not understood", why, evidence)
    met = {one.id: (parts[one.id].score == 1) == (one.expected == "yes") for one in spec.questions if one.id in parts}
    failed = spec.failed_parents(met) if spec.zeroing == "transitive" else {}
    missing = next((one.id for one in spec.questions if one.id not in parts and one.id not in failed), None)
    if missing is not None:
        return Unscored("judge failed", f"there is no answer to question {missing}", evidence)
    return graph_verdict(spec, parts, Verdict(False, evidence=evidence))


def _part(question: GraphQuestion, text: str, yes: bool) -> Part:
    said = truncate(" ".join(text.split()), _MAX_SHOWN, 0)
    return Part(question.question, question.category, float(yes), question.weight, reason=f"answered: {said}")


def _runs(
    images: Sequence[ImportedImage], *, together: bool
) -> Iterator[tuple[str, dict[str, str], Sequence[ImportedImage]]]:
    """Yield the image model of each run, its settings, and its images."""
    if not together:
        for model, own in groupby(images, lambda image: image.model):
            yield model, {}, list(own)
        return
    models = list(dict.fromkeys(image.model for image in images))
    pairs = sorted({(image.model, image.model_sample) for image in images})
    numbers = {pair: number for number, pair in enumerate(pairs)}
    samples = [image._replace(sample=numbers[image.model, image.model_sample]) for image in images]
    yield f"{len(models)} models together", {"models": truncate(", ".join(models), 400, 100)}, samples
