"""Published files of ConceptMix: prompts with bindings, and scores.

`300_sentences_k=3.json` is a list of records with `index` (from 1), `sentence`, `categories`, `skills` (the concepts)
and `question` (a list of lines); `300_refined_config_k=3.json` holds the bindings under the same indexes. The number in
front is only part of the name. The records are unchecked output of a chat model; odd records are read and tagged.

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
from statistics import fmean
from typing import Any, NamedTuple

from formalimg._util.io import write_folder
from formalimg._util.strict_json import is_text
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.questions import concept_statements, pair_questions, split_lines
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

_REPLACED = "\ufffd"  # What stands in place of bytes that are no text
_UNKNOWN = "unknown"  # Stands for a concept that has a category but no name
_MAX_INDEX = 10**9
_SENTENCES = re.compile(r"\d+_sentences_k=(\d+)\.json")


def find_prompt_files(source: Path) -> dict[int, Path]:
    """Return the published prompt files at a path, by level."""
    paths = [source]
    if source.is_dir():
        paths = sorted((source / "sentence_collection").glob("*.json")) or sorted(source.glob("*.json"))
    names = [(path, name) for path in paths if (name := _SENTENCES.fullmatch(path.name))]
    if not names:
        raise FormalimgError(
            f"{source} holds no items of conceptmix: give items.jsonl, or files 300_sentences_k=1.json …"
        )
    files: dict[int, Path] = {}
    for path, name in names:
        if files.setdefault(int(name[1]), path) != path:
            raise FormalimgError(
                f"{source} has several files of sentences with k={name[1]}: give a folder with one of each"
            )
    return dict(sorted(files.items()))


def read_published_prompts(files: Mapping[int, Path], findings: ItemFindings) -> list[Item[ConceptSpec]]:
    """Read the items of published prompt files; odd records become tagged items."""
    items = [item for level, path in files.items() for item in _read_file(path, level, findings)]
    prompts = Counter(item.prompt for item in items if item.prompt)
    return [replace(item, tags=(*item.tags, DUPLICATE_PROMPT)) if prompts[item.prompt] > 1 else item for item in items]


def _read_file(path: Path, level: int, findings: ItemFindings) -> Iterator[Item[ConceptSpec]]:
    bindings_path = path.with_name(path.name.replace("_sentences_", "_refined_config_"))
    has_bindings = bindings_path.is_file()
    bindings: dict[int | None, object] = {}
    for entry in _read_entries(bindings_path, findings) if has_bindings else ():  # only the prompts are needed
        index = _read_index(entry)
        bindings[index] = None if index in bindings else entry  # nobody knows which of two is meant
    indexes: set[int | None] = {None}
    for number, entry in enumerate(_read_entries(path, findings), 1):
        index = _read_index(entry)
        is_odd = index in indexes
        indexes.add(index)
        name = f"k{level}-x{number:03}" if is_odd else f"k{level}-{index:03}"
        record = _PublishedRecord(entry if isinstance(entry, dict) else {}, [ODD_INDEX] if is_odd else [])
        yield record.item(name, level, None if is_odd else bindings.get(index), has_bindings and not is_odd)


def _read_entries(path: Path, findings: ItemFindings) -> Sequence[object]:
    try:
        entries = parse_leniently(path.read_bytes().decode("utf-8-sig", "replace"))
        problem = "must be a list of records"
    except OSError as error:
        entries, problem = None, f"cannot be read: {error.strerror}"
    except ValueError as error:
        entries, problem = None, str(error)
    if not isinstance(entries, list):
        findings.add(str(path), problem)
        return ()
    return entries


def _read_index(entry: object) -> int | None:
    index = entry.get("index") if isinstance(entry, dict) else None
    is_index = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < _MAX_INDEX
    return index if is_index else None


class _PublishedRecord:
    """A record in a published prompt file, whose irregularities become tags rather than errors."""

    def __init__(self, fields: Mapping[str, Any], tags: Sequence[str]) -> None:
        self._fields = fields
        self._tags = dict.fromkeys(tags)  # each once, in the order in which they are found

    def item(self, name: str, level: int, binding: object, has_binding: bool) -> Item[ConceptSpec]:
        fields = self._fields
        self._tag(REPEATED_FIELD, isinstance(fields, RepeatedFields) or isinstance(binding, RepeatedFields))
        prompt = self._text(fields.get("sentence")).strip()
        self._tag(NO_PROMPT, not prompt)
        concepts = list(self._concepts())
        lines = fields.get("question")
        lines = lines.split("\n") if isinstance(lines, str) else self._list(lines)
        questions, other_lines = split_lines(map(self._text, lines))
        lists = [entries for key in ("categories", "skills") if isinstance(entries := fields.get(key), list)]
        lengths = {len(entries) for entries in lists} | ({0} if len(lists) < 2 else set())
        self._tag(COUNTS_DIFFER, {*lengths, len(questions)} != {level + 1})
        self._tag(NOT_A_QUESTION, bool(other_lines))
        spec = self._spec(concepts, questions, binding)
        self._tag(NO_QUESTIONS, not spec.concepts)
        self._tag(NO_BINDING, has_binding and binding is None)
        self._tag(BINDING_CHANGED, binding is not None and spec.binding is None)
        return Item("conceptmix", name, level, prompt, spec, tuple(self._tags))

    def _tag(self, tag: str, applies: bool) -> None:
        if applies:
            self._tags[tag] = None

    def _spec(self, concepts: Sequence[Concept], questions: Sequence[str], data: object) -> ConceptSpec:
        binding, bound, statements = _try_binding(concepts, data)
        paired = pair_questions(bound, questions, binding)
        by_question = {
            index: RequestedConcept(*concept, statement, questions[index], ids)
            for (concept, ids), statement, index in zip(bound, statements, paired.questions, strict=True)
            if index is not None
        }
        requested = tuple(
            by_question.get(index) or RequestedConcept(NO_CATEGORY, "", "", question)
            for index, question in enumerate(questions)
        )
        unasked = tuple(concept for concept, index in zip(concepts, paired.questions, strict=True) if index is None)
        self._tag(QUESTIONS_MOVED, bool(paired.moved))
        self._tag(NO_QUESTION, bool(unasked))
        self._tag(NO_CONCEPT, bool(paired.unpaired))
        spec = ConceptSpec(requested, binding, unasked)
        return spec if spec.drawn == tuple(concepts) else replace(spec, order=tuple(concepts))

    def _concepts(self) -> Iterator[Concept]:
        """Yield the record's concepts and tag those without a known category or a value."""
        categories, skills = (self._list(self._fields.get(key)) for key in ("categories", "skills"))
        for name, skill in zip_longest(categories, skills):
            is_number = isinstance(skill, int) and not isinstance(skill, bool)
            value = str(skill) if is_number else self._text(skill).strip()
            category = next((category for category in CATEGORIES if category == name), None)
            self._tag(UNKNOWN_CONCEPT, category is None or not value)
            yield Concept(category or NO_CATEGORY, value or _UNKNOWN)

    def _list(self, value: object) -> list[Any]:
        self._tag(BROKEN_TEXT, value is not None and not isinstance(value, list))
        return value if isinstance(value, list) else []

    def _text(self, value: object) -> str:
        """Return `value` as valid UTF-8 text, or an empty string if it is not a string."""
        self._tag(BROKEN_TEXT, value is not None and (not is_text(value) or _REPLACED in value))
        return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _try_binding(
    concepts: Sequence[Concept], data: object
) -> tuple[Binding | None, Sequence[BoundConcept], Sequence[str]]:
    """Return the binding if it is valid for these concepts, along with bound concepts and statements."""
    if data is not None:
        try:
            binding = Binding.from_json(data)
            bound = bound_concepts(concepts, binding)
            return binding, bound, concept_statements(bound, binding, load_pools(profile="official-code"))
        except FormalimgError:
            pass  # also where a statement cannot be made: a concept of somebody else may have no words for it
    return None, [BoundConcept(concept, ()) for concept in concepts], [""] * len(concepts)


def write_published_prompts(items: Iterable[Item[ConceptSpec]], folder: str | Path) -> None:
    """Write the prompts and bindings of each level in the published format, either all files or none."""
    levels: dict[int, list[Item[ConceptSpec]]] = {}
    for item in in_order(items):
        levels.setdefault(item.level, []).append(item)
    texts: dict[str, str] = {}
    for level, members in sorted(levels.items()):
        sentences, bindings = [], []
        for index, item in enumerate(members, 1):
            if item.spec.binding is None:
                raise FormalimgError(f"item {item.id} has no binding: it cannot be written in the published form")
            categories, skills = ([concept[part] for concept in item.spec.drawn] for part in (0, 1))
            questions = [requested.question for requested in item.spec.concepts]
            sentence = {"sentence": item.prompt, "categories": categories, "skills": skills, "question": questions}
            sentences.append({"index": index, **sentence})
            bindings.append({**item.spec.binding.to_json(), "index": index})
        texts[f"{len(members)}_sentences_k={level}.json"] = json.dumps(sentences, indent=4)
        texts[f"{len(members)}_refined_config_k={level}.json"] = json.dumps(bindings, indent=4)
    write_folder(Path(folder), texts)


class ScoredImage(NamedTuple):
    """Scores of one image."""

    image_path: str  # the file, as the scorer called it
    questions: tuple[str, ...]  # what was asked
    scores: tuple[int, ...]  # 1 for yes, 0 for no, one for each question; fewer where there was no answer

    @property
    def passed(self) -> bool | None:
        """Whether all questions were answered with yes; None if scores are missing or there are no questions."""
        return all(self.scores) if self.questions and len(self.scores) == len(self.questions) else None

    @property
    def fraction(self) -> float | None:
        """The fraction of questions answered with yes; None if scores are missing or there are no questions."""
        return None if self.passed is None else sum(self.scores) / len(self.scores)


def read_scores(path: str | Path) -> list[ScoredImage]:
    """Read the images in a score file, skipping blank lines among the questions."""
    try:
        records = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} is not valid JSON, perhaps because its scorer did not end: {error}") from error
    if not isinstance(records, list):
        raise FormalimgError(f"{path} is not a score file: it must be a list of records")
    images = [record for record in records if not (isinstance(record, dict) and "proportion_all_correct" in record)]
    return [_parse_image(record, f"{path}, record {number}") for number, record in enumerate(images, 1)]


def format_scores(images: Iterable[ScoredImage]) -> str:
    """Return the text of a score file for fully scored images, with the totals of the published code.

    Despite its name, `average_score_per_image` is the share of all questions answered with yes, not a mean over images.
    """
    listed = list(images)
    passed = [image.passed for image in listed]
    if not listed or None in passed:
        raise FormalimgError("only images with complete scores can be written in this format")
    totals = {
        "proportion_all_correct": sum(map(bool, passed)) / len(listed),
        "average_score_per_image": fmean(score for image in listed for score in image.scores),
    }
    return json.dumps([*(image._asdict() for image in listed), totals], indent=4)


def _parse_image(record: Any, location: str) -> ScoredImage:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    path, questions, scores = (fields.get(name) for name in ("image_path", "questions", "scores"))
    if not (
        isinstance(path, str)
        and isinstance(questions, list)
        and all(isinstance(question, str) for question in questions)
        and isinstance(scores, list)
        and all(score in (0, 1) for score in scores)
    ):
        raise FormalimgError(f"{location}: must have image_path, questions, and scores of 0 or 1")
    stripped = tuple(question.strip() for question in questions if question.strip())
    if len(scores) > len(stripped):
        raise FormalimgError(f"{location}: has more scores than questions")
    return ScoredImage(path, stripped, tuple(map(int, scores)))
