"""Published groups of CF-World: reading and writing `prompt/<field>.json` and `eval_questions/<field>_gemini.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import write_folder
from formalimg.benchmarks.cfworld.published_records import (
    DataRepair,
    FieldPath,
    PublishedRecord,
    RecordSchema,
    field_at,
    field_tagged,
    read_records,
)
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    LEVELS,
    WEIGHTS,
    CounterfactualSpec,
    Dimension,
    Level,
    WeightedQuestion,
)
from formalimg.benchmarks.items_file import id_order, is_number
from formalimg.benchmarks.odd_records import (
    ASSESSMENT_COUNT,
    DUPLICATE_ID,
    EXTRA_FIELDS,
    NO_PROMPT,
    NO_QUESTIONS,
    ODD_NAME,
    QUESTION_MENDED,
    QUESTIONS_INCOMPLETE,
    UNKNOWN_QUESTION_TYPE,
    ordered_tags,
    plain_tags,
)
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item

PROMPTS, QUESTIONS, QUESTIONS_ENDING = "prompt", "eval_questions", "_gemini"


QUESTION_TYPES: Mapping[str, Dimension] = {
    "Visual Integrity": "integrity",
    "Assessment Point": "assessment",
    "Counterfactual Logic": "logic",
    "Logic Consistency": "logic",  # what the paper calls it
    "Prompt Adherence": "adherence",
}
"""The dimensions by their published names."""

_REQUIRED_DIMENSIONS: tuple[Dimension, ...] = ("integrity", "logic")
"""Dimensions that the paper asks about every image, besides the assessment point, without which nothing is read."""

_GROUP = RecordSchema(
    "a group",
    texts=tuple(f"prompt_l{level}" for level in LEVELS),
    optional=("category", *(f"ap_l{level}" for level in LEVELS)),
)
_QUESTION = RecordSchema(
    "a question",
    texts=("prompt_level", "question_type", "question", "evaluation_criteria"),
    numbers=("weight",),
    ids=("id", "source_id"),
    ignored=("category", "generator_model"),
)


@dataclass(frozen=True)
class PublishedGroup:
    """A group as published by its authors, with texts and questions by level."""

    field: FieldPath
    number: str  # in the file
    where: str  # file and record
    prompts: Mapping[Level, str]
    assessments: Mapping[Level, str]  # what decides; empty where that was not published
    # none where none were published, or where not all can be read
    questions: Mapping[Level, tuple[WeightedQuestion, ...]]
    odd: Mapping[Level, tuple[str, ...]]  # the tags of what is odd

    @property
    def id(self) -> str:
        """The id of the group, made of field and number."""
        return f"{self.field.slug}-{self.number}"


class PublishedField(NamedTuple):
    """A field of knowledge with its groups, and whether its file could be read."""

    field: FieldPath
    groups: tuple[PublishedGroup, ...]
    is_sound: bool


class PublishedQuestions(NamedTuple):
    """The published questions about a prompt, and the tags of their oddities."""

    questions: tuple[WeightedQuestion, ...] = ()
    tags: frozenset[str] = frozenset()


def read_fields(root: Path, findings: ItemFindings, repairs: list[DataRepair]) -> list[PublishedField]:
    """Read all groups by field; add problems to the findings, and repairs to `repairs`."""
    names = json_files(root / PROMPTS)
    for name in json_files(root / QUESTIONS):
        if name not in {f"{field}{QUESTIONS_ENDING}" for field in names}:
            findings.skip(f"{QUESTIONS}/{name}.json", f"there is no such file in {PROMPTS}, so nothing to ask about")
    fields_by_slug: dict[str, PublishedField] = {}
    unusable: list[PublishedField] = []
    for field in map(field_at, names):
        if field.slug and field.slug not in fields_by_slug:
            fields_by_slug[field.slug] = _read_field(field, root, findings, repairs)
        else:
            findings.add(f"{PROMPTS}/{field.path}.json", "its name must have letters (a to z) of its own: rename it")
            unusable.append(PublishedField(field, (), is_sound=False))
    return [*fields_by_slug.values(), *unusable]


def json_files(folder: Path) -> list[str]:
    """Return the JSON files of a folder, as relative paths without their suffix."""
    paths = (path.relative_to(folder) for path in folder.rglob("*.json") if path.name[0] != ".")
    return sorted(path.with_suffix("").as_posix() for path in paths)


def _read_field(field: FieldPath, root: Path, findings: ItemFindings, repairs: list[DataRepair]) -> PublishedField:
    questions = _questions_of(field, root, findings, repairs)
    groups = []
    before = len(findings)
    for location, texts, _, tags in read_records(root, f"{PROMPTS}/{field.path}.json", _GROUP, findings, repairs):
        if not texts["category"]:
            repairs.append(DataRepair(location, "no category", "none is needed: the file says the field"))
        number = texts["id"]
        prompts = {level: texts[f"prompt_l{level}"] for level in LEVELS}
        by_level = {level: questions.pop((number, level), PublishedQuestions()) for level in LEVELS}
        group = PublishedGroup(
            field,
            number,
            location,
            prompts,
            _read_assessments(texts, location, repairs),
            {level: by_level[level].questions for level in LEVELS},
            {level: ordered_tags({*tags, *_level_tags(prompts[level], by_level[level])}) for level in LEVELS},
        )
        groups.append(group)
        _report_questions(group, repairs)
    is_sound = len(findings) == before
    if is_sound:
        location = f"{QUESTIONS}/{field.path}{QUESTIONS_ENDING}.json"
        for number, level in questions:
            findings.skip(location, f"has questions for group {number}, l{level}, which is not there")
    first: dict[tuple[str, ...], PublishedGroup] = {}
    for group in groups:
        content = (*group.prompts.values(), *group.assessments.values())
        if (original := first.setdefault(content, group)) is not group:
            repairs.append(DataRepair(group.where, "duplicate", f"kept; says the same as id {original.number}"))
    return PublishedField(field, tuple(groups), is_sound)


def _level_tags(prompt: str, published: PublishedQuestions) -> set[str]:
    tags = set(published.tags)
    if not prompt:
        tags.add(NO_PROMPT)
    if not published.questions and QUESTIONS_INCOMPLETE not in tags:
        tags.add(NO_QUESTIONS)
    return tags


def _read_assessments(texts: Mapping[str, str], location: str, repairs: list[DataRepair]) -> dict[Level, str]:
    """Return the assessment point of each level; L3 shares that of L2, as it shares its questions."""
    first, second, third = (texts[f"ap_l{level}"] for level in LEVELS)
    for level, text in ((1, first), (2, second)):
        if not text:
            repairs.append(DataRepair(f"{location}, l{level}", "no assessment point", "left empty"))
    if third and not second:
        repairs.append(DataRepair(location, "assessment point of L3 alone", "kept for L3, and not taken for L2"))
    elif third != second and third:
        repairs.append(
            DataRepair(location, "assessment point of L3 differs", "left out: its questions are those of L2")
        )
    return {1: first, 2: second, 3: second or third}


def _questions_of(
    field: FieldPath, root: Path, findings: ItemFindings, repairs: list[DataRepair]
) -> dict[tuple[str, Level], PublishedQuestions]:
    """Return the questions of a field by group and level, in file order."""
    name = f"{QUESTIONS}/{field.path}{QUESTIONS_ENDING}.json"
    if not (root / name).is_file():
        findings.add(name, f"is missing: without it nothing of {PROMPTS}/{field.path}.json can be scored")
        return {}
    levels: Mapping[str, Level] = {f"l{level}": level for level in LEVELS}
    by_prompt: dict[tuple[str, Level], PublishedQuestions] = {}
    for record in read_records(root, name, _QUESTION, findings, repairs):
        number, level = record.texts["source_id"], levels.get(record.texts["prompt_level"].lower())
        if not number or level is None:
            claim = f"source_id {number!r}, prompt_level {record.texts['prompt_level']!r}"
            findings.skip(
                record.where, f"does not say which prompt it is about ({claim}): levels are {', '.join(levels)}"
            )
            continue
        before, tags = by_prompt.get((number, level), PublishedQuestions())
        question, odd = _read_question(record, findings, repairs)
        by_prompt[number, level] = PublishedQuestions((*before, question) if question else before, tags | odd)
    return {key: _check_set(published) for key, published in by_prompt.items()}


def _read_question(
    record: PublishedRecord, findings: ItemFindings, repairs: list[DataRepair]
) -> tuple[WeightedQuestion | None, frozenset[str]]:
    """Return a question (None if it cannot be answered) with the tags of its oddities."""
    # The id of a question is not used for anything, nor are fields that it should not have.
    odd = set(record.tags) - {ODD_NAME, DUPLICATE_ID, EXTRA_FIELDS}
    kind, text, criteria = (record.texts[name] for name in ("question_type", "question", "evaluation_criteria"))
    if not text or not criteria:
        findings.skip(
            record.where, f"has no {'question' if not text else 'evaluation_criteria'}, so it cannot be asked"
        )
        return None, frozenset({*odd, QUESTIONS_INCOMPLETE})
    if kind not in QUESTION_TYPES:
        odd.add(UNKNOWN_QUESTION_TYPE)
    dimension, weight = QUESTION_TYPES.get(kind, "adherence"), record.numbers["weight"]
    if weight is None:
        odd.add(QUESTION_MENDED)
        weight = WEIGHTS[dimension]
    elif weight != WEIGHTS[dimension]:
        effect = f"kept: {weight:g}, where {dimension} has {WEIGHTS[dimension]:g} elsewhere"
        repairs.append(DataRepair(record.where, "unusual weight", effect))
    return WeightedQuestion(dimension, text, criteria, weight), frozenset(odd)


def _check_set(published: PublishedQuestions) -> PublishedQuestions:
    if QUESTIONS_INCOMPLETE in published.tags:
        return published._replace(questions=())
    if [each.dimension for each in published.questions].count("assessment") != 1:
        return published._replace(tags=published.tags | {ASSESSMENT_COUNT})
    return published


def _report_questions(group: PublishedGroup, repairs: list[DataRepair]) -> None:
    repairs.extend(
        DataRepair(f"{group.where}, l{level}", "no questions", "kept, but nobody can score it")
        for level in LEVELS
        if not group.questions[level]
    )
    for level, questions in group.questions.items():
        lacking = [name for name in _REQUIRED_DIMENSIONS if name not in {question.dimension for question in questions}]
        if questions and lacking:
            effect = f"scored without {' and '.join(lacking)}"
            repairs.append(DataRepair(f"{group.where}, l{level}", "no question of a dimension", effect))
    if group.questions[2] != group.questions[3]:
        repairs.append(DataRepair(group.where, "questions of L3 differ", "kept as they are"))


_GENERATOR = "formalimg"
PUBLISHED_TYPES = {QUESTION_TYPES[name]: name for name in QUESTION_TYPES if name != "Logic Consistency"}

_Levels = Mapping[int, Item[CounterfactualSpec]]


def write_published_groups(items: Iterable[Item[CounterfactualSpec]], folder: str | Path) -> None:
    """Write groups in the authors' format: `prompt/<field>.json` and `eval_questions/<field>_gemini.json`.

    All files appear or none. Groups with published ids keep their numbers; other groups are numbered from 0, field by
    field, in the order they come in. Versions have no place in this form.
    """
    fields_read: dict[FieldPath, dict[str, dict[int, Item[CounterfactualSpec]]]] = {}
    for item in items:
        if item.suite != CF_WORLD or not plain_tags(item.tags):
            raise FormalimgError(f"item {item.id}: only items of {CF_WORLD} with a field as tag can be written")
        levels = fields_read.setdefault(field_tagged(plain_tags(item.tags)), {}).setdefault(item.spec.group, {})
        if item.level in levels:
            raise FormalimgError(f"group {item.spec.group} has two items of level {item.level}: leave one out")
        levels[item.level] = item
    texts: dict[str, str] = {}
    for field, groups in fields_read.items():
        for group, levels in groups.items():
            if sorted(levels) != list(LEVELS):
                raise FormalimgError(f"group {group} must have the levels 1, 2 and 3 to be written")
        numbered = _number_groups(field, groups)
        texts[f"{PROMPTS}/{field.path}.json"] = _encode_json(
            [_encode_group(number, levels) for number, levels in numbered.items()]
        )
        texts[f"{QUESTIONS}/{field.path}{QUESTIONS_ENDING}.json"] = _encode_json(_encode_questions(numbered))
    if not texts:
        raise FormalimgError("there are no items to write")
    write_folder(Path(folder), texts)


def _number_groups(field: FieldPath, groups: Mapping[str, _Levels]) -> dict[str, _Levels]:
    prefix = f"{field.slug}-"
    numbers = {group: group.removeprefix(prefix) for group in groups if group.startswith(prefix)}
    if len(numbers) == len(groups) and all(map(is_number, numbers.values())):
        return {numbers[group]: groups[group] for group in sorted(groups, key=lambda group: id_order(numbers[group]))}
    return {str(number): levels for number, levels in enumerate(groups.values())}


def _encode_group(number: str, levels: _Levels) -> dict[str, str]:
    assessments = {level: levels[level].spec.assessment for level in LEVELS}
    if assessments[3] == assessments[2]:
        assessments[3] = ""  # said once, it holds for both
    elif assessments[2]:
        raise FormalimgError(f"group {levels[2].spec.group} is judged by other points at L3 than at L2: make them one")
    fields = {"id": number, "category": plain_tags(levels[1].tags)[-1]}
    for level in LEVELS:
        fields[f"prompt_l{level}"] = levels[level].prompt
        if assessments[level]:
            fields[f"ap_l{level}"] = assessments[level]
    return fields


def _encode_questions(groups: Mapping[str, _Levels]) -> list[dict[str, Any]]:
    questions = [
        (number, levels[level], question)
        for number, levels in groups.items()
        for level in LEVELS
        for question in levels[level].spec.questions
    ]
    return [
        {
            "id": str(position),
            "source_id": number,
            "prompt_level": f"l{item.level}",
            "category": plain_tags(item.tags)[-1],
            "question_type": PUBLISHED_TYPES[question.dimension],
            "question": question.question,
            "evaluation_criteria": question.criteria,
            "weight": question.weight,
            "generator_model": _GENERATOR,
        }
        for position, (number, item, question) in enumerate(questions, 1)
    ]


def _encode_json(records: Sequence[Mapping[str, Any]]) -> str:
    # ASCII only: the published scripts open files with whatever encoding their machine has.
    return json.dumps(records, indent=4)
