"""Items of CF-World and its probes (rules, attributes, denominalised), with template questions about their images.

The groups, rules and pairs ship with the package as TOML files.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    FIELDS,
    LEVELS,
    WEIGHTS,
    CounterfactualGroup,
    CounterfactualSpec,
    Dimension,
    Level,
    WeightedQuestion,
)
from formalimg.errors import FormalimgError
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.rewards.tasks import OwnQuestion


@cache
def read_package_toml(name: str) -> dict[str, Any]:
    """Return the parsed content of a TOML file of this package."""
    return tomllib.loads((files("formalimg.benchmarks.cfworld") / name).read_text(encoding="utf-8"))


# --- template questions


def template_score_questions(shows: str, *, law: str = "", changed: str = "") -> tuple[WeightedQuestion, ...]:
    """Return the weighted questions about an image, generated from templates instead of by a chat model."""
    values = {"shows": _as_clause(shows), "law": _as_clause(law), "changed": _as_clause(changed)}
    templates = read_package_toml("questions.toml")
    chosen: dict[Dimension, Mapping[str, str]] = {"integrity": templates["integrity"]}
    if law or changed:
        chosen["logic"] = templates["logic"]["counterfactual" if changed else "factual"]
    chosen["assessment"] = templates["assessment"]
    return tuple(
        WeightedQuestion(dimension, texts["question"].format(**values), texts["criteria"], WEIGHTS[dimension])
        for dimension, texts in chosen.items()
    )


def _as_clause(sentence: str) -> str:
    text = sentence.strip().rstrip(".!")
    first, _, rest = text.partition(" ")
    is_name = (len(first) == 1 and first != "A") or first[1:] != first[1:].lower()
    return text if is_name or not rest else f"{first.lower()} {rest}"


def rule_spec(group: str, shows: str) -> CounterfactualSpec:
    """Return the spec of a rule-probe prompt, with a single question about the consequence of the rule."""
    return CounterfactualSpec(group, shows, template_score_questions(shows)[-1:])


def pair_spec(group: str, a: str, b: str, prompt: str) -> CounterfactualSpec:
    """Return the spec of an attribute-probe prompt, with a single question about both objects."""
    values = {"a": a, "b": b, "prompt": prompt.rstrip(".")}
    texts = read_package_toml("pair_question.toml")
    question = texts["question"].format(**values)
    questions = (WeightedQuestion("assessment", question, texts["criteria"], WEIGHTS["assessment"]),)
    return CounterfactualSpec(group, texts["shows"].format(**values), questions)


def pair_objects(spec: CounterfactualSpec, prompt: str) -> tuple[str, str] | None:
    """Return the two objects in a spec made by `pair_spec`; None for any other spec."""
    if len(spec.questions) != 1:
        return None
    pattern = re.escape(read_package_toml("pair_question.toml")["question"].replace("{prompt}", prompt.rstrip(".")))
    pattern = pattern.replace(re.escape("{a}"), "(?P<a>.+)").replace(re.escape("{b}"), "(?P<b>.+)")
    match = re.fullmatch(pattern, spec.questions[0].question)
    return (match["a"], match["b"]) if match and pair_spec(spec.group, match["a"], match["b"], prompt) == spec else None


def make_question_item(prompt: str, questions: Sequence[OwnQuestion]) -> Item[CounterfactualSpec]:
    """Return an item with users' own questions; questions of the same dimension share its weight."""
    weighted = tuple(
        WeightedQuestion(cast(Dimension, question.kind), question.question, question.criteria or "", question.weight)
        for question in questions
    )
    return Item("cf-world", "questions", 1, prompt, CounterfactualSpec("", "", weighted))


# --- groups


def builtin_groups() -> list[CounterfactualGroup]:
    """Return all built-in groups, field by field, in the order of their files."""
    groups = []
    for name, field in FIELDS.items():
        for number, entry in enumerate(read_package_toml(f"groups/{name}.toml")["group"], 1):
            fields = {"id": f"{name}-{number:03}", **field._asdict(), **entry}
            del fields["plain"]  # of the plain scene, which no item has
            fields["described"] = replace_nouns(entry["outcome"], entry["described"])
            groups.append(CounterfactualGroup.from_fields(fields))
    return groups


def replace_nouns(outcome: str, phrases: Mapping[str, str]) -> str:
    """Return an outcome with its target nouns replaced by descriptive phrases, otherwise unchanged."""
    pattern = re.compile(
        "|".join(rf"(?<!\w){re.escape(noun)}(?!\w)" for noun in sorted(phrases, key=len, reverse=True))
    )
    counts = Counter(pattern.findall(outcome))
    for noun in phrases:
        if counts[noun] != 1:
            raise FormalimgError(f"the outcome does not say {noun!r} exactly once: {outcome}")
    described = pattern.sub(lambda match: phrases[match[0]], outcome)
    return re.sub(r",([,.])", r"\1", described)  # a phrase that is set off by commas, before the end of a clause


def items_of_groups(groups: Iterable[CounterfactualGroup], version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the three items of each group, with template questions."""
    return [
        Item(
            CF_WORLD,
            f"{group.id}-l{level}",
            level,
            group.prompt(level),
            _build_spec(group, level),
            _field_tags(group),
            version,
        )
        for group in groups
        for level in LEVELS
    ]


def denominalised_items(groups: Iterable[CounterfactualGroup], version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the explicit item of each group with its outcome described, with the same questions."""
    return [
        Item(
            CF_WORLD_DENOMINALISED,
            f"{group.id}-l2",
            2,
            group.denominalised,
            _build_spec(group, 2),
            _field_tags(group),
            version,
        )
        for group in groups
    ]


def _build_spec(group: CounterfactualGroup, level: Level) -> CounterfactualSpec:
    shows = group.assessment(level)
    if level == 1:
        return CounterfactualSpec(group.id, shows, template_score_questions(shows, law=group.law))
    return CounterfactualSpec(group.id, shows, template_score_questions(shows, changed=group.changed))


def _field_tags(group: CounterfactualGroup) -> tuple[str, ...]:
    return tuple(filter(None, (group.discipline, group.branch)))


# --- probes


def rule_items(version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the items of the rule probe: drawings under the actual rule (level 1) or the changed rule (level 2)."""
    return [
        Item(
            CF_WORLD_RULES,
            f"{rule['id']}-{number}",
            {"factual": 1, "counterfactual": 2}[case["kind"]],
            case["prompt"],
            rule_spec(rule["id"], case["shows"]),
            tuple(filter(None, [case["direction"]])),
            version,
        )
        for rule in read_package_toml("rules.toml")["rule"]
        for number, case in enumerate(rule["case"], 1)
    ]


def pair_items(version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the items of the attribute probe: an object with a common (level 1) or a rare partner (level 2)."""
    pairs = enumerate(read_package_toml("pairs.toml")["pair"], 1)
    return [item for number, pair in pairs for item in items_of_pair(number, pair, version)]


def items_of_pair(number: int, pair: Mapping[str, str], version: str) -> list[Item[CounterfactualSpec]]:
    """Return the two items of an object pair: with its common partner and with its rare one."""
    group = f"pair-{number:03}"
    return [
        Item(
            CF_WORLD_ATTRIBUTES,
            f"{group}-{partner}",
            level,
            pair[f"{partner}_prompt"],
            pair_spec(group, pair["a"], pair[partner], pair[f"{partner}_prompt"]),
            version=version,
        )
        for level, partner in ((1, "common"), (2, "rare"))
    ]


def unscorable_warnings(items: Sequence[Item[CounterfactualSpec]], census: str, *, has_gate: bool) -> Iterator[str]:
    """Yield one line for each reason why images of these items cannot be scored."""
    gated_groups = {item.spec.group for item in items if item.level == 1}
    other_groups = {item.spec.group for item in items if item.level > 1} - gated_groups
    if has_gate and other_groups:
        named = f" of {len(other_groups):,} group{'s' * (len(other_groups) != 1)}" if gated_groups else ""
        yield f"level 1{named} is left out: L2 and L3 count only where the run has L1 of their group, which is the gate"
    unscorable = sum(not item.spec.questions for item in items)
    if unscorable:
        yield (
            f"{unscorable:,} prompt{'s' * (unscorable != 1)} without questions cannot be scored; "
            f"{census} lists what was tidied up"
        )
