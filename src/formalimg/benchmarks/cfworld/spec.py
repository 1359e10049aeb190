"""Groups and specs of CF-World: suite names, levels, weighted questions, the prompts of a law, and their records.

In an items file a spec has the fields `group`, `assessment` and `questions`; a question has `dimension`, `question`,
`criteria` and `weight`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.record import Record
from formalimg.errors import FormalimgError

CF_WORLD = "cf-world"
CF_WORLD_RULES = "cf-world-rules"
CF_WORLD_ATTRIBUTES = "cf-world-attributes"
CF_WORLD_DENOMINALISED = "cf-world-denominalised"

FIELD_TAGGED = (CF_WORLD, CF_WORLD_DENOMINALISED)  # The suites whose items are tagged with a field of knowledge
CF_WORLD_SUITES = (CF_WORLD, CF_WORLD_RULES, CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED)  # The benchmark, its probes

Level: TypeAlias = Literal[1, 2, 3]
LEVELS: tuple[Level, ...] = get_args(Level)
"""1 factual, 2 explicit counterfactual (the outcome is stated), 3 implicit counterfactual (it has to be deduced)."""

Dimension: TypeAlias = Literal["integrity", "assessment", "logic", "adherence"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
"""What a question is about: the image as such, the assessment point, the logic of the scene, or the prompt."""

WEIGHTS: dict[Dimension, float] = {"integrity": 3, "assessment": 15, "logic": 8, "adherence": 2}
"""Weight of the questions of each dimension."""


@dataclass(frozen=True)
class WeightedQuestion:
    """A weighted question about an image, answered with a score from 0 to 1."""

    dimension: Dimension
    question: str
    criteria: str  # which score means what
    weight: float


@dataclass(frozen=True)
class CounterfactualSpec:
    """The specification of an item of CF-World or one of its probes."""

    group: str  # the group it belongs to: its three levels, or the variants of a rule or of a pair
    assessment: str  # what decides, in one sentence; empty for published data that have none
    # the questions of all dimensions; none for published prompts without any, which cannot be scored
    questions: tuple[WeightedQuestion, ...]


class Field(NamedTuple):
    """A field of knowledge to which groups belong."""

    discipline: str
    branch: str = ""


FIELDS: Mapping[str, Field] = {
    "mechanics": Field("physics", "mechanics"),
    "optics": Field("physics", "optics"),
    "thermodynamics": Field("physics", "thermodynamics"),
    "electromagnetism": Field("physics", "electromagnetism"),
    "astronomy": Field("physics", "astronomy"),
    "biology": Field("biology"),
    "chemistry": Field("chemistry"),
    "geography": Field("geography"),
    "sociology": Field("sociology"),
}
"""The fields, by the names of their files in `groups/`."""


@dataclass(frozen=True)
class CounterfactualGroup:
    """A law and its counterfactual, with three prompts of increasing difficulty."""

    id: str  # its name, such as optics-001; fit to be a file name
    discipline: str  # physics, biology, chemistry, geography or sociology
    branch: str  # of physics, such as optics; empty for others
    law: str  # the law as it is
    changed: str  # the law as it is in the counterfactual world
    factual: str  # the prompt of an ordinary scene under the law (L1)
    implicit: str  # the prompt that gives the changed law and the scene, and not what comes of it (L3)
    outcome: str  # what a camera would see, as the sentence that makes the implicit prompt explicit (L2 = L3 + this)
    described: str  # the same outcome without the names of objects and looks: said by what they are like
    shows_factual: str  # what decides about an image of L1
    shows: str  # what decides about an image of L2 and L3

    @property
    def explicit(self) -> str:
        """The prompt with the changed law, the scene, and its outcome (L2)."""
        return f"{self.implicit} {self.outcome}"

    @property
    def denominalised(self) -> str:
        """The explicit prompt with the outcome described instead of named."""
        return f"{self.implicit} {self.described}"

    def prompt(self, level: Level) -> str:
        """Return the prompt of a level."""
        return {1: self.factual, 2: self.explicit, 3: self.implicit}[level]

    def assessment(self, level: Level) -> str:
        """Return the assessment point of a level, which decides about its images."""
        return self.shows_factual if level == 1 else self.shows

    @classmethod
    def from_fields(cls, record: Mapping[str, Any]) -> CounterfactualGroup:
        """Create a group from the fields of a record."""
        names = [field.name for field in fields(cls)]
        group = record.get("id", "without an id")
        for name in names:
            if not isinstance(record.get(name), str):
                raise FormalimgError(f"group {group}: {name} is missing, or no text")
        unknown = sorted(set(record) - set(names))
        if unknown:
            raise FormalimgError(f"group {group}: unknown field {unknown[0]!r}: a group has {', '.join(names)}")
        return cls(**{name: record[name] for name in names})


# --- records of items (see `ItemForm`)

NEEDED: tuple[str, ...] = ("group", "assessment", "questions")
OPTIONAL: tuple[str, ...] = ()
PROOF: tuple[str, ...] = ()
SPEC: type = CounterfactualSpec

_TEXTS = ("dimension", "question", "criteria")


def fields_of(spec: CounterfactualSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the spec as fields of an item record."""
    return {
        "group": spec.group,
        "assessment": spec.assessment,
        "questions": [asdict(question) for question in spec.questions],
    }


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> CounterfactualSpec | None:
    """Parse the spec of a record; return None, with findings, if it is not valid."""
    group, assessment = record.name("group"), record.text("assessment", empty=True)
    questions = record.fields["questions"]
    if level not in LEVELS:
        record.wrong(f"the level is {level}, but levels are 1 (factual), 2 (explicit) and 3 (implicit)")
    if not isinstance(questions, list) or not all(map(_is_question, questions)):
        record.wrong(f"questions must be a list of objects with {', '.join(_TEXTS)} (texts) and a weight above 0")
        return None
    return None if group is None or assessment is None else build_spec(record.fields)


def build_spec(record: dict[str, Any]) -> CounterfactualSpec:
    """Return the spec in fields that are known to be valid, without checking them."""
    questions = tuple(WeightedQuestion(**question) for question in record["questions"])
    return CounterfactualSpec(record["group"], record["assessment"], questions)


def canonical_text(spec: CounterfactualSpec) -> str:
    """Return a spec as one text: its fields as JSON."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_question(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == {*_TEXTS, "weight"}
        and all(is_text(entry[name]) and entry[name].strip() for name in _TEXTS)
        and entry["dimension"] in DIMENSIONS
        and isinstance(entry["weight"], int | float)
        and not isinstance(entry["weight"], bool)
        and 0 < entry["weight"] < 1_000
    )
