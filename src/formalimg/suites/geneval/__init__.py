"""GenEval: prompts about the 80 classes of COCO, and the rule by which its authors judge detections.

The rule stands alone: `official_verdict(metadata, detections)` needs neither an image nor a model.
"""

from formalimg.suites.geneval.rule import (
    COUNTING_THRESHOLD,
    MAX_OBJECTS,
    THRESHOLD,
    DetectionVerdict,
    RuleCheck,
    official_verdict,
    relations_between,
)
from formalimg.suites.geneval.spec import (
    OBJECT_COLORS,
    RELATIONS,
    TAGS,
    ExcludedObjects,
    IncludedObjects,
    ObjectSpec,
    parse_metadata,
)

__all__ = [
    "COUNTING_THRESHOLD",
    "MAX_OBJECTS",
    "OBJECT_COLORS",
    "RELATIONS",
    "TAGS",
    "THRESHOLD",
    "DetectionVerdict",
    "ExcludedObjects",
    "IncludedObjects",
    "ObjectSpec",
    "RuleCheck",
    "official_verdict",
    "parse_metadata",
    "relations_between",
]
