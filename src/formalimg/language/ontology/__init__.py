"""Ontology of natural scenes (sizes, attributes and relations) and a plausibility check for formulas."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.language.ontology.knowledge import ontology
    from formalimg.language.ontology.plausibility import find_implausible

__all__ = [
    "find_implausible",
    "ontology",
]

__getattr__, __dir__ = lazy_exports(__name__)
