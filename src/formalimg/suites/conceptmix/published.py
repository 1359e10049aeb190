"""Published files of ConceptMix: prompts with bindings, and scores.

`300_sentences_k=3.json` is a list of records with `index` (from 1), `sentence`, `categories`, `skills` (the concepts)
and `question` (a list of lines); `300_refined_config_k=3.json` holds the bindings under the same indexes. The number in
front is only part of the name.

`<model>_k=<k>_score.json` is a list of records with `image_path`, `questions` and `scores`, and a last one with
`proportion_all_correct` and `average_score_per_image`. The published code leaves out a question without an answer, and
then counts the image as fully correct; so the totals are recomputed from the records, and such images are unscored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, cast

from formalimg._util.io import write_folder
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.binding import bound_concepts
from formalimg.suites.conceptmix.pools import load_pools
from formalimg.suites.conceptmix.questions import concept_statements
from formalimg.suites.conceptmix.spec import (
    CATEGORIES,
    Binding,
    BindingError,
    BoundConcept,
    Category,
    Concept,
    ConceptSpec,
    RequestedConcept,
)
from formalimg.suites.item import Item, in_order
from formalimg.suites.record import ItemFindings

BINDING_CHANGED = "binding-changed"
"""Tag of an item whose published binding does not have the concepts that the item was drawn with.

A chat model filled in these bindings, unchecked. What the item asks can
still be judged, so it is kept, without the binding.
"""

_SENTENCES = re.compile(r"\d+_sentences_k=(\d+)\.json")
_NUMBERING = re.compile(r"^\s*(?:question\s*)?#?\d+\s*[.):]\s*", re.IGNORECASE)


class PublishedPromptFile(NamedTuple):
    """A file of prompts and its level."""

    path: Path
    level: int

    @property
    def bindings(self) -> Path:
        """The file of bindings beside it."""
        return self.path.with_name(self.path.name.replace("_sentences_", "_refined_config_"))


def find_prompt_files(place: Path) -> list[PublishedPromptFile]:
    """Return the published prompt files at a path, by level.

    Raises:
        FormalimgError: if it means none, or several of one level.
    """
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
    """Read the items of published prompt files; problems are added to the findings."""
    items = []
    for file in files:
        bindings = _by_index(file.bindings, findings)
        for index, record in _by_index(file.path, findings).items():
            where = f"{file.path}, index {index}"
            item = _item(record, index, file.level, bindings.get(index), where, findings)
            if item is not None:
                items.append(item)
    return items


def write_published_prompts(items: Iterable[Item[ConceptSpec]], folder: str | Path) -> None:
    """Write items in the published format: prompts and bindings of each level; all files or none.

    Raises:
        FormalimgError: if the folder is not empty, or an item has no binding.
    """
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
    asked = item.spec.concepts
    return {
        "index": index,
        "sentence": item.prompt,
        "categories": [each.category for each in asked],
        "skills": [each.value for each in asked],
        "question": [each.question for each in asked],
    }


def _by_index(path: Path, findings: ItemFindings) -> dict[int, Mapping[str, Any]]:
    """Return the records of a file by index."""
    found: dict[int, Mapping[str, Any]] = {}
    for record in _records(path, findings):
        index = record.get("index") if isinstance(record, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < 10**9 or index in found:
            findings.add(f"{path}, index {index}", "each record must have an index of its own, a whole number")
        else:
            found[index] = record
    return found


def _records(path: Path, findings: ItemFindings) -> Sequence[Any]:
    if not path.is_file():
        return ()  # the bindings may be missing: only the prompts are needed
    try:
        records = loads_strict(path.read_text(encoding="utf-8"))
    except OSError as error:
        findings.add(str(path), f"cannot be read: {error.strerror}")
        return ()
    except (ValueError, RecursionError) as error:
        findings.add(str(path), f"not valid JSON: {error}")
        return ()
    if not isinstance(records, list):
        findings.add(str(path), "must be a list of records")
        return ()
    return records


def _item(
    record: Mapping[str, Any], index: int, level: int, bound: object, where: str, findings: ItemFindings
) -> Item[ConceptSpec] | None:
    sentence, categories, skills, lines = (record.get(key) for key in ("sentence", "categories", "skills", "question"))
    if not is_text(sentence) or not sentence.strip():
        findings.add(where, "sentence must be text and not empty")
        return None
    if not (_is_string_list(categories) and _is_string_list(skills) and _is_string_list(lines)):
        findings.add(where, "categories, skills and question must be lists of texts")
        return None
    if not all(map(str.strip, skills)):
        findings.add(where, "skills must not be empty")
        return None
    questions = _questions(lines)
    counts = (len(categories), len(skills), len(questions))
    if set(counts) != {level + 1}:
        findings.add(where, f"it needs {level + 1} categories, skills and questions, but has {counts}")
        return None
    if strange := [category for category in categories if category not in CATEGORIES]:
        findings.add(where, f"unknown category {strange[0]!r}")
        return None
    concepts = [Concept(cast(Category, category), skill) for category, skill in zip(categories, skills, strict=True)]
    binding, found = _bound_or_none(concepts, bound)
    stated = (
        concept_statements(found, binding, load_pools(profile="official-code")) if binding else ("",) * len(concepts)
    )
    asked = tuple(
        RequestedConcept(concept.category, concept.value, statement, question, each.objects)
        for concept, statement, question, each in zip(concepts, stated, questions, found, strict=True)
    )
    tags = (BINDING_CHANGED,) if bound is not None and binding is None else ()
    return Item("conceptmix", f"k{level}-{index:03}", level, sentence.strip(), ConceptSpec(asked, binding), tags)


def _is_string_list(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(map(is_text, found))


def _bound_or_none(concepts: Sequence[Concept], data: object) -> tuple[Binding | None, Sequence[BoundConcept]]:
    """Return the binding, if it is valid and has these concepts, and the objects of each concept."""
    if data is not None:
        try:
            binding = Binding.from_json(data)
            return binding, bound_concepts(concepts, binding)
        except BindingError:
            pass
    return None, [BoundConcept(concept, ()) for concept in concepts]


def _questions(lines: Sequence[str]) -> list[str]:
    """Return the questions among the lines of a chat model's answer, without numbering, blank lines and preambles."""
    asked = [_NUMBERING.sub("", line).strip() for line in lines]
    return [line for line in asked if line.endswith("?")]


class ScoredImage(NamedTuple):
    """Scores of one image.

    Attributes:
        image_path: the file, as the scorer called it.
        questions: what was asked.
        scores: 1 for yes, 0 for no, one for each question; fewer where there was no answer.
    """

    image_path: str
    questions: tuple[str, ...]
    scores: tuple[int, ...]

    @property
    def passed(self) -> bool | None:
        """Whether all answers are yes; None if a question has no score, or there are no questions."""
        return all(self.scores) if self.questions and len(self.scores) == len(self.questions) else None

    @property
    def fraction(self) -> float | None:
        """The share of questions answered with yes; None if a question has no score, or there are no questions."""
        return None if self.passed is None else sum(self.scores) / len(self.scores)


def read_scores(path: str | Path) -> list[ScoredImage]:
    """Read the images of a score file, skipping the blank lines that the published code keeps among the questions.

    Raises:
        FormalimgError: if it is not a score file.
    """
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
    """Return a score file for images with complete scores, with recomputed totals.

    Raises:
        FormalimgError: if there is none, or one lacks a score.
    """
    listed = list(images)
    passed = [image.passed for image in listed]
    fractions = [image.fraction for image in listed]
    known = [fraction for fraction in fractions if fraction is not None]
    if not listed or len(known) < len(listed):
        raise FormalimgError("only images with complete scores can be written in this format")
    totals = {
        "proportion_all_correct": sum(map(bool, passed)) / len(listed),
        "average_score_per_image": sum(known) / len(known),
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
