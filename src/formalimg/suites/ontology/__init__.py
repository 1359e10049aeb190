"""A small ontology for natural scenes: what things are like, what they can do, and what no image would show."""

from formalimg.suites.ontology.entry import Entry, Extent, Grip, Inside, Top, Worn
from formalimg.suites.ontology.knowledge import RELATIONS, Ontology, ontology
from formalimg.suites.ontology.loading import OntologyError
from formalimg.suites.ontology.plausibility import implausible

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
