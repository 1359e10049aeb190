"""The probes that ship with the package: rules that are changed, and objects in unusual company."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from formalimg.suites.cfworld.names import CF_WORLD_ATTRIBUTES, CF_WORLD_RULES
from formalimg.suites.cfworld.probe_questions import pair_spec, rule_spec
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.item import Item

_LEVEL_OF = {"factual": 1, "counterfactual": 2}


def rule_items(version: str = "") -> list[Item[CounterfactualSpec]]:
    """The rule probe: plain drawings in which a rule decides, as it is (level 1) and changed (level 2).

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
    """The attribute probe: an object with a partner it often has (level 1) and with one it hardly ever has (level 2)."""
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
    text = (files("formalimg.suites.cfworld") / f"{name}s.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)[name]
    return entries
