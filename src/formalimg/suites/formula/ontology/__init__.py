"""Ontology of natural scenes: sizes, attributes and relations of objects, and a check for implausible formulas."""

from formalimg.suites.formula.ontology.entries import ClassEntry, Grip, Inside, OntologyError, SizeRange, Top, Worn
from formalimg.suites.formula.ontology.knowledge import RELATIONS, Ontology, ontology
from formalimg.suites.formula.ontology.plausibility import find_implausible

__all__ = [
    "RELATIONS",
    "ClassEntry",
    "Grip",
    "Inside",
    "Ontology",
    "OntologyError",
    "SizeRange",
    "Top",
    "Worn",
    "find_implausible",
    "ontology",
]
