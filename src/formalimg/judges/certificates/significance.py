"""Significance in a certificate: the level of each test, what is lower than elsewhere, and which error rates are found.

All tests of a certificate share a chance of 5 % of naming a fault that is none: each of m tests is made at a level of
5 % / m, where m counts the groups and changes that have enough answers (Bonferroni).
"""

from __future__ import annotations

from formalimg.judges.certificates.certificate import AnswerCounts, CountedShare, JudgeCertificate
from formalimg.stats.permutation import errors_to_notice, fisher_lower, power_to_notice

FALSE_FINDINGS = 0.05
"""The chance that the certificate of a judge with the same few errors everywhere names any fault, at most."""
POWER = 0.9
"""The power with which a fault of the stated size is found."""
HIGH = 0.9
"""A share above it is never called weak."""


def level_of_tests(certificate: JudgeCertificate) -> float:
    """Return the level at which each test of a certificate is made: 5 %, divided by the number of tests."""
    groups = [each for by in ("level", "size", "objects") for each in certificate.by(by)]
    groups = [each for each in (*certificate.groups, *groups) if each.is_measured]
    changes = [each for each in certificate.nuisances if each.is_measured]
    # Two shares of each group and of whole images, and the share without a verdict.
    return FALSE_FINDINGS / (2 * len(groups) + len(changes) + 3)


def detectable_error(certificate: JudgeCertificate, counts: AnswerCounts) -> float | None:
    """Return the error rate in a group that is found with a power of 90 %, in a judge that is right elsewhere."""
    elsewhere = certificate.clauses.false - counts.false
    if not counts.is_measured or elsewhere < 1:
        return None
    errors = errors_to_notice(counts.false, elsewhere, level_of_tests(certificate), 1 - HIGH)
    rates = (step / 20 for step in range(1, 21))
    return next((rate for rate in rates if errors and power_to_notice(rate, counts.false, errors) >= POWER), None)


def interval_confidence(level: float) -> float:
    """Return the confidence of an interval of which each end is a one-sided test of this level."""
    return 1 - 2 * level


def is_lower(share: CountedShare, other: CountedShare, level: float) -> bool:
    """Return whether a share is bad, and lower than another one by more than chance."""
    if share.value is None or other.value is None or share.value > HIGH or share.value >= other.value:
        return False
    return fisher_lower(share.part, share.whole, other.part, other.whole) <= level
