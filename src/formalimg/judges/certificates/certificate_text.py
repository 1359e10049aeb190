"""Certificates as text: aligned tables of sensitivity, specificity and invariance, and the findings."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.certificates.certificate import AnswerCounts, JudgeCertificate, level_label, unscored_share
from formalimg.judges.certificates.significance import FALSE_FINDINGS, POWER, detectable_error

_MAX_WORDS = 30
"""So many predicates are listed, the most often flipped; a file has all."""


def certificate_text(certificate: JudgeCertificate) -> str:
    """Return a certificate as text."""
    served = f" (served by {', '.join(certificate.served)})" if certificate.served else ""
    unscored = unscored_share(certificate)
    heads = ("asked about", "true", "sensitivity", "false", "specificity", "found from")
    rows = [_row(certificate, each) for each in _shown(certificate)]
    lines = [
        f"{certificate.judge}{served}: {certificate.scenes} scenes of {certificate.suite}, each with one clause "
        f"flipped, seed {certificate.seed}",
        *_aligned([heads, *rows]),
        f"found from: the error rate in this group that is named with a power of {POWER:g}, of a judge that is right "
        f"elsewhere; all tests together name a fault of a good judge with a chance of {100 * FALSE_FINDINGS:g} %",
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


def _row(certificate: JudgeCertificate, counts: AnswerCounts) -> tuple[str, ...]:
    rate = detectable_error(certificate, counts) if counts.by in ("kind", "word") else None
    return (
        _label(certificate, counts),
        str(counts.true),
        str(counts.sensitivity),
        str(counts.false),
        str(counts.specificity),
        "" if rate is None else f"{100 * rate:.0f} %",
    )


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
