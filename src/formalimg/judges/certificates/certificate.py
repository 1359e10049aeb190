"""The certificate of a judge: counts of its answers about drawings, from which every share and interval follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import loads_strict
from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark, Setting

FORMAT = "formalimg certificate"
VERSION = 2
_OLD_VERSION = 1
"""Its findings said nothing of what was not measured: they are made anew from its counts."""
MAX_BYTES = 10_000_000
MAX_SCENES = 1_000_000

MIN_ANSWERS = 8
"""A kind, predicate or other group with fewer answers about what is true, or what is false, is not measured."""

DIMENSIONS = ("image", "clause", "kind", "word", "level", "size", "objects")
"""What answers are counted by: whole images, all flipped clauses, and these by kind, predicate, level (K), smallest
object and number of objects."""


class CountedShare(NamedTuple):
    """A share of a count, with its exact interval."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.part / self.whole if self.whole else None

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return the Clopper-Pearson interval; of nothing, everything is possible."""
        return clopper_pearson(self.part, self.whole, confidence) if self.whole else Interval(0.0, 1.0)

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        low, high = self.interval()
        return f"{_short(self.value)} ({_short(low)}–{_short(high)})"


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0") if share < 0.995 else "1.00"


@dataclass(frozen=True)
class AnswerCounts:
    """Counts of answers about what is true and what is false."""

    by: str  # what the answers are counted by, one of `DIMENSIONS`
    value: str  # the kind, predicate, level or group; empty for all
    true: int  # the number of answers about what is true, and how many of them say so
    yes_to_true: int
    false: int  # the number of answers about what is false, and how many of them say so
    no_to_false: int

    @property
    def sensitivity(self) -> CountedShare:
        """The share of yes where the truth is yes."""
        return CountedShare(self.yes_to_true, self.true)

    @property
    def specificity(self) -> CountedShare:
        """The share of no where the truth is no."""
        return CountedShare(self.no_to_false, self.false)

    @property
    def is_measured(self) -> bool:
        """Whether there are enough answers to say anything."""
        return min(self.true, self.false) >= MIN_ANSWERS

    @property
    def yes_to_false(self) -> CountedShare:
        """The share of yes where the truth is no."""
        return CountedShare(self.false - self.no_to_false, self.false)


@dataclass(frozen=True)
class InvarianceCounts:
    """What became of answers when something changed that must not matter."""

    nuisance: str  # what changed
    about: str  # `image` for the verdict on the whole, `clause` for the answer about the flipped clause
    asked: int  # the number of answers before
    to_yes: int  # how many became yes, and how many became no
    to_no: int
    unscored: int  # how many had no verdict afterwards

    @property
    def is_measured(self) -> bool:
        """Whether there are enough answers to say anything."""
        return self.asked >= MIN_ANSWERS

    @property
    def stayed(self) -> CountedShare:
        """The share of answers that stayed as they were."""
        return CountedShare(self.asked - self.changed.part, self.asked)

    @property
    def changed(self) -> CountedShare:
        """The share of answers that did not stay."""
        return CountedShare(self.to_yes + self.to_no + self.unscored, self.asked)


@dataclass(frozen=True)
class JudgeCertificate:
    """How a judge answers about drawings whose content is known."""

    judge: str  # its name
    suite: str  # the suite whose items were drawn
    scenes: int  # the number of items, each drawn as it should be and with one part flipped
    seed: int  # which items were drawn, and what was flipped
    images: int  # the number of images that the judge was shown
    # the number of drawings without a verdict, by reason, before anything was changed that must not matter
    unscored: Mapping[str, int]
    # answers about the flipped parts and whole images; with empty ones for kinds and predicates of the suite that
    # were never flipped
    counts: tuple[AnswerCounts, ...]
    nuisances: tuple[InvarianceCounts, ...]  # what became of answers when something changed that must not matter
    findings: tuple[str, ...] = ()  # the faults that the counts show, and what is not measured, in words
    settings: Mapping[str, Setting] = field(default_factory=dict)  # the settings of the judge
    served: tuple[str, ...] = ()  # the ids of the models that answered, as far as the provider says
    protocol: str = "default"  # how the judge was asked
    date: str = ""  # when, in UTC
    made_with: str = ""  # the version of formalimg

    def by(self, dimension: str) -> tuple[AnswerCounts, ...]:
        """Return the counts by one of `DIMENSIONS`."""
        return tuple(each for each in self.counts if each.by == dimension)

    @property
    def whole(self) -> AnswerCounts:
        """The counts of whole images: whether they pass."""
        return next(iter(self.by("image")), AnswerCounts("image", "", 0, 0, 0, 0))

    @property
    def clauses(self) -> AnswerCounts:
        """The counts of all flipped parts."""
        return next(iter(self.by("clause")), AnswerCounts("clause", "", 0, 0, 0, 0))

    @property
    def groups(self) -> tuple[AnswerCounts, ...]:
        """The counts by kind, then those by predicate, but for predicates that are a kind of their own."""
        kinds = self.by("kind")
        values = {each.value for each in kinds}
        return (*kinds, *(each for each in self.by("word") if each.value not in values))

    @property
    def not_measured(self) -> dict[str, int]:
        """The kinds, predicates and changes with too few answers to say anything about them, and how many these are."""
        answers = {each.value: min(each.true, each.false) for each in self.groups if not each.is_measured}
        changes = {each.nuisance: each.asked for each in self.nuisances if not each.is_measured}
        return answers | changes

    def reaches(self, threshold: float) -> bool:
        """Return whether all drawings have a verdict, and every kind has such a sensitivity and specificity."""
        shares = [share for each in (self.whole, *self.by("kind")) for share in (each.sensitivity, each.specificity)]
        return not self.unscored and all(share.value is not None and share.value >= threshold for share in shares)

    def to_json(self) -> dict[str, object]:
        """Return the certificate as plain data: who, when, how, all counts, and which error rates they would show."""
        from formalimg.judges.certificates.significance import FALSE_FINDINGS, POWER, detectable_error

        found_from = {(each.by, each.value): detectable_error(self, each) for each in self.groups}
        return {
            "format": FORMAT,
            "version": VERSION,
            "date": self.date,
            "made_with": self.made_with,
            "judge": self.judge,
            "served": list(self.served),
            "protocol": self.protocol,
            "settings": dict(self.settings),
            "suite": self.suite,
            "scenes": self.scenes,
            "seed": self.seed,
            "images": self.images,
            "unscored": dict(self.unscored),
            "power": POWER,
            "false_findings": FALSE_FINDINGS,
            "counts": [
                vars(each) | _shares(each) | {"found_from": found_from.get((each.by, each.value))}
                for each in self.counts
            ],
            "nuisances": [vars(each) | {"stayed": each.stayed.part} for each in self.nuisances],
            "not_measured": self.not_measured,
            "findings": list(self.findings),
        }

    @classmethod
    def from_json(cls, data: object) -> JudgeCertificate:
        """Return the certificate that `to_json` wrote."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError("it is not a certificate of a judge")
        if data.get("version") not in (_OLD_VERSION, VERSION):
            raise ValueError(f"it has version {data.get('version')!r} of the format, this formalimg reads {VERSION}")
        try:
            found = cls(
                _text(data["judge"]),
                _text(data["suite"]),
                _count(data["scenes"]),
                _count(data["seed"]),
                _count(data["images"]),
                {_text(reason): _count(n) for reason, n in data["unscored"].items()},
                tuple(map(_answer_counts, data["counts"])),
                tuple(map(_invariance_counts, data["nuisances"])),
                findings=tuple(map(_text, data["findings"])),
                settings={_text(name): value for name, value in data["settings"].items()},
                served=tuple(map(_text, data["served"])),
                protocol=_text(data["protocol"]),
                date=_text(data["date"]),
                made_with=_text(data["made_with"]),
            )
            if sum(found.unscored.values()) > 2 * found.scenes:
                raise ValueError("it has more drawings without a verdict than drawings")
            answers = [count for each in found.counts for count in (each.true, each.false)]
            if max(answers + [each.asked for each in found.nuisances], default=0) > found.scenes:
                raise ValueError("it has more answers than scenes")
            if found.scenes > MAX_SCENES:
                raise ValueError(f"it has more than {MAX_SCENES:,} scenes")
            return found if data["version"] == VERSION else found._with_new_findings()
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a field is missing or has the wrong type ({error})") from None

    def _with_new_findings(self) -> JudgeCertificate:
        from formalimg.judges.certificates.findings import find_faults

        return replace(self, findings=find_faults(self))

    def __str__(self) -> str:
        """Return the certificate as text: tables of sensitivity, specificity and invariance, then the findings."""
        from formalimg.judges.certificates.certificate_text import certificate_text

        return certificate_text(self)


def read_certificate(path: Path) -> JudgeCertificate:
    """Return the certificate of a file that `certify --out` wrote.

    Raises:
        FormalimgError: if the file cannot be read, or is none.
    """
    try:
        return JudgeCertificate.from_json(loads_strict(read_plain_bytes(path, MAX_BYTES)))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FormalimgError(
            f"cannot read the certificate {path} ({reason}): give a file that `formalimg certify --suite … --out` wrote"
        ) from None


def _shares(counts: AnswerCounts) -> dict[str, object]:
    shares = {"sensitivity": counts.sensitivity, "specificity": counts.specificity}
    return {
        key: value
        for name, share in shares.items()
        for key, value in ((name, share.value), (f"{name}_interval", list(share.interval()) if share.whole else None))
    }


def _answer_counts(data: Mapping[str, Any]) -> AnswerCounts:
    names = ("true", "yes_to_true", "false", "no_to_false")
    found = AnswerCounts(_text(data["by"]), _text(data["value"]), *(_count(data[name]) for name in names))
    if found.yes_to_true > found.true or found.no_to_false > found.false:
        raise ValueError("it has more answers of one kind than answers")
    return found


def _invariance_counts(data: Mapping[str, Any]) -> InvarianceCounts:
    names = ("asked", "to_yes", "to_no", "unscored")
    found = InvarianceCounts(_text(data["nuisance"]), _text(data["about"]), *(_count(data[name]) for name in names))
    if found.stayed.part < 0:
        raise ValueError("it has more changed answers than answers")
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is not a count")
    return value


def unscored_share(certificate: JudgeCertificate) -> CountedShare:
    """Return the share of drawings without a verdict."""
    return CountedShare(sum(certificate.unscored.values()), 2 * certificate.scenes)


def level_label(suite: Benchmark, level: str) -> str:
    """Return a level as it is called: by its name, or as in `K 3`."""
    names = {str(number): name for number, name in suite.level_names.items()}
    return names.get(level, f"{suite.level} {level}")


def joined_names(names: Sequence[str]) -> str:
    """Return names as text, with "and" before the last."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
