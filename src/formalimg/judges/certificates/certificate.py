"""The certificate of a judge: counts of its answers about rendered scenes, with all derived rates.

The chance that a certificate reports any false fault is at most 5 %: each of m tests uses a level of 5 % / m, where m
is the number of groups and changes with enough answers (Bonferroni).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import loads_strict
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.judge_error import ErrorRates
from formalimg.stats.observations import Interval
from formalimg.stats.permutation import errors_to_notice, fisher_lower, power_to_notice
from formalimg.types import Setting

FORMAT = "formalimg certificate"
VERSION = 2
_OLD_VERSION = 1  # Its findings do not say what is not measured: they are derived again from its counts
MAX_BYTES = 10_000_000
MAX_SCENES = 1_000_000

MIN_ANSWERS = 8  # A group with fewer answers about true, or about false statements is not measured
FALSE_FINDINGS = 0.05  # The chance of naming any fault of a judge with the same few errors everywhere
POWER = 0.9  # The power with which a fault of the stated size is found
HIGH = 0.9  # A share above it is never called weak
_MAX_WORDS = 30  # The most predicates in the text form, the most often flipped ones; a file has all


class CountedShare(NamedTuple):
    """A proportion with its exact confidence interval."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The proportion, or None if the denominator is 0."""
        return self.part / self.whole if self.whole else None

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return the Clopper-Pearson interval, which is [0, 1] if the denominator is 0."""
        return clopper_pearson(self.part, self.whole, confidence) if self.whole else Interval(0.0, 1.0)

    def is_lower(self, rest: CountedShare, level: float) -> bool:
        """Return whether the proportion is low, and significantly lower than `rest`."""
        if self.value is None or rest.value is None or self.value > HIGH or self.value >= rest.value:
            return False
        return fisher_lower(self.part, self.whole, rest.part, rest.whole) <= level

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        share, low, high = (
            f"{number:.2f}".removeprefix("0") if number < 0.995 else "1.00" for number in (self.value, *self.interval())
        )
        return f"{share} ({low}–{high})"


@dataclass(frozen=True)
class AnswerCounts:
    """Counts of yes and no answers to true and false statements."""

    by: str  # image, clause (all flipped ones), kind, word (predicate), level (K), size (smallest object) or objects
    value: str  # the kind, predicate, level or group; empty for all
    true: int  # the number of answers about what is true, and how many of them say so
    yes_to_true: int
    false: int  # the number of answers about what is false, and how many of them say so
    no_to_false: int

    @property
    def sensitivity(self) -> CountedShare:
        """The proportion of true statements that the judge accepts."""
        return CountedShare(self.yes_to_true, self.true)

    @property
    def specificity(self) -> CountedShare:
        """The proportion of false statements that the judge rejects."""
        return CountedShare(self.no_to_false, self.false)

    @property
    def yes_to_false(self) -> CountedShare:
        """The proportion of false statements that the judge accepts."""
        return CountedShare(self.false - self.no_to_false, self.false)

    @property
    def is_measured(self) -> bool:
        """Whether there are enough answers for a finding."""
        return min(self.true, self.false) >= MIN_ANSWERS


@dataclass(frozen=True)
class InvarianceCounts:
    """Counts of answers that changed after a nuisance was applied to the image."""

    nuisance: str  # what changed
    about: str  # `image` for the verdict on the whole, `clause` for the answer about the flipped clause
    asked: int  # the number of answers before
    to_yes: int  # how many became yes, and how many became no
    to_no: int
    unscored: int  # how many had no verdict afterwards

    @property
    def is_measured(self) -> bool:
        """Whether there are enough answers for a finding."""
        return self.asked >= MIN_ANSWERS

    @property
    def changed(self) -> CountedShare:
        """The proportion of answers that changed."""
        return CountedShare(self.to_yes + self.to_no + self.unscored, self.asked)

    @property
    def stayed(self) -> CountedShare:
        """The proportion of answers that did not change."""
        return CountedShare(self.asked - self.changed.part, self.asked)


@dataclass(frozen=True)
class JudgeCertificate:
    """The measured accuracy of a judge on rendered scenes with known content."""

    judge: str  # its name
    suite: str  # the suite whose items were drawn
    scenes: int  # the number of items, each drawn as it should be and with one part flipped
    seed: int  # which items were drawn, and what was flipped
    images: int  # the number of images that the judge was shown
    # the number of drawings without a verdict, by reason, before any nuisance
    unscored: Mapping[str, int]
    # answers about the flipped parts and whole images; with empty ones for kinds and predicates of the suite that
    # were never flipped
    counts: tuple[AnswerCounts, ...]
    nuisances: tuple[InvarianceCounts, ...]  # how answers changed under nuisances
    findings: tuple[str, ...] = ()  # the faults that the counts show, and what is not measured, in words
    settings: Mapping[str, Setting] = field(default_factory=dict)  # the settings of the judge
    served: tuple[str, ...] = ()  # the ids of the models that answered, as far as the provider says
    protocol: str = "default"  # how the judge was asked
    date: str = ""  # when, in UTC
    made_with: str = ""  # the version of formalimg

    def by(self, dimension: str) -> tuple[AnswerCounts, ...]:
        """Return the counts for one dimension: image, clause, kind, word, level, size or objects."""
        return tuple(counts for counts in self.counts if counts.by == dimension)

    @property
    def whole(self) -> AnswerCounts:
        """The counts of verdicts on whole images."""
        return next(iter(self.by("image")), AnswerCounts("image", "", 0, 0, 0, 0))

    @property
    def clauses(self) -> AnswerCounts:
        """The counts of answers about all flipped parts."""
        return next(iter(self.by("clause")), AnswerCounts("clause", "", 0, 0, 0, 0))

    @property
    def groups(self) -> tuple[AnswerCounts, ...]:
        """The counts by kind and by predicate, without predicates that are also kinds."""
        kinds = self.by("kind")
        values = {counts.value for counts in kinds}
        return (*kinds, *(counts for counts in self.by("word") if counts.value not in values))

    @property
    def not_measured(self) -> dict[str, int]:
        """The number of answers for each kind, predicate and nuisance that has too few of them."""
        answers = {group.value: min(group.true, group.false) for group in self.groups if not group.is_measured}
        changes = {counts.nuisance: counts.asked for counts in self.nuisances if not counts.is_measured}
        return answers | changes

    @property
    def unscored_share(self) -> CountedShare:
        """The proportion of rendered images without a verdict."""
        return CountedShare(sum(self.unscored.values()), 2 * self.scenes)

    def reaches(self, threshold: float) -> bool:
        """Return whether every image is scored, and sensitivity and specificity reach `threshold` in every kind."""
        groups = (self.whole, *self.by("kind"))
        shares = [share.value for counts in groups for share in (counts.sensitivity, counts.specificity)]
        return not self.unscored and all(share is not None and share >= threshold for share in shares)

    def to_json(self) -> dict[str, object]:
        """Convert the certificate to JSON-compatible data, with intervals and detectable error rates."""
        names = ("date", "made_with", "judge", "served", "protocol", "settings", "suite", "scenes", "seed", "images")
        stored = {name: getattr(self, name) for name in (*names, "unscored")}
        counts = []
        for group in self.counts:
            row = vars(group).copy()
            for name in ("sensitivity", "specificity"):
                share: CountedShare = getattr(group, name)
                row |= {name: share.value, f"{name}_interval": list(share.interval()) if share.whole else None}
            counts.append(row | {"found_from": detectable_error(self, group) if group in self.groups else None})
        return {
            "format": FORMAT,
            "version": VERSION,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()},
            "power": POWER,
            "false_findings": FALSE_FINDINGS,
            "counts": counts,
            "nuisances": [vars(row) | {"stayed": row.stayed.part} for row in self.nuisances],
            "not_measured": self.not_measured,
            "findings": list(self.findings),
        }

    @classmethod
    def from_json(cls, data: object) -> JudgeCertificate:
        """Rebuild a certificate from the output of `to_json`."""
        from pydantic import TypeAdapter, ValidationError  # here, because most reports have no certificate

        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError("it is not a certificate of a judge")
        if data.get("version") not in (_OLD_VERSION, VERSION):
            raise ValueError(f"it has version {data.get('version')!r} of the format, this formalimg reads {VERSION}")
        try:
            certificate = TypeAdapter(cls).validate_json(json.dumps(data), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            location = ".".join(map(str, first["loc"]))
            raise ValueError(f"a field is missing or has the wrong type ({location}: {first['msg']})") from None
        certificate._check_counts()
        if data["version"] == VERSION:
            return certificate
        from formalimg.judges.certificates.findings import find_faults

        return replace(certificate, findings=find_faults(certificate))

    def _check_counts(self) -> None:
        pairs = [share for counts in self.counts for share in (counts.sensitivity, counts.specificity)]
        changes = [count for row in self.nuisances for count in (row.to_yes, row.to_no, row.unscored)]
        totals = [*(share.whole for share in pairs), *(counts.asked for counts in self.nuisances)]
        numbers = [self.scenes, self.seed, self.images, *self.unscored.values(), *changes, *totals]
        problems = {
            "a negative count": min(*numbers, *(share.part for share in pairs)) < 0,
            "more answers of one kind than answers": any(share.part > share.whole for share in pairs),
            "more changed answers than answers": any(counts.stayed.part < 0 for counts in self.nuisances),
            "more drawings without a verdict than drawings": sum(self.unscored.values()) > 2 * self.scenes,
            "more answers than scenes": max(totals, default=0) > self.scenes,
            f"more than {MAX_SCENES:,} scenes": self.scenes > MAX_SCENES,
        }
        for problem, is_found in problems.items():
            if is_found:
                raise ValueError(f"it has {problem}")

    def __str__(self) -> str:
        """Format the certificate as tables of sensitivity, specificity and invariance, followed by the findings."""
        served = f" (served by {', '.join(self.served)})" if self.served else ""
        words = sorted(self.groups[len(self.by("kind")) :], key=lambda counts: -counts.false)[:_MAX_WORDS]
        groups = [self.whole, self.clauses, *self.by("kind"), *words]
        groups += [counts for dimension in ("level", "size", "objects") for counts in self.by(dimension)]
        unscored = self.unscored_share
        reasons = ", ".join(f"{reason}: {count}" for reason, count in self.unscored.items())
        changes = [
            (f"{row.nuisance}, {row.about}", row.asked, row.stayed, row.to_yes, row.to_no, row.unscored)
            for row in self.nuisances
        ]
        return "\n".join(
            [
                f"{self.judge}{served}: {self.scenes} scenes of {self.suite}, each with one clause flipped, "
                f"seed {self.seed}",
                *align_columns(
                    ("asked about", "true", "sensitivity", "false", "specificity", "found from"),
                    *map(self._row, groups),
                ),
                f"found from: the error rate in this group that is named with a power of {POWER:g}, of a judge that is "
                f"right elsewhere; all tests together name a fault of a good judge with a chance of "
                f"{100 * FALSE_FINDINGS:g} %",
                "",
                *align_columns(("must not matter", "asked", "stayed", "to yes", "to no", "unscored"), *changes),
                "",
                f"without a verdict: {unscored.part} of {unscored.whole} drawings{f' ({reasons})' if reasons else ''}",
                *(f"- {finding}" for finding in self.findings),
            ]
        )

    def _row(self, counts: AnswerCounts) -> tuple[object, ...]:
        label = {
            "image": "whole image",
            "clause": f"the flipped {get_suite(self.suite).terms.part}",
            "level": f"  {level_label(self.suite, counts.value)}",
            "size": f"  smallest object {counts.value}",
            "objects": f"  {counts.value} objects",
        }.get(counts.by, f"  {counts.value}")
        rate = detectable_error(self, counts) if counts.by in ("kind", "word") else None
        found_from = "" if rate is None else f"{100 * rate:.0f} %"
        return label, counts.true, counts.sensitivity, counts.false, counts.specificity, found_from


def align_columns(*rows: Sequence[object]) -> list[str]:
    """Format rows as aligned lines, with the first column left-justified and the others right-justified."""
    cells = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in cells]


def level_label(suite: str, level: str) -> str:
    """Return the display name of a level, such as `K 3`."""
    benchmark = get_suite(suite)
    names = {str(number): name for number, name in benchmark.level_names.items()}
    return names.get(level, f"{benchmark.level} {level}")


def read_certificate(path: Path) -> JudgeCertificate:
    """Read a certificate file written by `certify --out`.

    Raises:
        FormalimgError: if the file cannot be read or is not a certificate.
    """
    try:
        return JudgeCertificate.from_json(loads_strict(read_plain_bytes(path, MAX_BYTES)))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FormalimgError(
            f"cannot read the certificate {path} ({reason}): give a file that `formalimg certify --suite … --out` wrote"
        ) from None


def significance_level(certificate: JudgeCertificate) -> float:
    """Return the significance level of each test: 5 % divided by the number of tests (Bonferroni)."""
    groups = [counts for by in ("level", "size", "objects") for counts in certificate.by(by)]
    measured = sum(counts.is_measured for counts in (*certificate.groups, *groups))
    changes = sum(counts.is_measured for counts in certificate.nuisances)
    # Two shares of each group and of whole images, and the share without a verdict.
    return FALSE_FINDINGS / (2 * measured + changes + 3)


def detectable_error(certificate: JudgeCertificate, counts: AnswerCounts) -> float | None:
    """Return the lowest error rate that a test of this group detects with 90 % power, or None."""
    elsewhere = certificate.clauses.false - counts.false
    if not counts.is_measured or elsewhere < 1:
        return None
    errors = errors_to_notice(counts.false, elsewhere, significance_level(certificate), 1 - HIGH)
    rates = (step / 20 for step in range(1, 21))
    return next((rate for rate in rates if errors and power_to_notice(rate, counts.false, errors) >= POWER), None)


def find_error_rates(certificate: JudgeCertificate) -> ErrorRates | None:
    """Return the rates at which a judge passes wrong and fails correct images, or None if there are too few answers."""
    counts = certificate.whole
    if not counts.is_measured:
        return None
    return ErrorRates(counts.yes_to_false.part / counts.false, (counts.true - counts.yes_to_true) / counts.true)
