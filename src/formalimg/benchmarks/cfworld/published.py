"""CF-World and its probes as published by their authors.

The repository has `prompt` (groups, one file for each field), `eval_questions` (questions, under the same names) and
`prompt_ablation` (the probes: `rule_decouple.json`, `attribute_decouple.json` and `de-norm/<field>.json`). The files
have irregularities. Each is either repaired by a rule and reported, or tagged (see `odd_records`). No record is
dropped: those that cannot be scored are kept and reported. Only a file that is not a list of records is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from formalimg.benchmarks.cfworld.items import pair_spec, rule_spec
from formalimg.benchmarks.cfworld.published_records import (
    PROMPTS,
    QUESTION_TYPES,
    QUESTIONS,
    FieldPath,
    PublishedFiles,
    PublishedRecord,
    RecordSchema,
    field_at,
    format_repairs,
    question_file,
)
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    LEVELS,
    WEIGHTS,
    CounterfactualSpec,
    Level,
    WeightedQuestion,
)
from formalimg.benchmarks.odd_records import (
    ASSESSMENT_COUNT,
    DUPLICATE_ID,
    EXTRA_FIELDS,
    ID_AND_CATEGORY_DIFFER,
    NO_GROUP,
    NO_PARTNER,
    NO_PROMPT,
    NO_QUESTIONS,
    ODD_NAME,
    QUESTION_MENDED,
    QUESTIONS_INCOMPLETE,
    UNKNOWN_CATEGORY,
    UNKNOWN_QUESTION_TYPE,
    ordered_tags,
)
from formalimg.benchmarks.record import ItemFindings, free_name
from formalimg.errors import FormalimgError
from formalimg.types import Item

_REQUIRED_DIMENSIONS = ("integrity", "logic")  # What the paper asks about every image, besides the assessment point

_PROBES = "prompt_ablation"
_FOLDERS = {
    CF_WORLD: (PROMPTS, QUESTIONS),
    CF_WORLD_RULES: (_PROBES,),
    CF_WORLD_ATTRIBUTES: (_PROBES,),
    CF_WORLD_DENOMINALISED: (PROMPTS, QUESTIONS, _PROBES),
}
"""Folders of the repository that each suite needs."""

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
_RULE = RecordSchema("a rule", texts=("category", "prompt", "ap"), ids=("id", "rule_id"))
_PAIR = RecordSchema(
    "a pair", texts=("A", "B", "prompt", "category"), id_pattern="(0|[1-9][0-9]{0,8})(_factual)?", verbatim=("A", "B")
)
_REWORDED = RecordSchema("a de-nominalised prompt", texts=("prompt",), optional=("category",))

_Items: TypeAlias = Iterator[Item[CounterfactualSpec]]


def read_published_items(path: Path, suite: str, findings: ItemFindings) -> list[Item[CounterfactualSpec]]:
    """Read the items of a suite, and add problems and repairs to the findings."""
    items, files = read_published_files(path, suite, findings)
    findings.repairs += format_repairs(files.repairs)
    return items


def read_published_files(
    path: Path, suite: str, findings: ItemFindings
) -> tuple[list[Item[CounterfactualSpec]], PublishedFiles]:
    """Read the items of a suite from the authors' repository or a folder made by `formalimg pull`."""
    files = PublishedFiles(_find_root(path, suite), findings)
    if suite == CF_WORLD_RULES:
        return list(_read_rules(files)), files
    if suite == CF_WORLD_ATTRIBUTES:
        return list(_read_pairs(files)), files
    fields = _read_fields(files)
    if suite == CF_WORLD_DENOMINALISED:
        files.repairs.clear()  # those of the groups are reported with cf-world, and not again with its probe
        return list(_read_reworded(files, fields)), files
    items = [
        Item(
            CF_WORLD,
            f"{group.id}-l{level}",
            level,
            group.prompts[level],
            CounterfactualSpec(group.id, group.assessments[level], group.questions[level]),
            (*field.path.tags, *group.tags[level]),
        )
        for field in fields
        for group in field.groups
        for level in LEVELS
    ]
    return items, files


def _find_root(path: Path, suite: str) -> Path:
    if suite not in _FOLDERS:
        raise FormalimgError(f"{suite} is not a suite of CF-World: use one of {', '.join(_FOLDERS)}")
    folder = path.absolute()  # `.` may be one of the folders
    root = folder.parent if folder.name in (PROMPTS, QUESTIONS, _PROBES) else path
    for name in _FOLDERS[suite]:
        if not (root / name).is_dir():
            raise FormalimgError(
                f"{path} holds no items of {suite}: give items.jsonl, or the repository with its folders "
                f"{', '.join(_FOLDERS[suite])} ({name} is not there)"
            )
    return root


# --- groups


@dataclass(frozen=True)
class _PublishedGroup:
    """A group as published, with texts, questions and tags of oddities by level."""

    id: str
    number: str  # in the file
    location: str
    prompts: Mapping[Level, str]
    assessments: Mapping[Level, str]  # empty where not published
    questions: Mapping[Level, tuple[WeightedQuestion, ...]]  # none where not published, or not all can be read
    tags: Mapping[Level, tuple[str, ...]]


class _PublishedField(NamedTuple):
    path: FieldPath
    groups: Sequence[_PublishedGroup]
    is_sound: bool  # its file could be read


class _QuestionSet(NamedTuple):
    questions: tuple[WeightedQuestion, ...] = ()
    tags: frozenset[str] = frozenset()


def _read_fields(files: PublishedFiles) -> list[_PublishedField]:
    names = files.names(PROMPTS)
    for name in files.names(QUESTIONS):
        if name not in {f"{path}_gemini" for path in names}:
            files.findings.skip(
                f"{QUESTIONS}/{name}.json", f"there is no such file in {PROMPTS}, so nothing to ask about"
            )
    by_slug: dict[str, _PublishedField] = {}
    unusable: list[_PublishedField] = []
    for path in map(field_at, names):
        if path.slug and path.slug not in by_slug:
            by_slug[path.slug] = _read_field(path, files)
        else:
            name = f"{PROMPTS}/{path.path}.json"
            files.findings.add(name, "its name must have letters (a to z) of its own: rename it")
            unusable.append(_PublishedField(path, (), is_sound=False))
    return [*by_slug.values(), *unusable]


def _read_field(path: FieldPath, files: PublishedFiles) -> _PublishedField:
    questions = _read_questions(path, files)
    groups: dict[tuple[str, ...], _PublishedGroup] = {}  # by their content
    all_groups = []
    before = len(files.findings)
    for location, texts, _, record_tags in files.records(f"{PROMPTS}/{path.path}.json", _GROUP):
        if not texts["category"]:
            files.repair(location, "no category", "none is needed: the file says the field")
        assessments = _read_assessments(texts, location, files)
        prompts, sets, tags = {}, {}, {}
        for level in LEVELS:
            prompts[level] = texts[f"prompt_l{level}"]
            sets[level], question_tags = questions.pop((texts["id"], level), _QuestionSet())
            level_tags = {*record_tags, *question_tags}
            if not prompts[level]:
                level_tags.add(NO_PROMPT)
            if not sets[level] and QUESTIONS_INCOMPLETE not in question_tags:
                level_tags.add(NO_QUESTIONS)
            tags[level] = ordered_tags(level_tags)
        id_ = f"{path.slug}-{texts['id']}"
        all_groups.append(_PublishedGroup(id_, texts["id"], location, prompts, assessments, sets, tags))
        _report_questions(location, sets, files)
    is_sound = len(files.findings) == before
    if is_sound:
        for number, level in questions:
            files.findings.skip(question_file(path), f"has questions for group {number}, l{level}, which is not there")
    for group in all_groups:
        original = groups.setdefault((*group.prompts.values(), *group.assessments.values()), group)
        if original is not group:
            files.repair(group.location, "duplicate", f"kept; says the same as id {original.number}")
    return _PublishedField(path, all_groups, is_sound)


def _read_assessments(texts: Mapping[str, str], location: str, files: PublishedFiles) -> dict[Level, str]:
    """Return the assessment point of each level; L3 shares that of L2, as it shares its questions."""
    first, second, third = (texts[f"ap_l{level}"] for level in LEVELS)
    for level, text in ((1, first), (2, second)):
        if not text:
            files.repair(f"{location}, l{level}", "no assessment point", "left empty")
    if third and not second:
        files.repair(location, "assessment point of L3 alone", "kept for L3, and not taken for L2")
    elif third not in ("", second):
        files.repair(location, "assessment point of L3 differs", "left out: its questions are those of L2")
    return {1: first, 2: second, 3: second or third}


def _read_questions(path: FieldPath, files: PublishedFiles) -> dict[tuple[str, Level], _QuestionSet]:
    """Return the questions of a field by group and level, in file order."""
    name = question_file(path)
    if not (files.root / name).is_file():
        files.findings.add(name, f"is missing: without it nothing of {PROMPTS}/{path.path}.json can be scored")
        return {}
    levels: Mapping[str, Level] = {f"l{level}": level for level in LEVELS}
    sets: dict[tuple[str, Level], _QuestionSet] = {}
    for record in files.records(name, _QUESTION):
        number, level = record.texts["source_id"], levels.get(record.texts["prompt_level"].lower())
        if not number or level is None:
            claim = f"source_id {number!r}, prompt_level {record.texts['prompt_level']!r}"
            files.findings.skip(
                record.location, f"does not say which prompt it is about ({claim}): levels are {', '.join(levels)}"
            )
            continue
        questions, tags = sets.get((number, level), _QuestionSet())
        question, question_tags = _read_question(record, files)
        sets[number, level] = _QuestionSet((*questions, question) if question else questions, tags | question_tags)
    for key, (questions, tags) in sets.items():
        if QUESTIONS_INCOMPLETE in tags:
            sets[key] = _QuestionSet((), tags)
        elif sum(question.dimension == "assessment" for question in questions) != 1:
            sets[key] = _QuestionSet(questions, tags | {ASSESSMENT_COUNT})
    return sets


def _read_question(record: PublishedRecord, files: PublishedFiles) -> tuple[WeightedQuestion | None, frozenset[str]]:
    """Return a question (None if it cannot be answered) with the tags of its oddities."""
    # The id of a question is not used for anything, nor are fields that it should not have.
    tags = record.tags - {ODD_NAME, DUPLICATE_ID, EXTRA_FIELDS}
    kind, text, criteria = (record.texts[name] for name in ("question_type", "question", "evaluation_criteria"))
    if not text or not criteria:
        missing = "evaluation_criteria" if text else "question"
        files.findings.skip(record.location, f"has no {missing}, so it cannot be asked")
        return None, tags | {QUESTIONS_INCOMPLETE}
    if kind not in QUESTION_TYPES:
        tags |= {UNKNOWN_QUESTION_TYPE}
    dimension, weight = QUESTION_TYPES.get(kind, "adherence"), record.numbers["weight"]
    if weight is None:
        return WeightedQuestion(dimension, text, criteria, WEIGHTS[dimension]), tags | {QUESTION_MENDED}
    if weight != WEIGHTS[dimension]:
        effect = f"kept: {weight:g}, where {dimension} has {WEIGHTS[dimension]:g} elsewhere"
        files.repair(record.location, "unusual weight", effect)
    return WeightedQuestion(dimension, text, criteria, weight), tags


def _report_questions(
    location: str, by_level: Mapping[Level, tuple[WeightedQuestion, ...]], files: PublishedFiles
) -> None:
    for level, questions in by_level.items():
        if not questions:
            files.repair(f"{location}, l{level}", "no questions", "kept, but nobody can score it")
    for level, questions in by_level.items():
        asked = {question.dimension for question in questions}
        if lacking := [name for name in _REQUIRED_DIMENSIONS if questions and name not in asked]:
            effect = f"scored without {' and '.join(lacking)}"
            files.repair(f"{location}, l{level}", "no question of a dimension", effect)
    if by_level[2] != by_level[3]:
        files.repair(location, "questions of L3 differ", "kept as they are")


# --- probes


def _read_rules(files: PublishedFiles) -> _Items:
    """Yield the items of the rule probe, with template questions because none were published."""
    levels = {"original": 1, "cf": 2}
    for _, texts, _, tags in files.records(f"{_PROBES}/rule_decouple.json", _RULE):
        group = f"rule-{texts['rule_id'] or 'unknown'}"
        spec = rule_spec(group, texts["ap"]) if texts["ap"] else CounterfactualSpec(group, "", ())
        level = levels.get(texts["category"])
        yield _probe_item(CF_WORLD_RULES, f"{group}-{texts['id']}", level, texts["prompt"], spec, {*tags})


def _read_pairs(files: PublishedFiles) -> _Items:
    """Yield the items of the attribute probe, each with a template question."""
    levels = {"factual": 1, "unusual": 2}
    records = files.records(f"{_PROBES}/attribute_decouple.json", _PAIR)
    ids, names = {record.texts["id"] for record in records}, set[str]()
    for _, texts, _, record_tags in records:
        tags, level = {*record_tags}, levels.get(texts["category"])
        number, _, ending = texts["id"].partition("_")
        if level and (level == 1) != (ending == "factual"):
            tags.add(ID_AND_CATEGORY_DIFFER)
        if (number if ending else f"{number}_factual") not in ids:
            tags.add(NO_PARTNER)
        group = f"pair-{number}"
        spec = CounterfactualSpec(group, "", ())
        if all(texts[name].strip() for name in ("A", "B", "prompt")):
            spec = pair_spec(group, texts["A"], texts["B"], texts["prompt"])
        name = free_name(f"{group}-{'common' if ending else 'rare'}", names)
        names.add(name)
        yield _probe_item(CF_WORLD_ATTRIBUTES, name, level, texts["prompt"], spec, tags)


def _probe_item(
    suite: str, name: str, level: int | None, prompt: str, spec: CounterfactualSpec, tags: set[str]
) -> Item[CounterfactualSpec]:
    """Return an item of a probe; without a category it is unscored and gets level 2."""
    if level is None:
        tags.add(UNKNOWN_CATEGORY)
        spec = CounterfactualSpec(spec.group, spec.assessment, ())
    elif not spec.questions:
        tags.add(NO_QUESTIONS)
    if not prompt:
        tags.add(NO_PROMPT)
    return Item(suite, name, level or 2, prompt, spec, ordered_tags(tags))


def _read_reworded(files: PublishedFiles, fields: Sequence[_PublishedField]) -> _Items:
    """Yield the de-nominalised prompts, without reporting errors that follow from an unreadable file."""
    folder = f"{_PROBES}/de-norm"
    for path in files.names(folder):
        if path not in {field.path.path for field in fields}:
            files.findings.skip(f"{folder}/{path}.json", "there is no such file in prompt")
    for field in fields:
        name = f"{folder}/{field.path.path}.json"
        groups = {group.number: group for group in field.groups}
        before = len(files.findings)
        for location, texts, _, record_tags in files.records(name, _REWORDED):
            prompt, group = texts["prompt"], groups.pop(texts["id"], None)
            tags = {*record_tags} if prompt else {*record_tags, NO_PROMPT}
            if group is None:
                spec = CounterfactualSpec(f"{field.path.slug}-{texts['id']}", "", ())
                tags.add(NO_GROUP)
            else:
                if not texts["category"]:
                    files.repair(location, "no category", "none is needed: the file says the field")
                if prompt == group.prompts[2]:
                    files.repair(location, "same prompt as L2", "kept: it is not in other words")
                if not group.questions[2]:
                    files.repair(location, "no questions", "kept, but nobody can score it")
                spec = CounterfactualSpec(group.id, group.assessments[2], group.questions[2])
                tags |= {*group.tags[2]} - {NO_PROMPT}  # of the prompt of L2 itself
            item_tags = (*field.path.tags, *ordered_tags(tags))
            yield Item(CF_WORLD_DENOMINALISED, f"{spec.group}-l2", 2, prompt, spec, item_tags)
        if field.is_sound and len(files.findings) == before:
            for number in groups:
                files.findings.skip(name, f"lacks group {number}")
