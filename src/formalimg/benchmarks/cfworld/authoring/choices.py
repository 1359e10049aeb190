"""Options and sources for authoring CF-World."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

from formalimg.benchmarks.authoring.writing_plan import AuthoringExtent, WritingChoices
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.errors import FormalimgError
from formalimg.types import Item

GROUPS, DENOMINALISED, PAIRS = "cf-world", "cf-world-denominalised", "cf-world-attributes"
"""The suites that can be written, each a task of its own."""

RULES = "cf-world-rules"
"""The suite of which only questions are written."""

ScoreQuestions: TypeAlias = Literal["template", "model"]
"""Where questions come from: a template for each dimension, or the chat model, as in the paper."""

_ATTEMPTS = 6
_PAIRS = 100  # as in the paper


class Law(NamedTuple):
    """A law to write groups about; the model chooses its field where none is given."""

    law: str
    discipline: str = ""
    branch: str = ""


class NamedOutcome(NamedTuple):
    """A group whose explicit prompt names its outcome, to be described without names."""

    explicit: Item[CounterfactualSpec]  # the item that tells it (L2)
    implicit: str  # the prompt that does not (L3)

    @property
    def outcome(self) -> str | None:
        """What the explicit prompt adds; None if it does not begin with the implicit one, letter by letter."""
        kept = f"{self.implicit} "
        return self.explicit.prompt.removeprefix(kept) if self.explicit.prompt.startswith(kept) else None


class QuestionSet(NamedTuple):
    """Questions to be written: for one prompt, and for all items that are judged by the same."""

    asked: Item[CounterfactualSpec]  # the item whose prompt and assessment point the questions are about
    # the ids of all items that get them: the implicit one of a group has those of the explicit one
    items: tuple[str, ...]


@dataclass(frozen=True)
class CounterfactualChoices(WritingChoices):
    """Sources of CF-World items."""

    suites: ClassVar[str] = GROUPS

    laws: tuple[Law, ...] = ()  # for groups: the laws; none for those of the groups that ship
    per_law: int = 1  # for groups: how many of each law
    questions: ScoreQuestions = "template"  # for groups: where the questions come from
    # for outcomes without names: the groups that name them; empty for the shipped ones
    named_outcomes: tuple[NamedOutcome, ...] = ()
    # for questions: the items to write them for, of cf-world or of its rules; empty if groups are written
    prompts: tuple[Item[CounterfactualSpec], ...] = ()

    def __post_init__(self) -> None:
        if self.questions not in get_args(ScoreQuestions):
            raise FormalimgError(f"unknown questions {self.questions!r}: known are template and model")
        if self.per_law < 1:
            raise FormalimgError("at least one group per law must be asked for")

    @property
    def made(self) -> tuple[str, ...]:
        """Return the options that differ from their defaults."""
        usual = {"--laws": not self.laws, "--per-law": self.per_law == 1, "--questions": self.questions == "template"}
        return tuple(name for name, kept in {**usual, "--items": not self.named_outcomes}.items() if not kept)


@cache
def shipped_laws() -> tuple[Law, ...]:
    """Return the laws of the shipped groups, each once."""
    from formalimg.benchmarks.cfworld.items import builtin_groups  # here, since most plans are for other suites

    return tuple(dict.fromkeys(Law(group.law, group.discipline, group.branch) for group in builtin_groups()))


@cache
def shipped_outcomes() -> tuple[NamedOutcome, ...]:
    """Return the shipped groups with their named outcomes."""
    from formalimg.benchmarks.cfworld.items import builtin_groups, items_of_groups

    return named_outcomes(items_of_groups(builtin_groups()))


def named_outcomes(items: Iterable[Item[CounterfactualSpec]]) -> tuple[NamedOutcome, ...]:
    """Return the groups of CF-World items whose outcomes can be described."""
    levels: dict[str, dict[int, Item[CounterfactualSpec]]] = {}
    for item in items:
        known = levels.setdefault(item.spec.group, {})
        if item.level in known:
            raise FormalimgError(f"group {item.spec.group} has two items of level {item.level}: leave one out")
        known[item.level] = item
    for name, known in levels.items():
        for level in (2, 3):
            if level not in known:
                raise FormalimgError(f"group {name} has no item of level {level}: give whole groups")
    return tuple(NamedOutcome(known[2], known[3].prompt) for known in levels.values())


def question_sets(items: Iterable[Item[CounterfactualSpec]]) -> tuple[QuestionSet, ...]:
    """Return the questions that prompts need, in their order; none for prompts without an assessment point.

    As in the published data, the factual prompt of a group has its own, and the other two share theirs; so the
    assessment point of one of the two is enough. Each prompt of the rule probe has its own.
    """
    alike: dict[tuple[str, bool], list[Item[CounterfactualSpec]]] = {}
    for item in items:
        sharing_name = item.id if item.suite == RULES else item.spec.group
        alike.setdefault((sharing_name, item.level == 1), []).append(item)
    found = []
    for sharing in alike.values():
        with_point = [item for item in sharing if item.spec.assessment.strip()]
        if with_point:
            asked = min(with_point, key=lambda item: item.level)
            found.append(QuestionSet(asked, tuple(item.id for item in sharing)))
    return tuple(found)


def default_extent(
    suite: str, choices: CounterfactualChoices, levels: tuple[int, ...], per_level: int
) -> AuthoringExtent:
    """Return the extent of an authoring run, with defaults for what is not given."""
    fitting = {
        GROUPS: ("--laws", "--per-law", "--questions"),
        DENOMINALISED: ("--items",),
        PAIRS: (),
    }
    if choices.prompts:
        return _extent_of_questions(suite, choices, levels, per_level)
    if suite == RULES:
        raise FormalimgError(
            f"items of {RULES} cannot be written, only their questions: add --task questions --items PATH"
        )
    if suite not in fitting:
        raise FormalimgError(f"items of {suite} cannot be written: choose {', '.join(fitting)}")
    wrong = [option for option in choices.made if option not in fitting[suite]]
    if wrong:
        raise FormalimgError(f"{', '.join(wrong)}: not for {suite}")
    match suite:
        case "cf-world":
            usual = AuthoringExtent((1, 2, 3), len(choices.laws or shipped_laws()) * choices.per_law, _ATTEMPTS)
        case "cf-world-denominalised":
            usual = AuthoringExtent((2,), len(choices.named_outcomes or shipped_outcomes()), _ATTEMPTS)
        case _:
            usual = AuthoringExtent((1, 2), per_level or _PAIRS, _ATTEMPTS)
    return _checked_extent(suite, usual, levels, per_level, "say --per-law" if suite == GROUPS else "choose the items")


def _extent_of_questions(
    suite: str, choices: CounterfactualChoices, levels: tuple[int, ...], per_level: int
) -> AuthoringExtent:
    if suite not in (GROUPS, RULES):
        raise FormalimgError(f"questions are written for prompts of {GROUPS} or {RULES}, not of {suite}")
    if choices.made:
        raise FormalimgError(f"{', '.join(choices.made)}: not for questions of prompts that exist")
    sets = question_sets(choices.prompts)
    if not sets:
        raise FormalimgError("none of these prompts has an assessment point, which questions are about: give it")
    usual = AuthoringExtent((1, 2, 3) if suite == GROUPS else (1, 2), len(sets), _ATTEMPTS)
    return _checked_extent(suite, usual, levels, per_level, "choose the items")


def _checked_extent(
    suite: str, usual: AuthoringExtent, levels: tuple[int, ...], per_level: int, advice: str
) -> AuthoringExtent:
    if levels not in ((), usual.levels):
        raise FormalimgError(f"{suite} is always written with all its levels: leave --levels out")
    if per_level not in (0, usual.per_level):
        raise FormalimgError(f"how many items {suite} gets follows from what it is written from: {advice}")
    return usual
