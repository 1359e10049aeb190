"""One published instance of FormalImg as an item, however odd its fields are: see `odd_records` for the tags.

The published programs look at few of the fields: `prompt` is sent to the image model, `object_classes` says what to
look for, the formula is judged, and tables are grouped by `k`. So the published `k` is the level and the published
classes are looked for, also where the formula says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.formal.spec import NO_FORMULA, TAG_OF_PROBLEM, FormulaSpec
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    CLASSES_DIFFER,
    CLASSES_MALFORMED,
    EXTRA_FIELDS,
    K_DIFFERS,
    K_MALFORMED,
    NO_CNF,
    NO_PROMPT,
    UNREADABLE_FORMULA,
    clean_text,
    ordered_tags,
)
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import try_parse
from formalimg.logic.prenex import complexity, to_prenex
from formalimg.logic.syntax import Formula
from formalimg.types import Item

FIELDS = ("prompt", "dsl", "cnf", "k", "object_classes")

_MAX_LEVEL = 999
"""A larger k is no level of anything."""


def read_item(fields: Mapping[str, Any], suite: str, name: str, tags: frozenset[str]) -> Item[FormulaSpec]:
    """Return the item of an instance, with the tags of what is odd about it."""
    odd = set(tags)
    if any(field not in FIELDS for field in fields):
        odd.add(EXTRA_FIELDS)
    if not _is_said(fields.get("cnf")):
        odd.add(NO_CNF)
    prompt = _text(fields.get("prompt"), odd)
    if not prompt.strip():
        prompt = ""
        odd.add(NO_PROMPT)
    spec, k = _spec_and_complexity(fields, suite, odd)
    spec = replace(spec, lifted=_lifted(fields.get("cnf"), spec.formula, odd))
    level = _level(fields.get("k"), k, odd)
    return Item(suite, name, level, prompt, spec, ordered_tags(odd))


def _lifted(said: object, formula: Formula, odd: set[str]) -> str | None:
    """Return the published lifted form, unless it is missing, or the one that we would make."""
    text = _text(said, odd)
    try:
        ours = "" if formula is NO_FORMULA else to_prenex(formula).text
    except FormulaError:  # it has too many clauses
        ours = ""
    return None if not text.strip() or text == ours else text


def _is_said(found: object) -> bool:
    return isinstance(found, str) and bool(found.strip())


def _text(found: object, odd: set[str]) -> str:
    """Return a field as text that can be stored; empty if it is none."""
    if not isinstance(found, str):
        return ""
    text, is_broken = clean_text(found)
    if is_broken:
        odd.add(BROKEN_TEXT)
    return text


def _spec_and_complexity(fields: Mapping[str, Any], suite: str, odd: set[str]) -> tuple[FormulaSpec, int | None]:
    """Return the spec and the K of its formula; None in place of K if there is no formula."""
    said = fields.get("dsl")
    text = _text(said, odd) if isinstance(said, str) else _as_json(said)
    classes = _classes(fields.get("object_classes"), odd)
    formula, _ = try_parse(text)
    k = None if formula is None else _complexity(formula)
    if formula is None or k is None:
        odd.add(UNREADABLE_FORMULA)
        return FormulaSpec(NO_FORMULA, classes=classes, unreadable=text), None
    odd.update(_formula_tags(formula, suite))
    spec = FormulaSpec.of(formula)
    if classes is None or set(classes) == set(spec.object_classes):
        return spec, k
    if not classes:
        odd.add(CLASSES_MALFORMED)  # to look for nothing cannot be meant
        return spec, k
    odd.add(CLASSES_DIFFER)
    return replace(spec, classes=classes), k


def _as_json(said: object) -> str:
    """Return what is no text as the JSON that it is, so that the item shows what was published; empty if missing."""
    try:
        return "" if said is None else json.dumps(said)
    except RecursionError:
        return ""


def _complexity(formula: Formula) -> int | None:
    try:
        return complexity(formula)
    except FormulaError:
        return None


def _formula_tags(formula: Formula, suite: str) -> set[str]:
    from formalimg.benchmarks.registry import suite as suite_of  # here, because kinds of suites need specs

    return {TAG_OF_PROBLEM[problem.kind] for problem in check(formula, suite_of(suite).vocabulary)}


def _classes(found: object, odd: set[str]) -> tuple[str, ...] | None:
    """Return the published classes, each once; None if they are no list of words."""
    if isinstance(found, list) and all(is_text(word) and word.strip() for word in found):
        return tuple(dict.fromkeys(found))
    odd.add(CLASSES_MALFORMED)
    return None


def _level(found: object, k: int | None, odd: set[str]) -> int:
    """Return the published k; where it is none, the K of the formula, or 0 if there is no formula."""
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= _MAX_LEVEL:
        level = found
    else:
        odd.add(K_MALFORMED)
        said = _whole_number(found)
        level = (k or 0) if said is None else said
    if k is not None and level != k:
        odd.add(K_DIFFERS)
    return level


def _whole_number(found: object) -> int | None:
    """Return the level that a text or a number with a point says; None if it says none."""
    text = str(found).strip() if isinstance(found, str | float) else ""
    text = text.removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_LEVEL)) else None
