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
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import write_folder
from formalimg.benchmarks.conceptmix.published_record import PublishedPrompt, read_record
from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.items_file import in_order
from formalimg.benchmarks.odd_records import DUPLICATE_PROMPT, ODD_INDEX
from formalimg.benchmarks.record import ItemFindings, parse_leniently
from formalimg.errors import FormalimgError
from formalimg.types import Item

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
