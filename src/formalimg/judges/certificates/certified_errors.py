"""The error rates of a judge by its certificate: how often it passes what is wrong, and fails what is right."""

from __future__ import annotations

from typing import Literal, NamedTuple

from formalimg.judges.certificates.certificate import CountedShare, JudgeCertificate
from formalimg.stats.judge_error import ErrorRates
from formalimg.stats.observations import Interval


class CertifiedErrors(NamedTuple):
    """Error rates with their exact intervals."""

    rates: ErrorRates  # the rates, as `tipping_point` takes them
    false_pass: Interval  # the interval of the rate at which wrong drawings pass
    false_fail: Interval  # the interval of the rate at which right drawings fail


def certified_errors(
    certificate: JudgeCertificate, about: Literal["image", "clause"] = "image", confidence: float = 0.95
) -> CertifiedErrors | None:
    """Return how often a judge passed what is wrong and failed what is right, on drawings."""
    counts = certificate.whole if about == "image" else certificate.clauses
    if not counts.is_measured:
        return None
    false_pass, false_fail = counts.yes_to_false, CountedShare(counts.true - counts.yes_to_true, counts.true)
    return CertifiedErrors(
        ErrorRates(false_pass.part / false_pass.whole, false_fail.part / false_fail.whole),
        false_pass.interval(confidence),
        false_fail.interval(confidence),
    )
