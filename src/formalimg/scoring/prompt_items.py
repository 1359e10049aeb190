"""Items for free prompts, which become formulas, yes/no questions or a single question.

Ids follow from the image, the prompt and its form, so that the same call finds the results of an earlier one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.aio import run_sync
from formalimg._util.record_files import iterate_table
from formalimg._util.text import truncate
from formalimg.benchmarks.items_file import encode_item
from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import (
    MAX_GRAPH_QUESTIONS,
    GraphQuestion,
    QuestionSpec,
    find_graph_problem,
    text_questions,
    whole_question,
)
from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError
from formalimg.judges.text_judge import find_text_questions
from formalimg.language.quoted_text import find_quoted_texts, remove_quoted_texts
from formalimg.models.pricing import Spending
from formalimg.runs.reader import open_run
from formalimg.scoring.user_inputs import UserImage
from formalimg.scoring.writer import QuestionWriter
from formalimg.types import Item

FREE_PROMPTS = "free-prompts"  # The suite of items that are made of free prompts
PromptForm: TypeAlias = Literal["auto", "formula", "questions", "whole"]
FORMS: tuple[PromptForm, ...] = get_args(PromptForm)
"""What prompts become: a formula, questions, one question, or the first of these that is possible."""

MAX_PROMPT = 10_000  # The most characters of a prompt
TYPICAL_QUESTIONS = 6  # Questions of a prompt that nobody has taken apart yet, for estimates


class ScoredPair(NamedTuple):
    """An image with the prompt it is scored against."""

    image: UserImage
    prompt: str


class PromptItems(NamedTuple):
    """The items built from images and prompts, with warnings and the cost of writing questions."""

    items: dict[str, Item[QuestionSpec]]  # the items, by id, each once
    ids: list[str]  # the id of the item of each pair
    warnings: list[str]  # prompts that could not be taken apart, one line each
    cost: float = 0.0  # what writing questions cost now, in US dollars


def read_spec(
    prompt: str,
    form: PromptForm = "auto",
    nouns: Collection[str] | None = (),
    *,
    partly: bool = False,
    reads_text: bool = True,
) -> QuestionSpec:
    """Convert a prompt to a spec without a chat model: quoted text, a formula, or a single question."""
    texts = find_quoted_texts(prompt) if form == "auto" and reads_text else ()
    if 0 < len(texts) <= MAX_GRAPH_QUESTIONS:
        return QuestionSpec(text_questions(texts))
    reason = ""
    if form in ("auto", "formula"):
        reading = read_formula(prompt, nouns, partly=partly or form == "formula")
        if isinstance(reading, QuestionSpec):
            return reading
        if form == "formula":
            return QuestionSpec(no_formula=str(reading))
        reason = str(reading) if partly else ""
    return QuestionSpec(whole_question(prompt), no_formula=reason)


def read_prompt_items(path: Path) -> list[Item[QuestionSpec]]:
    """Read items from a table of prompts in CSV, JSON or JSON Lines format, with the columns `id` and `prompt`."""
    items: dict[str, Item[QuestionSpec]] = {}
    for row in iterate_table(path, lambda location, reason: None):
        name, prompt = row.text(("id", "item", "item_id", "prompt_id")), row.text(("prompt", "text", "caption"))
        if not name or not prompt or len(prompt) > MAX_PROMPT:
            continue
        if (name := free_name(name, ())) in items:
            raise FormalimgError(f"{path} has two prompts with the id {truncate(name, 40, 0)!r}: give each its own")
        items[name] = prompt_item(name, prompt, read_spec(prompt))
    if not items:
        raise FormalimgError(f"{path} holds no prompts: give a table with id and prompt")
    return list(items.values())


@dataclass(frozen=True)
class PromptItemBuilder:
    """Builds items from pairs of image and prompt."""

    pairs: Sequence[ScoredPair]  # the images with their prompts
    form: PromptForm = "auto"  # what prompts become
    writer: QuestionWriter | None = None  # writes questions; None if there is nobody to ask
    # the user's own questions, which are asked of every image; None for those of the prompts
    questions: tuple[GraphQuestion, ...] | None = None
    # classes besides those of the vocabularies, if prompts may name any class; None if they may not
    nouns: Collection[str] | None = None
    reads_text: bool = False  # whether quoted text in a prompt is what it is judged by
    _specs: dict[str, QuestionSpec] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise FormalimgError(f"a prompt cannot become {self.form!r}: choose from {', '.join(FORMS)}")
        problem = None if self.questions is None else find_graph_problem(self.questions)
        if problem is not None:
            raise FormalimgError(f"your questions cannot be asked: {problem}")
        if self.questions is not None and self.form not in ("auto", "questions"):
            raise FormalimgError(f"questions of your own leave no {self.form} to judge by: give one of them")
        if not self.pairs:
            raise FormalimgError("nothing to score: give at least one image")
        if self.form == "questions" and self.questions is None and self.writer is None:
            raise FormalimgError("the questions need a chat model to write them: name one with --writer")
        for prompt in {pair.prompt for pair in self.pairs}:
            partly, reads_text = self.nouns is not None, self.reads_text
            spec = QuestionSpec(self.questions or ())
            if self.questions is None:
                spec = read_spec(prompt, self.form, self.nouns, partly=partly, reads_text=reads_text)
            if self.form == "whole" or self.writer is None or not _is_whole(spec):
                self._specs[prompt] = spec
        if self.form == "formula" and not any(spec.formula is not None for spec in self.known):
            prompt, spec = next(iter(self._specs.items()))
            raise FormalimgError(
                f"{truncate(prompt, 60, 20)!r} cannot be read as a formula ({spec.no_formula}): give --as auto, or "
                "write it in the words of docs/explanation/wording.md"
            )

    @property
    def known(self) -> list[QuestionSpec]:
        """The specs that were determined without a chat model."""
        return list(self._specs.values())

    def unwritten(self, folder: Path) -> list[str]:
        """Return the prompts whose questions are neither determined nor stored in the run folder."""
        stored = self._stored(folder)
        missing = (pair.prompt for name, pair in zip(self.ids, self.pairs, strict=True) if name not in stored)
        return [prompt for prompt in dict.fromkeys(missing) if prompt not in self._specs]

    @cached_property
    def ids(self) -> list[str]:
        """The item id of each pair, which depends on the image, the prompt and its spec or writer."""
        names = []
        for image, prompt in self.pairs:
            spec = self._specs.get(prompt)
            writer = dict(self.writer.settings) if self.writer is not None else {}
            identity = writer if spec is None else encode_item(prompt_item("0", prompt, spec))
            text = json.dumps([image.sha256, prompt, identity], sort_keys=True)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            names.append(f"{image.slug}-{digest[:10]}")
        return names

    def folder(self, runs: Path) -> Path:
        """Return the run folder for these images and prompts."""
        text = "\n".join(sorted(set(self.ids)))
        return runs / f"score-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def build(self, folder: Path, budget: float | None = None) -> PromptItems:
        """Build the items, writing questions that are not yet in the run folder."""
        to_write = self.unwritten(folder)
        spending = Spending()
        spending.budget = budget
        warnings = self._unchecked()
        written = dict(self._specs)
        if to_write:
            assert self.writer is not None, "without a writer, prompts are asked as a whole"
            writer = self.writer
            for prompt, writing in run_sync(lambda: writer.write_all(to_write, spending)).items():
                if writing.failed:
                    raise FormalimgError(f"no questions were written: {writing.reason}; try again, or give --as whole")
                if writing.questions is None:
                    warnings.append(f"{truncate(prompt, 60, 20)!r} is asked as one question: {writing.reason}")
                written[prompt] = QuestionSpec(writing.questions or whole_question(prompt))
        return PromptItems(self._make_items(folder, written), self.ids, warnings, spending.cost)

    def _make_items(self, folder: Path, specs: Mapping[str, QuestionSpec]) -> dict[str, Item[QuestionSpec]]:
        """Create the items, preferring specs stored in the run folder."""
        stored = self._stored(folder)
        return {
            name: prompt_item(name, pair.prompt, stored.get(name) or specs[pair.prompt])
            for name, pair in zip(self.ids, self.pairs, strict=True)
        }

    def _unchecked(self) -> list[str]:
        """Return warnings about prompts that are only partly checked."""
        lines = []
        texts = [prompt for prompt, spec in self._specs.items() if isinstance(find_text_questions(spec), list)]
        rests = [rest for prompt in texts if any(map(str.isalnum, rest := remove_quoted_texts(prompt)))]
        if self.reads_text and rests:
            lines.append(_format_unchecked(rests, "only the quoted text is checked"))
        left_over = [spec.left_over for spec in self.known if spec.left_over]
        if self.nouns is not None and left_over:
            lines.append(_format_unchecked(left_over, "only objects, colors, numbers and places are checked"))
        return lines

    def estimated(self, folder: Path) -> PromptItems:
        """Return the items for a cost estimate, with a typical number of questions for unwritten prompts."""
        typical = tuple(GraphQuestion(str(number), "Is it there?") for number in range(TYPICAL_QUESTIONS))
        specs = dict.fromkeys((pair.prompt for pair in self.pairs), QuestionSpec(typical)) | self._specs
        return PromptItems(self._make_items(folder, specs), self.ids, [])

    def _stored(self, folder: Path) -> dict[str, QuestionSpec]:
        """Return the specs already stored in the run folder, by item id."""
        if not (folder / "run.toml").exists():
            return {}
        with contextlib.closing(open_run(folder)) as run:
            if run.manifest.suite != FREE_PROMPTS:
                raise FormalimgError(f"{folder} holds a run of {run.manifest.suite}: choose another folder")
            items = {name: run.suite_item(name) for name in set(self.ids)}
        return {name: item.spec for name, item in items.items() if item and isinstance(item.spec, QuestionSpec)}


def _format_unchecked(rests: Sequence[str], limit: str) -> str:
    count = f"{len(rests)} prompt{'s' * (len(rests) > 1)}"
    return f"{count}: {limit}; not checked: {truncate(rests[0], 60, 20)!r}"


def prompt_item(name: str, prompt: str, spec: QuestionSpec) -> Item[QuestionSpec]:
    """Create the item for a prompt, tagged with the form of its spec."""
    form = "formula" if spec.formula is not None else "questions" if spec.questions else "unread"
    if form == "questions" and {question.category for question in spec.questions} == {"text"}:
        form = "text"
    if _is_whole(spec):
        form = "whole"
    return Item(FREE_PROMPTS, name, 1, prompt, spec, (form,), "1")


def _is_whole(spec: QuestionSpec) -> bool:
    return [question.category for question in spec.questions] == ["whole"]
