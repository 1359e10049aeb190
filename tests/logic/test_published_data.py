"""The published instances read, print, check and measure as their authors say."""

from __future__ import annotations

from collections import Counter

import pytest

from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import PrenexForm, complexity, to_prenex
from tests.support.published import Instance, published_instances

WITH_ABOVE = {("natural", "1244"), ("natural", "1578")}
"""Instances with a predicate that the published configuration of their suite does not have."""


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    found = published_instances()
    assert len(found) == 62
    return found


def test_printing_a_parsed_formula_gives_its_text_back(instances: list[Instance]) -> None:
    for instance in instances:
        for text in (instance.data["dsl"], instance.data["cnf"]):
            formula = parse(text)
            assert str(formula) == text
            assert parse(str(formula)) == formula


def test_nothing_is_wrong_with_them(instances: list[Instance]) -> None:
    for suite, number, data in instances:
        problems = check(data["dsl"], suite, k=data["k"], single_component=True)
        if (suite, number) in WITH_ABOVE:
            assert {problem.message.partition(":")[0] for problem in problems} == {"natural has no predicate Above"}
        else:
            assert problems == [], (suite, number, [str(problem) for problem in problems])


def test_complexity_is_the_published_k(instances: list[Instance]) -> None:
    for instance in instances:
        assert complexity(parse(instance.data["dsl"])) == instance.data["k"], instance.id


def test_the_lifted_form_is_the_published_one(instances: list[Instance]) -> None:
    """Prefix and clauses of each component; the order of published clauses hangs on a hash seed and is not compared."""
    for instance in instances:
        assert _essence(to_prenex(parse(instance.data["dsl"]))) == _read_essence(instance.data["cnf"]), instance.id


def test_they_belong_to_one_vocabulary_only(instances: list[Instance]) -> None:
    other = {"knolling": "natural", "natural": "knolling"}
    wrong = [instance for instance in instances if not check(instance.data["dsl"], other[instance.suite])]
    assert not [instance for instance in wrong if "IsStyle" in instance.data["dsl"]]


def _essence(lifted: PrenexForm) -> Counter[tuple[tuple[tuple[str, str], ...], frozenset[tuple[str, int]]]]:
    return Counter(
        (
            tuple((kind, variable) for kind, variable in component.prefix),
            frozenset(Counter(clause.text for clause in component.clauses).items()),
        )
        for component in lifted.components
    )


def _read_essence(cnf: str) -> Counter[tuple[tuple[tuple[str, str], ...], frozenset[tuple[str, int]]]]:
    """Prefix and clauses of a published lifted form, read by bare string handling."""
    groups = _split(cnf[5:-1]) if cnf.startswith("(and ") else [cnf]
    essence: Counter[tuple[tuple[tuple[str, str], ...], frozenset[tuple[str, int]]]] = Counter()
    for group in groups:
        prefix = []
        while group.startswith(("(exists ", "(forall ")):
            kind, variable, group = group[1:-1].split(" ", 2)
            prefix.append((kind, variable.removeprefix("?")))
        clauses = _split(group[5:-1]) if group.startswith("(and ") else [group]
        essence[tuple(prefix), frozenset(Counter(clauses).items())] += 1
    return essence


def _split(text: str) -> list[str]:
    """The lists that stand side by side in a text."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character == "(":
            if depth == 0:
                start = place
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                parts.append(text[start : place + 1])
    return parts
