"""Certificates as text: aligned tables of sensitivity, specificity and invariance, and the findings."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.certificates.certificate import AnswerCounts, JudgeCertificate, level_label, unscored_share

_MAX_WORDS = 15
"""So many predicates are listed, the most often flipped; a file has all."""


def certificate_text(certificate: JudgeCertificate) -> str:
    """Return a certificate as text."""
    served = f" (served by {', '.join(certificate.served)})" if certificate.served else ""
    unscored = unscored_share(certificate)
    heads = ("asked about", "true", "sensitivity", "false", "specificity")
    rows = [_row(_label(certificate, each), each) for each in _shown(certificate)]
    lines = [
        f"{certificate.judge}{served}: {certificate.scenes} scenes of {certificate.suite}, each with one clause "
        f"flipped, seed {certificate.seed}",
        *_aligned([heads, *rows]),
        "",
        *_aligned([("must not matter", "asked", "stayed", "to yes", "to no", "unscored"), *_nuisances(certificate)]),
        "",
        f"without a verdict: {unscored.part} of {unscored.whole} drawings {_reasons(certificate)}".rstrip(),
        *(f"- {finding}" for finding in certificate.findings),
    ]
    return "\n".join(lines)


def _shown(certificate: JudgeCertificate) -> list[AnswerCounts]:
    kinds = certificate.by("kind")
    told = {each.value for each in kinds}
    words = [each for each in certificate.by("word") if each.value not in told]
    words = sorted(words, key=lambda each: -each.false)[:_MAX_WORDS]
    parts = [*kinds, *words, *certificate.by("level"), *certificate.by("size")]
    return [certificate.whole, certificate.clauses, *parts, *certificate.by("objects")]


def _label(certificate: JudgeCertificate, counts: AnswerCounts) -> str:
    about = suite_of(certificate.suite)
    match counts.by:
        case "image":
            return "whole image"
        case "clause":
            return f"the flipped {about.terms.part}"
        case "level":
            return f"  {level_label(about, counts.value)}"
        case "size":
            return f"  smallest object {counts.value}"
        case "objects":
            return f"  {counts.value} objects"
        case _:
            return f"  {counts.value}"


def _row(label: str, counts: AnswerCounts) -> tuple[str, ...]:
    return label, str(counts.true), str(counts.sensitivity), str(counts.false), str(counts.specificity)


def _nuisances(certificate: JudgeCertificate) -> list[tuple[str, ...]]:
    return [
        (
            f"{each.nuisance}, {each.about}",
            str(each.asked),
            str(each.stayed),
            *(str(count) for count in (each.to_yes, each.to_no, each.unscored)),
        )
        for each in certificate.nuisances
    ]


def _reasons(certificate: JudgeCertificate) -> str:
    reasons = ", ".join(f"{reason}: {count}" for reason, count in certificate.unscored.items())
    return f"({reasons})" if reasons else ""


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
