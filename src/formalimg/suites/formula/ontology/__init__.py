"""Ontology of natural scenes: sizes, attributes and relations of objects, and a check for implausible formulas."""

from formalimg.suites.formula.ontology.entries import Entry, Extent, Grip, Inside, OntologyError, Top, Worn
from formalimg.suites.formula.ontology.knowledge import RELATIONS, Ontology, ontology
from formalimg.suites.formula.ontology.plausibility import implausible

__all__ = [
    "RELATIONS",
    "Entry",
    "Extent",
    "Grip",
    "Inside",
    "Ontology",
    "OntologyError",
    "Top",
    "Worn",
    "implausible",
    "ontology",
]
