"""The error rates of a judge by its certificate: how often it passes what is wrong, and fails what is right."""

from __future__ import annotations

from typing import Literal, NamedTuple

from formalimg.judges.certificates.certificate import CountedShare, JudgeCertificate
from formalimg.stats.observations import Interval
from formalimg.stats.tipping_point import ErrorRates


class CertifiedErrors(NamedTuple):
    """Error rates with their exact intervals.

    Attributes:
        rates: the rates, as `tipping_point` takes them.
        false_pass: the interval of the rate at which wrong drawings pass.
        false_fail: the interval of the rate at which right drawings fail.
    """

    rates: ErrorRates
    false_pass: Interval
    false_fail: Interval


def certified_errors(
    certificate: JudgeCertificate, about: Literal["image", "clause"] = "image", confidence: float = 0.95
) -> CertifiedErrors | None:
    """Return how often a judge passed what is wrong and failed what is right, on drawings.

    Args:
        certificate: the certificate of the judge.
        about: whole images, or the flipped clauses alone.
        confidence: of the intervals.

    Returns:
        Rates and intervals; None if too few answers measure them.
    """
    counts = certificate.whole if about == "image" else certificate.clauses
    if not counts.is_measured:
        return None
    false_pass, false_fail = counts.yes_to_false, CountedShare(counts.true - counts.yes_to_true, counts.true)
    return CertifiedErrors(
        ErrorRates(false_pass.part / false_pass.whole, false_fail.part / false_fail.whole),
        false_pass.interval(confidence),
        false_fail.interval(confidence),
    )
