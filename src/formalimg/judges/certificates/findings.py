"""Findings: the faults of a judge in plain English, derived from counts by exact tests.

A fault is reported if it is large and significant at the level of `significance_level`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from formalimg.judges.certificates.certificate import (
    HIGH,
    AnswerCounts,
    CountedShare,
    InvarianceCounts,
    JudgeCertificate,
    level_label,
    significance_level,
)
from formalimg.judges.certificates.scene_changes import AGAIN, TEXT
from formalimg.logic.vocabulary import vocabulary

_LOW = 0.1
_MUCH_UNSCORED = 0.02
_MUCH_CHANGED = 0.06
"""A judge that errs at random in 3 % of its answers changes 5.8 % of them, which is not called noisy."""
_NO_SKILL = 0.25
"""A group is at chance if a yes is at most so much more frequent where it is right than where it is wrong."""

_NUISANCES = {
    "brightness": "another brightness",
    "JPEG": "JPEG",
    "border": "a border",
    "mirror": "left and right exchanged",
}
_COLORS = "colours"
_KINDS = {
    "object": "objects",
    "attribute": "attributes",
    "relation": "relations",
    "count": "counts",
    "condition": "conditions",
    "style": "styles",
    "spatial": "relations",
    "color": _COLORS,
    "number": "numbers",
    "shape": "shapes",
    "size": "sizes",
    "texture": "textures",
}
_WORDS = {
    "Has": _COLORS,
    "HasColor": _COLORS,
    "HasMaterial": "materials",
    "HasShape": "shapes",
    "HasState": "states",
    "IsStyle": "styles",
    "Is": "classes",
}
"""What kinds and predicates are called."""


def find_faults(certificate: JudgeCertificate) -> tuple[str, ...]:
    """Describe the faults that a certificate shows, followed by the groups with too few answers."""
    level = significance_level(certificate)
    confidence = 1 - 2 * level  # of two-sided intervals whose ends are one-sided tests at this level
    whole, unscored = certificate.whole, certificate.unscored_share
    faults = []
    if unscored.whole and unscored.part == unscored.whole:
        faults.append(f"gives no verdict at all: {unscored.part} of {unscored.whole} drawings are unscored")
    elif unscored.interval(confidence).low > _MUCH_UNSCORED:
        percent = f"{100 * (unscored.value or 0.0):.0f} %"
        faults.append(f"unscored {percent}: {unscored.part} of {unscored.whole} drawings have no verdict")
    general = _general_fault(certificate)
    if general:
        faults.append(general)
    else:
        if whole.sensitivity.interval(confidence).high < HIGH:
            faults.append(f"often fails images that show everything: sensitivity {whole.sensitivity}")
        if whole.specificity.interval(confidence).high < HIGH:
            faults.append(f"often passes images in which something is false: specificity {whole.specificity}")
        faults += _group_faults(certificate, level) or _place_faults(certificate, level)
    faults += _invariance_faults(certificate, confidence)
    names = {group.value: _group_name(certificate, group) for group in certificate.groups}
    few = ", ".join(f"{names.get(value, value)} ({count})" for value, count in certificate.not_measured.items())
    rest = [f"not measured: {few}"] if few else []
    if faults:
        return (*faults, *rest)
    measured = dict.fromkeys(names[group.value] for group in certificate.groups if group.is_measured)
    measured |= dict.fromkeys(counts.nuisance for counts in certificate.nuisances if counts.is_measured)
    all_clear = f"no fault found in {', '.join(measured)} (of whole images, {_format_shares(whole)})"
    nothing = f"nothing is measured with {certificate.scenes} scenes: give more"
    return ("; ".join([all_clear if measured else nothing, *rest]),)


def _format_shares(counts: AnswerCounts) -> str:
    return f"sensitivity {counts.sensitivity}, specificity {counts.specificity}"


def _group_name(certificate: JudgeCertificate, counts: AnswerCounts) -> str:
    if counts.by == "word":
        return _WORDS.get(counts.value, counts.value)
    colors = vocabulary("natural").words["color"]
    flips = sum(word.false for word in certificate.by("word") if word.value in colors)
    is_color = counts.value == "attribute" and flips == counts.false > 0  # it asks only for colours
    return _COLORS if is_color else _KINDS.get(counts.value, counts.value)


# --- faults


def _general_fault(certificate: JudgeCertificate) -> str:
    """Return a fault that affects all answers, such as answering yes to almost everything, or an empty string."""
    clauses = certificate.clauses
    for counts, subject in ((clauses, "almost everything"), (certificate.whole, "almost every image")):
        shares = (counts.specificity, counts.sensitivity)
        for answer, (low, high) in (("yes", shares), ("no", shares[::-1])):
            if low.value is None or high.value is None:
                continue
            if low.value <= _LOW and low.interval().high < 0.5 and high.value >= HIGH and high.interval().low > 0.5:
                return f"answers {answer} to {subject}: {_format_shares(counts)}"
    if clauses.is_measured and _is_at_chance(clauses):
        return (
            f"cannot tell true from false, no better than chance: says yes to {clauses.yes_to_true} of {clauses.true} "
            f"true clauses and to {clauses.yes_to_false.part} of {clauses.false} false ones"
        )
    return ""


def _is_at_chance(counts: AnswerCounts) -> bool:
    """Return whether yes answers are about as frequent for false statements as for true ones."""
    right, wrong = counts.sensitivity.value or 0.0, counts.yes_to_false.value or 0.0
    is_possible = counts.sensitivity.interval().low <= wrong and right <= counts.yes_to_false.interval().high
    return is_possible and right - wrong <= _NO_SKILL


def _group_faults(certificate: JudgeCertificate, level: float) -> list[str]:
    """Describe the kinds and predicates with significantly lower sensitivity or specificity than the rest."""
    faults: list[str] = []
    named: set[str] = set()
    reported: list[AnswerCounts] = []
    words = [group for group in certificate.groups if group.by == "word"]
    for groups, rivals in ((certificate.by("kind"), certificate.by("kind")), (words, certificate.by("word"))):
        by_fault: dict[str, list[AnswerCounts]] = {}
        for counts in groups:
            rest = _sum_counts(rival for rival in rivals if rival is not counts)
            if counts.is_measured and _group_name(certificate, counts) not in named and _is_weak(counts, rest, level):
                is_blind = (counts.sensitivity.value or 0.0) <= _NO_SKILL
                fault = ("does not find" if is_blind else "does not see") if _is_at_chance(counts) else "weak"
                by_fault.setdefault(fault, []).append(counts)
        for fault, weak in by_fault.items():
            rest = _sum_counts(rival for rival in rivals if rival not in weak)
            # Predicates of one fault share a line, unless it would say of all what was said of their kind.
            for alike in [weak] if groups is words else [[counts] for counts in weak]:
                names = list(dict.fromkeys(_group_name(certificate, counts) for counts in alike))
                total = _sum_counts(alike)
                if total not in reported:
                    faults.append(_format_fault(fault, _join_names(names), total, rest))
                reported.append(total)
                named.update(names)
        if _COLORS in named:
            named.update(vocabulary("natural").words["color"])
    return faults


def _is_weak(counts: AnswerCounts, rest: AnswerCounts, level: float) -> bool:
    return counts.sensitivity.is_lower(rest.sensitivity, level) or counts.specificity.is_lower(rest.specificity, level)


def _format_fault(fault: str, names: str, counts: AnswerCounts, rest: AnswerCounts) -> str:
    yes = f"says yes to {counts.yes_to_true} of {counts.true} true ones"
    if fault == "does not see":
        return f"{fault} {names}, at chance: {yes} and to {counts.yes_to_false.part} of {counts.false} false ones"
    if fault == "does not find":
        return f"{fault} {names}: {yes} and no to {counts.no_to_false} of {counts.false} false ones"
    lower = [
        f"{word} {share}, elsewhere {elsewhere}"
        for word, share, elsewhere in (
            ("sensitivity", counts.sensitivity, rest.sensitivity),
            ("specificity", counts.specificity, rest.specificity),
        )
        if (share.value or 0.0) <= min(HIGH, elsewhere.value or 0.0)
    ]
    return f"{names} {fault}: {_join_names(lower)}"


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _place_faults(certificate: JudgeCertificate, level: float) -> list[str]:
    phrases = {
        "size": "where the smallest object has {} thousandths of the image",
        "objects": "with {} objects",
        "level": "at {}",
    }
    faults = []
    for by, phrase in phrases.items():
        groups = certificate.by(by)
        for counts in groups:
            rest = _sum_counts(group for group in groups if group is not counts)
            if counts.is_measured and _is_weak(counts, rest, level):
                value = level_label(certificate.suite, counts.value) if by == "level" else counts.value
                faults.append(_format_fault("weak", f"{phrase.format(value)},", counts, rest))
    return faults


def _sum_counts(groups: Iterable[AnswerCounts]) -> AnswerCounts:
    rows = [(counts.true, counts.yes_to_true, counts.false, counts.no_to_false) for counts in groups]
    return AnswerCounts("", "", *map(sum, zip(*rows, strict=True))) if rows else AnswerCounts("", "", 0, 0, 0, 0)


# --- what must not matter


def _invariance_faults(certificate: JudgeCertificate, confidence: float) -> Iterator[str]:
    """Yield faults for answers that change on a repeated query or under a nuisance.

    Reports verdicts or clauses, whichever change more. Noise changes answers equally both ways, but may be stronger
    where a part is flipped. Text is in flipped drawings only, so it is reported only if answers change one way.
    """
    noise = 0.0
    names = dict.fromkeys(counts.nuisance for counts in certificate.nuisances)
    for name in sorted(names, key=AGAIN.__ne__):
        rows = [counts for counts in certificate.nuisances if counts.nuisance == name and counts.asked]
        if name == AGAIN:
            noise = max((counts.changed.interval().high for counts in rows), default=0.0)
        else:
            rows = [counts for counts in rows if counts.is_measured]
        worst = max(rows, key=lambda counts: counts.changed.value or 0.0, default=None)
        if worst is None:
            continue
        lowest = worst.changed.interval(confidence).low
        if name == AGAIN and lowest > _MUCH_CHANGED:
            yield f"noisy: {worst.changed.part} of {worst.asked} answers changed when asked again"
        elif name != AGAIN and lowest > max(noise, _MUCH_CHANGED):
            flips = worst.to_yes + worst.to_no
            ways = [CountedShare(count, flips).interval(confidence).low <= 0.5 for count in (worst.to_yes, worst.to_no)]
            if name != TEXT or worst.unscored > flips or not all(ways):
                yield _format_invariance_fault(worst)


def _format_invariance_fault(counts: InvarianceCounts) -> str:
    change, total = _NUISANCES.get(counts.nuisance, counts.nuisance), counts.changed.part
    for way, count in (("changed to yes", counts.to_yes), ("changed to no", counts.to_no)):
        if CountedShare(count, total).interval().low > 0.5:
            return f"swayed by {change}: {count} of {counts.asked} answers {way}"
    if CountedShare(counts.unscored, total).interval().low > 0.5:
        return f"gives no verdict with {change}: {counts.unscored} of {counts.asked} images are unscored"
    return (
        f"swayed by {change}: {total} of {counts.asked} answers changed ({counts.to_yes} to yes, {counts.to_no} to "
        f"no, {counts.unscored} unscored)"
    )
