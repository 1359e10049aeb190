"""Choices for authoring CF-World: the task, and the laws, groups or prompts that it starts from."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

from formalimg.benchmarks.authoring.task import Authoring, AuthoringExtent, AuthoringPlan, AuthoringTask, WritingChoices
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CounterfactualSpec,
)
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.benchmarks.authoring.task import Reviewing

ScoreQuestions: TypeAlias = Literal["template", "model"]

_ATTEMPTS = 6
_PAIRS = 100  # as in the paper


class Law(NamedTuple):
    """A law to write groups about; without a discipline, the model chooses one."""

    law: str
    discipline: str = ""
    branch: str = ""


class NamedOutcome(NamedTuple):
    """A group whose explicit prompt names its outcome, so that the outcome can be described without these names."""

    explicit: Item[CounterfactualSpec]  # the item that tells it (L2)
    implicit: str  # the prompt that does not (L3)

    @property
    def outcome(self) -> str | None:
        """The outcome that the explicit prompt adds to the implicit one; None if it does not begin with that one."""
        start = f"{self.implicit} "
        return self.explicit.prompt.removeprefix(start) if self.explicit.prompt.startswith(start) else None


class QuestionSet(NamedTuple):
    """A set of questions to write: the item they are about, and the ids of all items that share them."""

    source: Item[CounterfactualSpec]  # whose prompt and assessment point the questions are about
    items: tuple[str, ...]  # the ids of all items that get them: explicit and implicit prompts share theirs


@dataclass(frozen=True)
class CounterfactualChoices(WritingChoices):
    """The options for authoring CF-World items."""

    suites: ClassVar[str] = CF_WORLD

    laws: tuple[Law, ...] = ()  # of groups; none for those of the shipped groups
    per_law: int = 1  # groups
    questions: ScoreQuestions = "template"  # of groups: from templates, or written by the model as in the paper
    named_outcomes: tuple[NamedOutcome, ...] = ()  # to be described without names; empty for the shipped ones
    prompts: tuple[Item[CounterfactualSpec], ...] = ()  # to write questions for; empty if groups are written

    def __post_init__(self) -> None:
        if self.questions not in get_args(ScoreQuestions):
            raise FormalimgError(f"unknown questions {self.questions!r}: choose from template and model")
        if self.per_law < 1:
            raise FormalimgError("at least one group per law must be requested")

    @property
    def made(self) -> tuple[str, ...]:
        made = {
            "--laws": self.laws,
            "--per-law": self.per_law != 1,
            "--questions": self.questions != "template",
            "--items": self.named_outcomes,
        }
        return tuple(filter(made.get, made))


@cache
def builtin_laws() -> tuple[Law, ...]:
    """Return the distinct laws of the shipped groups."""
    from formalimg.benchmarks.cfworld.items import builtin_groups  # here, since most plans are for other suites

    return tuple(dict.fromkeys(Law(group.law, group.discipline, group.branch) for group in builtin_groups()))


@cache
def builtin_outcomes() -> tuple[NamedOutcome, ...]:
    """Return the shipped groups with their named outcomes."""
    from formalimg.benchmarks.cfworld.items import builtin_groups, items_of_groups

    return collect_outcomes(items_of_groups(builtin_groups()))


def collect_outcomes(items: Iterable[Item[CounterfactualSpec]]) -> tuple[NamedOutcome, ...]:
    """Return the groups of CF-World items whose outcomes can be described."""
    groups: dict[str, dict[int, Item[CounterfactualSpec]]] = {}
    for item in items:
        levels = groups.setdefault(item.spec.group, {})
        if item.level in levels:
            raise FormalimgError(f"group {item.spec.group} has two items of level {item.level}: leave one out")
        levels[item.level] = item
    for name, levels in groups.items():
        if missing := [level for level in (2, 3) if level not in levels]:
            raise FormalimgError(f"group {name} has no item of level {missing[0]}: give whole groups")
    return tuple(NamedOutcome(levels[2], levels[3].prompt) for levels in groups.values())


def question_sets(items: Iterable[Item[CounterfactualSpec]]) -> tuple[QuestionSet, ...]:
    """Return the question sets that the items need, in item order, skipping items without an assessment point.

    As in the published data, the factual prompt of a group has its own questions and the other two prompts share
    theirs, so an assessment point in one of these two is enough. Each prompt of the rule probe has its own questions.
    """
    sharing: dict[tuple[str, bool], list[Item[CounterfactualSpec]]] = {}
    for item in items:
        name = item.id if item.suite == CF_WORLD_RULES else item.spec.group
        sharing.setdefault((name, item.level == 1), []).append(item)
    return tuple(
        QuestionSet(min(with_point, key=lambda item: item.level), tuple(item.id for item in alike))
        for alike in sharing.values()
        if (with_point := [item for item in alike if item.spec.assessment.strip()])
    )


# --- laws from a user's file

_FIELDS = Law._fields
_FIELD_NAME = re.compile(r"[a-z][a-z -]{0,39}")


def read_laws(path: Path) -> tuple[Law, ...]:
    """Read laws from a file.

    A text file has one law per line, `law | discipline | branch`, of which the last two are optional; empty lines and
    lines that begin with # are skipped. A `.csv` file has these column names in its first line; a `.toml` file has a
    list of `[[law]]` tables with these keys.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormalimgError(f"cannot read the laws in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"cannot read the laws in {path}: save it in UTF-8") from error
    read_entries = {".toml": _read_toml, ".csv": _read_csv}.get(path.suffix.lower(), _read_lines)
    laws: dict[str, Law] = {}
    problems: list[str] = []
    for location, entry in read_entries(text, path):
        law = Law(*(" ".join(str(entry.get(name) or "").split()) for name in _FIELDS))
        problem = "this law occurs twice" if law.law.lower() in laws else _find_problem(law, entry)
        if problem:
            problems.append(f"{path}, {location}: {problem}")
        laws[law.law.lower()] = law
    if problems:
        raise ItemsError(problems[:20])
    if not laws:
        raise FormalimgError(f"{path} holds no laws: write one per line, as in: Ice floats on water. | physics")
    return tuple(laws.values())


def _read_lines(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            parts = [part.strip() for part in line.split("|")]
            names = (*_FIELDS, *(f"part {number}" for number in range(4, len(parts) + 1)))
            yield f"line {number}", dict(zip(names, parts, strict=False))


def _read_csv(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    rows = csv.DictReader(io.StringIO(text))
    if "law" not in (rows.fieldnames or ()):
        raise FormalimgError(f"{path}, line 1: the columns are law, discipline, branch; law is missing")
    for row in rows:
        yield f"line {rows.line_num}", {name or "one more column": value for name, value in row.items()}


def _read_toml(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    try:
        tables = tomllib.loads(text).get("law")
    except tomllib.TOMLDecodeError as error:
        raise FormalimgError(f"{path} is not valid TOML: {error}") from error
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise FormalimgError(f'{path}: laws are tables, as in [[law]] law = "Ice floats on water."')
    yield from ((f"law {number}", table) for number, table in enumerate(tables, 1))


def _find_problem(law: Law, entry: Mapping[str, object]) -> str | None:
    from formalimg.benchmarks.cfworld.group_checks import find_unsafe_word  # here: most plans read no laws

    unknown = [name for name in entry if name not in _FIELDS]
    if unknown:
        return f"unknown {unknown[0]}: a law has {', '.join(_FIELDS)}"
    if any(not isinstance(value, str | None) for value in entry.values()):
        return "law, discipline and branch must be texts"
    if not law.law or not law.law[0].isupper() or law.law[-1] not in ".!?" or not law.law.isprintable():
        return "a law is a sentence: begin it with a capital, and end it with a full stop"
    if any(word and not _FIELD_NAME.fullmatch(word) for word in (law.discipline, law.branch)):
        return "discipline and branch are small letters, as in physics and optics"
    if law.branch and not law.discipline:
        return "a branch needs its discipline"
    unsafe = find_unsafe_word(law.law)
    return f"the law says {unsafe!r}" if unsafe else None


# --- tasks

_SUITES = {"groups": CF_WORLD, "denominalise": CF_WORLD_DENOMINALISED, "pairs": CF_WORLD_ATTRIBUTES}  # By --task
_UNITS = {CF_WORLD: "groups", CF_WORLD_DENOMINALISED: "outcomes", CF_WORLD_ATTRIBUTES: "pairs"}
_OPTIONS = {
    CF_WORLD: ("--laws", "--per-law", "--questions"),
    CF_WORLD_DENOMINALISED: ("--items",),
    CF_WORLD_ATTRIBUTES: (),
}


class CfWorldWriting(Authoring):
    """Authoring of CF-World: groups for laws, questions, descriptions of outcomes, or rare pairs."""

    options = frozenset(("--task", "--laws", "--per-law", "--questions", "--items"))
    choices = CounterfactualChoices()
    level_of_groups = 2

    def choose(self, name: str, options: Mapping[str, Any]) -> tuple[str, WritingChoices]:
        from formalimg.benchmarks.loader import load

        task, laws, items = options.get("--task"), options.get("--laws"), options.get("--items")
        for_questions = task == "questions"
        if task is not None and name not in (CF_WORLD, CF_WORLD_RULES):
            raise FormalimgError(f"--task: for {CF_WORLD} only, not for {name}")
        if task is not None and name == CF_WORLD_RULES and not for_questions:
            raise FormalimgError(f"--task {task}: only questions are written for {CF_WORLD_RULES}")
        if for_questions and items is None:
            raise FormalimgError("questions are written for prompts that exist: name their items with --items")
        return _SUITES.get(task or "", name), CounterfactualChoices(
            () if laws is None else read_laws(laws),
            options.get("--per-law", 1),
            options.get("--questions", "template"),
            () if items is None or for_questions else collect_outcomes(load(CF_WORLD, items)),
            tuple(load(name, items)) if for_questions else (),
        )

    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        usual = _extent_of_questions(name, choices) if choices.prompts else _extent_of_items(name, choices, per_level)
        if levels not in ((), usual.levels):
            raise FormalimgError(f"{name} is always written with all its levels: leave --levels out")
        if per_level not in (0, usual.per_level):
            advice = "say --per-law" if name == CF_WORLD and not choices.prompts else "choose the items"
            raise FormalimgError(f"how many items {name} gets follows from what it is written from: {advice}")
        return usual

    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        from formalimg.benchmarks.cfworld.authoring import group_task, prompt_tasks, question_task  # heavy

        if plan.choices.prompts:
            return question_task.QuestionAuthoring(plan, prompts)
        if plan.suite == CF_WORLD:
            return group_task.GroupAuthoring(plan, prompts)
        if plan.suite == CF_WORLD_ATTRIBUTES:
            return prompt_tasks.PairAuthoring(plan, prompts)
        return prompt_tasks.DescriptionAuthoring(plan, prompts)

    def is_checked(self, plan: AuthoringPlan) -> bool:
        return not plan.choices.prompts

    def unit(self, plan: AuthoringPlan) -> str:
        return "prompts" if plan.choices.prompts else _UNITS[plan.suite]

    def reviewing(self) -> Reviewing:
        from formalimg.benchmarks.cfworld.authoring.review_desk import REVIEWING

        return REVIEWING


def _extent_of_items(suite: str, choices: CounterfactualChoices, per_level: int) -> AuthoringExtent:
    if suite == CF_WORLD_RULES:
        raise FormalimgError(
            f"items of {CF_WORLD_RULES} cannot be written, only their questions: add --task questions --items PATH"
        )
    if suite not in _OPTIONS:
        raise FormalimgError(f"items of {suite} cannot be written: choose {', '.join(_OPTIONS)}")
    wrong = [option for option in choices.made if option not in _OPTIONS[suite]]
    if wrong:
        raise FormalimgError(f"{', '.join(wrong)}: not for {suite}")
    if suite == CF_WORLD:
        return AuthoringExtent((1, 2, 3), len(choices.laws or builtin_laws()) * choices.per_law, _ATTEMPTS)
    if suite == CF_WORLD_DENOMINALISED:
        return AuthoringExtent((2,), len(choices.named_outcomes or builtin_outcomes()), _ATTEMPTS)
    return AuthoringExtent((1, 2), per_level or _PAIRS, _ATTEMPTS)


def _extent_of_questions(suite: str, choices: CounterfactualChoices) -> AuthoringExtent:
    if suite not in (CF_WORLD, CF_WORLD_RULES):
        raise FormalimgError(f"questions are written for prompts of {CF_WORLD} or {CF_WORLD_RULES}, not of {suite}")
    if choices.made:
        raise FormalimgError(f"{', '.join(choices.made)}: not for questions of prompts that exist")
    sets = question_sets(choices.prompts)
    if not sets:
        raise FormalimgError("none of these prompts has an assessment point, which questions are about: give it")
    return AuthoringExtent((1, 2, 3) if suite == CF_WORLD else (1, 2), len(sets), _ATTEMPTS)
