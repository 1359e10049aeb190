"""The published natural instructions are plausible: playful at times, but nothing that cannot be drawn."""

from __future__ import annotations

from formalimg.language.ontology.plausibility import find_implausible
from tests.support.published import published_instances


def test_the_published_sample_is_plausible() -> None:
    natural = [instance for instance in published_instances() if instance.suite == "natural"]
    assert len(natural) == 32
    reported = {
        instance.id: [str(problem) for problem in find_implausible(instance.data["dsl"])]
        for instance in natural
        if find_implausible(instance.data["dsl"])
    }
    assert reported == {}


def test_the_lifted_form_says_the_same() -> None:
    for instance in published_instances():
        if instance.suite == "natural":
            assert find_implausible(instance.data["cnf"]) == [], instance.id
