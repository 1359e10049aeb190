"""What kinds and predicates are called in the findings of a certificate."""

from __future__ import annotations

from formalimg.judges.certificates.certificate import AnswerCounts, JudgeCertificate
from formalimg.logic.vocabulary import vocabulary

COLORS = "colours"
_PLURALS = {
    "object": "objects",
    "attribute": "attributes",
    "relation": "relations",
    "count": "counts",
    "condition": "conditions",
    "style": "styles",
    "spatial": "relations",
    "color": COLORS,
    "number": "numbers",
    "shape": "shapes",
    "size": "sizes",
    "texture": "textures",
}
_WORDS = {
    "Has": COLORS,
    "HasColor": COLORS,
    "HasMaterial": "materials",
    "HasShape": "shapes",
    "HasState": "states",
    "IsStyle": "styles",
    "Is": "classes",
}


def group_name(certificate: JudgeCertificate, counts: AnswerCounts) -> str:
    """Return what a kind or predicate is called."""
    if counts.by == "word":
        return _WORDS.get(counts.value, counts.value)
    if counts.value == "attribute" and _asks_only_for_colors(certificate, counts):
        return COLORS
    return _PLURALS.get(counts.value, counts.value)


def color_words() -> tuple[str, ...]:
    """Return the words for colours."""
    return tuple(vocabulary("natural").words["color"])


def _asks_only_for_colors(certificate: JudgeCertificate, attributes: AnswerCounts) -> bool:
    flips = sum(each.false for each in certificate.by("word") if each.value in color_words())
    return flips == attributes.false > 0
