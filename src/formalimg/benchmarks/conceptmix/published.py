"""Published files of ConceptMix: prompts with bindings, and scores.

`300_sentences_k=3.json` is a list of records with `index` (from 1), `sentence`, `categories`, `skills` (the concepts)
and `question` (a list of lines); `300_refined_config_k=3.json` holds the bindings under the same indexes. The number in
front is only part of the name. A chat model wrote them, unchecked: a record that is odd is read as well, and tagged.

`<model>_k=<k>_score.json` is a list of records with `image_path`, `questions` and `scores`, and a last one with
`proportion_all_correct` and `average_score_per_image`. The published code leaves out a question without an answer, and
then counts the image as fully correct; so the totals are recomputed from the records, and such images are unscored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import write_folder
from formalimg._util.strict_json import is_text
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import QuestionLines, concept_statements, pair_questions, split_lines
from formalimg.benchmarks.conceptmix.spec import (
    CATEGORIES,
    NO_CATEGORY,
    Binding,
    BoundConcept,
    Concept,
    ConceptSpec,
    RequestedConcept,
    bound_concepts,
)
from formalimg.benchmarks.items_file import in_order
from formalimg.benchmarks.odd_records import (
    BINDING_CHANGED,
    BROKEN_TEXT,
    COUNTS_DIFFER,
    DUPLICATE_PROMPT,
    NO_BINDING,
    NO_CONCEPT,
    NO_PROMPT,
    NO_QUESTION,
    NO_QUESTIONS,
    NOT_A_QUESTION,
    ODD_INDEX,
    QUESTIONS_MOVED,
    REPEATED_FIELD,
    UNKNOWN_CONCEPT,
)
from formalimg.benchmarks.record import ItemFindings, RepeatedFields, parse_leniently
from formalimg.errors import FormalimgError
from formalimg.types import Item

_REPLACED = "\ufffd"
"""What stands in place of bytes that are no text."""
UNKNOWN = "unknown"
"""Stands for a concept that has a category but no name."""


class PublishedPrompt(NamedTuple):
    """A record of a file of sentences, and what is known about it from elsewhere."""

    id: str  # the id of its item
    level: int  # the k of its file
    fields: Mapping[str, Any]  # the record; empty if it is no JSON object
    binding: object  # its record in the file of bindings; None without one
    has_bindings: bool  # whether there is a file of bindings
    tags: tuple[str, ...] = ()  # what is odd about its place in the file


def read_record(record: PublishedPrompt) -> Item[ConceptSpec]:
    """Return the item of a record, tagged with all that is odd about it."""
    tags = _Tags(record.tags)
    fields = record.fields
    tags.add(REPEATED_FIELD, isinstance(fields, RepeatedFields) or isinstance(record.binding, RepeatedFields))
    prompt = _text(fields.get("sentence"), tags).strip()
    tags.add(NO_PROMPT, not prompt)
    concepts = list(_concepts(fields, tags))
    lines = split_lines(_lines(fields.get("question"), tags))
    categories, skills = (_length(fields.get(key)) for key in ("categories", "skills"))
    tags.add(COUNTS_DIFFER, {categories, skills, len(lines.questions)} != {record.level + 1})
    tags.add(NOT_A_QUESTION, bool(lines.others))
    spec = _spec(concepts, lines, record.binding, tags)
    tags.add(NO_QUESTIONS, not spec.concepts)
    tags.add(NO_BINDING, record.has_bindings and record.binding is None)
    tags.add(BINDING_CHANGED, record.binding is not None and spec.binding is None)
    return Item("conceptmix", record.id, record.level, prompt, spec, tuple(tags.found))


class _Tags:
    """The tags of an item, each once, in the order in which they are found."""

    def __init__(self, given: Sequence[str]) -> None:
        self.found = dict.fromkeys(given)

    def add(self, tag: str, when: bool = True) -> None:
        if when:
            self.found[tag] = None


def _spec(concepts: Sequence[Concept], lines: QuestionLines, bound: object, tags: _Tags) -> ConceptSpec:
    """Return what the record asks for: its questions in their order, each paired with its concept by content."""
    binding, objects = _bound_or_none(concepts, bound)
    paired = pair_questions(objects, lines.questions, binding)
    stated = concept_statements(objects, binding, load_pools(profile="official-code")) if binding else None
    statements = stated or [""] * len(objects)
    by_question = {
        place: RequestedConcept(*concept, statement, lines.questions[place], ids)
        for (concept, ids), statement, place in zip(objects, statements, paired.questions, strict=True)
        if place is not None
    }
    requested = [
        by_question.get(place) or RequestedConcept(NO_CATEGORY, "", "", question)
        for place, question in enumerate(lines.questions)
    ]
    unasked = tuple(concept for concept, place in zip(concepts, paired.questions, strict=True) if place is None)
    tags.add(QUESTIONS_MOVED, bool(paired.moved))
    tags.add(NO_QUESTION, bool(unasked))
    tags.add(NO_CONCEPT, bool(paired.unpaired))
    spec = ConceptSpec(tuple(requested), binding, unasked)
    return spec if spec.drawn == tuple(concepts) else replace(spec, order=tuple(concepts))


def _bound_or_none(concepts: Sequence[Concept], data: object) -> tuple[Binding | None, Sequence[BoundConcept]]:
    """Return the binding, if it is valid and has these concepts, and the objects of each concept."""
    if data is not None:
        try:
            binding = Binding.from_json(data)
            bound = bound_concepts(concepts, binding)
            concept_statements(bound, binding, load_pools(profile="official-code"))
        except FormalimgError:
            pass  # also where a statement cannot be made: a concept of somebody else may have no words for it
        else:
            return binding, bound
    return None, [BoundConcept(concept, ()) for concept in concepts]


def _concepts(fields: Mapping[str, Any], tags: _Tags) -> Iterator[Concept]:
    """Yield the concepts of a record; what has no known category or no name is tagged."""
    categories, skills = (_list(fields.get(key), tags) for key in ("categories", "skills"))
    for category, skill in zip_longest(categories, skills):
        value = str(skill) if isinstance(skill, int) and not isinstance(skill, bool) else _text(skill, tags).strip()
        known = next((one for one in CATEGORIES if one == category), None)
        tags.add(UNKNOWN_CONCEPT, known is None or not value)
        yield Concept(known or NO_CATEGORY, value or UNKNOWN)


def _lines(found: object, tags: _Tags) -> Iterator[str]:
    """Yield the lines of the questions, which should be a list of texts."""
    for entry in found.split("\n") if isinstance(found, str) else _list(found, tags):
        yield _text(entry, tags)


def _list(found: object, tags: _Tags) -> list[Any]:
    if isinstance(found, list):
        return found
    tags.add(BROKEN_TEXT, found is not None)
    return []


def _length(found: object) -> int:
    return len(found) if isinstance(found, list) else 0


def _text(found: object, tags: _Tags) -> str:
    """Return a text that can be stored; what is no text is empty."""
    tags.add(BROKEN_TEXT, found is not None and (not is_text(found) or _REPLACED in found))
    if is_text(found):
        return found
    return found.encode("utf-8", "replace").decode("utf-8") if isinstance(found, str) else ""


_MAX_INDEX = 10**9
_MAX_DIGITS = 18
_SENTENCES = re.compile(r"\d+_sentences_k=(\d+)\.json")


class PublishedPromptFile(NamedTuple):
    """A file of prompts and its level."""

    path: Path
    level: int

    @property
    def bindings(self) -> Path:
        """The file of bindings beside it."""
        return self.path.with_name(self.path.name.replace("_sentences_", "_refined_config_"))


def find_prompt_files(place: Path) -> list[PublishedPromptFile]:
    """Return the published prompt files at a path, by level."""
    folders = [place / "sentence_collection", place] if place.is_dir() else []
    paths = [place] if place.is_file() else next(filter(None, (sorted(one.glob("*.json")) for one in folders)), [])
    found = [PublishedPromptFile(path, int(name[1])) for path in paths if (name := _SENTENCES.fullmatch(path.name))]
    if not found:
        raise FormalimgError(
            f"{place} holds no items of conceptmix: give items.jsonl, or files 300_sentences_k=1.json …"
        )
    levels = [file.level for file in found]
    twice = [level for level in levels if levels.count(level) > 1]
    if twice:
        raise FormalimgError(
            f"{place} has several files of sentences with k={twice[0]}: give a folder with one of each"
        )
    return sorted(found, key=lambda file: file.level)


def read_published_prompts(files: Iterable[PublishedPromptFile], findings: ItemFindings) -> list[Item[ConceptSpec]]:
    """Read the items of published prompt files.

    Odd records become tagged items. Only a file that is not a list in JSON is added to the findings.
    """
    items = [item for file in files for item in map(read_record, _file_records(file, findings))]
    prompts = Counter(item.prompt for item in items if item.prompt)
    return [replace(item, tags=(*item.tags, DUPLICATE_PROMPT)) if prompts[item.prompt] > 1 else item for item in items]


def write_published_prompts(items: Iterable[Item[ConceptSpec]], folder: str | Path) -> None:
    """Write items in the published format: prompts and bindings of each level; all files or none."""
    levels: dict[int, list[Item[ConceptSpec]]] = {}
    for item in in_order(items):
        levels.setdefault(item.level, []).append(item)
    texts: dict[str, str] = {}
    for level, members in sorted(levels.items()):
        sentences, bindings = [], []
        for index, item in enumerate(members, 1):
            if item.spec.binding is None:
                raise FormalimgError(f"item {item.id} has no binding: it cannot be written in the published form")
            sentences.append(_sentence(item, index))
            bindings.append({**item.spec.binding.to_json(), "index": index})
        texts[f"{len(members)}_sentences_k={level}.json"] = json.dumps(sentences, indent=4)
        texts[f"{len(members)}_refined_config_k={level}.json"] = json.dumps(bindings, indent=4)
    write_folder(Path(folder), texts)


def _sentence(item: Item[ConceptSpec], index: int) -> dict[str, object]:
    return {
        "index": index,
        "sentence": item.prompt,
        "categories": [concept.category for concept in item.spec.drawn],
        "skills": [concept.value for concept in item.spec.drawn],
        "question": [each.question for each in item.spec.concepts],
    }


def _file_records(file: PublishedPromptFile, findings: ItemFindings) -> Iterator[PublishedPrompt]:
    """Yield the records of a file, each with its binding."""
    has_bindings = file.bindings.is_file()
    bindings: dict[int, object] = {}
    for entry in _entries(file.bindings, findings):
        index = _index(entry)
        if index is not None:
            bindings[index] = None if index in bindings else entry  # nobody knows which of two is meant
    seen: set[int] = set()
    for place, entry in enumerate(_entries(file.path, findings), 1):
        index = _index(entry)
        is_odd = index is None or index in seen
        name = f"k{file.level}-x{place:03}" if is_odd else f"k{file.level}-{index:03}"
        bound = None if index is None or is_odd else bindings.get(index)
        fields = entry if isinstance(entry, dict) else {}
        tags = (ODD_INDEX,) if is_odd else ()
        yield PublishedPrompt(name, file.level, fields, bound, has_bindings and not is_odd, tags)
        seen |= set() if index is None else {index}


def _index(entry: object) -> int | None:
    index = entry.get("index") if isinstance(entry, dict) else None
    is_index = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < _MAX_INDEX
    return index if is_index else None


def _entries(path: Path, findings: ItemFindings) -> Sequence[object]:
    if not path.is_file():
        return ()  # the bindings may be missing: only the prompts are needed
    try:
        entries = parse_leniently(path.read_bytes().decode("utf-8-sig", "replace"))
    except OSError as error:
        findings.add(str(path), f"cannot be read: {error.strerror}")
        return ()
    except ValueError as error:
        findings.add(str(path), str(error))
        return ()
    if not isinstance(entries, list):
        findings.add(str(path), "must be a list of records")
        return ()
    return entries


class ScoredImage(NamedTuple):
    """Scores of one image."""

    image_path: str  # the file, as the scorer called it
    questions: tuple[str, ...]  # what was asked
    scores: tuple[int, ...]  # 1 for yes, 0 for no, one for each question; fewer where there was no answer

    @property
    def passed(self) -> bool | None:
        """Whether all answers are yes; None if a question has no score, or there are no questions."""
        return all(self.scores) if self.questions and len(self.scores) == len(self.questions) else None

    @property
    def fraction(self) -> float | None:
        """The share of questions answered with yes; None if a question has no score, or there are no questions."""
        return None if self.passed is None else sum(self.scores) / len(self.scores)


def read_scores(path: str | Path) -> list[ScoredImage]:
    """Read the images of a score file, skipping the blank lines that the published code keeps among the questions."""
    try:
        records = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} is not valid JSON, perhaps because its scorer did not end: {error}") from error
    if not isinstance(records, list):
        raise FormalimgError(f"{path} is not a score file: it must be a list of records")
    images = [record for record in records if not (isinstance(record, dict) and "proportion_all_correct" in record)]
    return [_image(record, f"{path}, record {number}") for number, record in enumerate(images, 1)]


def format_scores(images: Iterable[ScoredImage]) -> str:
    """Return a score file for images with complete scores, with the totals of the published code.

    Its `average_score_per_image` is the share of all questions that have a yes; the paper's concept fraction, the mean
    over images of their shares, is another number where images have unequally many questions.
    """
    listed = list(images)
    passed = [image.passed for image in listed]
    if not listed or None in passed:
        raise FormalimgError("only images with complete scores can be written in this format")
    totals = {
        "proportion_all_correct": sum(map(bool, passed)) / len(listed),
        "average_score_per_image": sum(sum(image.scores) for image in listed)
        / sum(len(image.scores) for image in listed),
    }
    records = [
        {"image_path": image.image_path, "questions": list(image.questions), "scores": list(image.scores)}
        for image in listed
    ]
    return json.dumps([*records, totals], indent=4)


def _image(record: Any, where: str) -> ScoredImage:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    path, questions, scores = (fields.get(name) for name in ("image_path", "questions", "scores"))
    if not (
        isinstance(path, str)
        and isinstance(questions, list)
        and all(isinstance(question, str) for question in questions)
        and isinstance(scores, list)
        and all(score in (0, 1) for score in scores)
    ):
        raise FormalimgError(f"{where}: must have image_path, questions, and scores of 0 or 1")
    asked = tuple(question.strip() for question in questions if question.strip())
    if len(scores) > len(asked):
        raise FormalimgError(f"{where}: has more scores than questions")
    return ScoredImage(path, asked, tuple(map(int, scores)))
