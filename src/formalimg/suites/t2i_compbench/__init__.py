"""T2I-CompBench: colours, shapes, textures, places and numbers of objects, and how its authors score images.

The rules stand alone: `official_verdict` needs neither an image nor a model.
"""

from formalimg.suites.t2i_compbench.composition import (
    COMPOSITION_TASKS,
    CompositionTask,
    CountedObject,
    PlacedObjects,
    asked_phrases,
    counted_objects,
    detected_class,
    looked_for,
    placed_objects,
    read_prompt,
)
from formalimg.suites.t2i_compbench.formulas import TranslatedShare, composition_objects, translated_shares
from formalimg.suites.t2i_compbench.noun_phrases import find_noun_phrases
from formalimg.suites.t2i_compbench.rule import (
    DETECTION_THRESHOLD,
    CompositionVerdict,
    ScoredCheck,
    attribute_verdict,
    box_verdict,
    official_verdict,
    position_score,
)

__all__ = [
    "COMPOSITION_TASKS",
    "DETECTION_THRESHOLD",
    "CompositionTask",
    "CompositionVerdict",
    "CountedObject",
    "PlacedObjects",
    "ScoredCheck",
    "TranslatedShare",
    "asked_phrases",
    "attribute_verdict",
    "box_verdict",
    "composition_objects",
    "counted_objects",
    "detected_class",
    "find_noun_phrases",
    "looked_for",
    "official_verdict",
    "placed_objects",
    "position_score",
    "read_prompt",
    "translated_shares",
]
