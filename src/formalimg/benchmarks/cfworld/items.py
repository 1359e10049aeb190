"""Items of CF-World and its probes (rules, attributes, denominalised), from the groups that ship with the package."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, get_args

from formalimg.benchmarks.cfworld.questions import pair_spec, rule_spec, template_score_questions
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    FIELDS,
    CounterfactualGroup,
    CounterfactualSpec,
    Level,
)
from formalimg.errors import FormalimgError
from formalimg.types import Item


def builtin_groups() -> list[CounterfactualGroup]:
    """Return all built-in groups, field by field, in the order of their files."""
    folder = files("formalimg.benchmarks.cfworld") / "groups"
    found = []
    for name, field in FIELDS.items():
        text = (folder / f"{name}.toml").read_text(encoding="utf-8")
        for number, entry in enumerate(tomllib.loads(text)["group"], 1):
            own = {"id": f"{name}-{number:03}", "discipline": field.discipline, "branch": field.branch}
            described = replace_nouns(entry["outcome"], entry["described"])
            del entry["plain"]  # of the plain scene, which no item has
            found.append(CounterfactualGroup.from_fields({**own, **entry, "described": described}))
    return found


def replace_nouns(outcome: str, phrases: Mapping[str, str]) -> str:
    """Return an outcome with its target nouns replaced by phrases that describe them; all else stays, word by word."""
    named = re.compile("|".join(rf"(?<!\w){re.escape(noun)}(?!\w)" for noun in sorted(phrases, key=len, reverse=True)))
    counts = Counter(named.findall(outcome))
    for noun in phrases:
        if counts[noun] != 1:
            raise FormalimgError(f"the outcome does not say {noun!r} exactly once: {outcome}")
    found = named.sub(lambda match: phrases[match[0]], outcome)
    return re.sub(r",([,.])", r"\1", found)  # a phrase that is set off by commas, before the end of a clause


def items_of_groups(groups: Iterable[CounterfactualGroup], version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the three items of each group, with template questions."""
    return [
        Item(CF_WORLD, f"{group.id}-l{level}", level, group.prompt(level), _spec(group, level), _tags(group), version)
        for group in groups
        for level in get_args(Level)
    ]


def denominalised_items(groups: Iterable[CounterfactualGroup], version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the explicit item of each group with the outcome described, not named; judged by the same questions."""
    return [
        Item(CF_WORLD_DENOMINALISED, f"{group.id}-l2", 2, group.denominalised, _spec(group, 2), _tags(group), version)
        for group in groups
    ]


def _spec(group: CounterfactualGroup, level: Level) -> CounterfactualSpec:
    shows = group.assessment(level)
    if level == 1:
        return CounterfactualSpec(group.id, shows, template_score_questions(shows, law=group.law))
    return CounterfactualSpec(group.id, shows, template_score_questions(shows, changed=group.changed))


def _tags(group: CounterfactualGroup) -> tuple[str, ...]:
    return tuple(filter(None, (group.discipline, group.branch)))


_LEVEL_OF = {"factual": 1, "counterfactual": 2}


def rule_items(version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the rule probe: plain drawings in which a rule decides, as it is (level 1) and changed (level 2).

    The tag of a changed one says how the rule is changed, as in "to the left".
    """
    return [
        Item(
            CF_WORLD_RULES,
            f"{rule['id']}-{number}",
            _LEVEL_OF[case["kind"]],
            case["prompt"],
            rule_spec(rule["id"], case["shows"]),
            tuple(filter(None, [case["direction"]])),
            version,
        )
        for rule in _entries("rule")
        for number, case in enumerate(rule["case"], 1)
    ]


def pair_items(version: str = "") -> list[Item[CounterfactualSpec]]:
    """Return the attribute probe: an object with a common partner (level 1) and with a rare one (level 2)."""
    return [
        Item(
            CF_WORLD_ATTRIBUTES,
            f"pair-{number:03}-{partner}",
            level,
            pair[f"{partner}_prompt"],
            pair_spec(f"pair-{number:03}", pair["a"], pair[partner], pair[f"{partner}_prompt"]),
            version=version,
        )
        for number, pair in enumerate(_entries("pair"), 1)
        for level, partner in ((1, "common"), (2, "rare"))
    ]


def _entries(name: str) -> list[dict[str, Any]]:
    text = (files("formalimg.benchmarks.cfworld") / f"{name}s.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)[name]
    return entries


def unscorable_warnings(items: Sequence[Item[CounterfactualSpec]], census: str, *, has_gate: bool) -> Iterator[str]:
    """Yield one line for each reason why images of these items cannot count."""
    with_gate = {item.spec.group for item in items if item.level == 1}
    without_gate = {item.spec.group for item in items if item.level > 1} - with_gate
    if has_gate and without_gate:
        named = f" of {len(without_gate):,} group{'s' * (len(without_gate) != 1)}" if with_gate else ""
        yield f"level 1{named} is left out: L2 and L3 count only where the run has L1 of their group, which is the gate"
    unscorable = sum(not item.spec.questions for item in items)
    if unscorable:
        yield (
            f"{unscorable:,} prompt{'s' * (unscorable != 1)} without questions cannot be scored; "
            f"{census} lists what was tidied up"
        )
