"""Findings: the faults of a judge in plain English, derived from counts by exact tests.

A fault is named if it is large and chance is no explanation for it, at the level of `significance_level`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.judges.certificates.certificate import (
    HIGH,
    AnswerCounts,
    CountedShare,
    InvarianceCounts,
    JudgeCertificate,
    level_label,
    significance_level,
)
from formalimg.judges.certificates.nuisances import AGAIN, TEXT
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

_Phrase = Callable[[str, AnswerCounts, AnswerCounts], str]
"""Formats the fault of groups, from their names, their counts, and those of all others."""


def find_faults(certificate: JudgeCertificate) -> tuple[str, ...]:
    """Describe the faults that a certificate shows, followed by the groups with too few answers."""
    level = significance_level(certificate)
    general = list(_general_faults(certificate))
    faults = [*_find_unscored_faults(certificate, level), *general]
    if not general:
        faults += _rate_faults(certificate, level)
        faults += _group_faults(certificate, level) or _place_faults(certificate, level)
    faults += _invariance_faults(certificate, level)
    names = {group.value: _group_name(certificate, group) for group in certificate.groups}
    few = ", ".join(f"{names.get(value, value)} ({count})" for value, count in certificate.not_measured.items())
    rest = [f"not measured: {few}"] if few else []
    return (*faults, *rest) if faults else ("; ".join([_format_all_clear(certificate), *rest]),)


def _format_all_clear(certificate: JudgeCertificate) -> str:
    names = dict.fromkeys(_group_name(certificate, group) for group in certificate.groups if group.is_measured)
    names |= dict.fromkeys(counts.nuisance for counts in certificate.nuisances if counts.is_measured)
    if not names:
        return f"nothing is measured with {certificate.scenes} scenes: give more"
    return f"no fault found in {', '.join(names)} (of whole images, {_format_shares(certificate.whole)})"


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


def _find_unscored_faults(certificate: JudgeCertificate, level: float) -> Iterator[str]:
    share = certificate.unscored_share
    if share.whole and share.part == share.whole:
        yield f"gives no verdict at all: {share.part} of {share.whole} drawings are unscored"
    elif share.interval(_interval_confidence(level)).low > _MUCH_UNSCORED:
        percent = f"{100 * (share.value or 0.0):.0f} %"
        yield f"unscored {percent}: {share.part} of {share.whole} drawings have no verdict"


def _interval_confidence(level: float) -> float:
    """Return the confidence of a two-sided interval whose ends are one-sided tests at `level`."""
    return 1 - 2 * level


def _general_faults(certificate: JudgeCertificate) -> Iterator[str]:
    """Yield a fault that affects all answers, such as answering yes to almost everything."""
    clauses = certificate.clauses
    for counts, subject in ((clauses, "almost everything"), (certificate.whole, "almost every image")):
        for answer, low, high in (
            ("yes", counts.specificity, counts.sensitivity),
            ("no", counts.sensitivity, counts.specificity),
        ):
            if low.value is None or high.value is None:
                continue
            if low.value <= _LOW and low.interval().high < 0.5 and high.value >= HIGH and high.interval().low > 0.5:
                yield f"answers {answer} to {subject}: {_format_shares(counts)}"
                return
    if clauses.is_measured and _is_at_chance(clauses):
        yield (
            f"cannot tell true from false, no better than chance: says yes to {clauses.yes_to_true} of {clauses.true} "
            f"true clauses and to {clauses.yes_to_false.part} of {clauses.false} false ones"
        )


def _is_at_chance(counts: AnswerCounts) -> bool:
    """Return whether yes answers are about as frequent for false statements as for true ones."""
    right, wrong = counts.sensitivity.value or 0.0, counts.yes_to_false.value or 0.0
    is_possible = counts.sensitivity.interval().low <= wrong and right <= counts.yes_to_false.interval().high
    return is_possible and right - wrong <= _NO_SKILL


def _rate_faults(certificate: JudgeCertificate, level: float) -> Iterator[str]:
    """Yield faults for low sensitivity or specificity on whole images."""
    whole, confidence = certificate.whole, _interval_confidence(level)
    if whole.sensitivity.interval(confidence).high < HIGH:
        yield f"often fails images that show everything: sensitivity {whole.sensitivity}"
    if whole.specificity.interval(confidence).high < HIGH:
        yield f"often passes images in which something is false: specificity {whole.specificity}"


def _group_faults(certificate: JudgeCertificate, level: float) -> list[str]:
    """Describe the kinds and predicates with significantly lower sensitivity or specificity than the rest."""
    faults: list[str] = []
    named: set[str] = set()
    reported: list[AnswerCounts] = []
    words = [group for group in certificate.groups if group.by == "word"]
    for groups, rivals in ((certificate.by("kind"), certificate.by("kind")), (words, certificate.by("word"))):
        by_phrase: dict[_Phrase, list[AnswerCounts]] = {}
        for counts in groups:
            rest = _sum_counts(rival for rival in rivals if rival is not counts)
            if counts.is_measured and _group_name(certificate, counts) not in named and _is_weak(counts, rest, level):
                by_phrase.setdefault(_choose_phrase(counts), []).append(counts)
        for phrase, weak in by_phrase.items():
            rest = _sum_counts(rival for rival in rivals if rival not in weak)
            # Predicates of one fault share a line, unless it would say of all what was said of their kind.
            for alike in [weak] if groups is words else [[counts] for counts in weak]:
                names = list(dict.fromkeys(_group_name(certificate, counts) for counts in alike))
                total = _sum_counts(alike)
                if total not in reported:
                    faults.append(phrase(_join_names(names), total, rest))
                reported.append(total)
                named.update(names)
        if _COLORS in named:
            named.update(vocabulary("natural").words["color"])
    return faults


def _is_weak(counts: AnswerCounts, rest: AnswerCounts, level: float) -> bool:
    return counts.sensitivity.is_lower(rest.sensitivity, level) or counts.specificity.is_lower(rest.specificity, level)


def _choose_phrase(counts: AnswerCounts) -> _Phrase:
    """Return the function that describes the fault of a weak group."""
    if not _is_at_chance(counts):
        return _format_weak
    return _format_not_found if (counts.sensitivity.value or 0.0) <= _NO_SKILL else _format_not_seen


def _format_not_seen(names: str, counts: AnswerCounts, rest: AnswerCounts) -> str:
    return (
        f"does not see {names}, at chance: says yes to {counts.yes_to_true} of {counts.true} true ones and to "
        f"{counts.yes_to_false.part} of {counts.false} false ones"
    )


def _format_not_found(names: str, counts: AnswerCounts, rest: AnswerCounts) -> str:
    return (
        f"does not find {names}: says yes to {counts.yes_to_true} of {counts.true} true ones and no to "
        f"{counts.no_to_false} of {counts.false} false ones"
    )


def _format_weak(names: str, counts: AnswerCounts, rest: AnswerCounts) -> str:
    shares = (
        ("sensitivity", counts.sensitivity, rest.sensitivity),
        ("specificity", counts.specificity, rest.specificity),
    )
    lower = [
        f"{word} {share}, elsewhere {elsewhere}"
        for word, share, elsewhere in shares
        if (share.value or 0.0) <= min(HIGH, elsewhere.value or 0.0)
    ]
    return f"{names} weak: {_join_names(lower)}"


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _place_faults(certificate: JudgeCertificate, level: float) -> list[str]:
    """Describe faults for small objects, many objects or high levels."""
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
                value = level_label(get_suite(certificate.suite), counts.value) if by == "level" else counts.value
                faults.append(_format_weak(f"{phrase.format(value)},", counts, rest))
    return faults


def _sum_counts(groups: Iterable[AnswerCounts]) -> AnswerCounts:
    rows = [(counts.true, counts.yes_to_true, counts.false, counts.no_to_false) for counts in groups]
    return AnswerCounts("", "", *map(sum, zip(*rows, strict=True))) if rows else AnswerCounts("", "", 0, 0, 0, 0)


# --- what must not matter


def _invariance_faults(certificate: JudgeCertificate, level: float) -> Iterator[str]:
    """Yield faults for answers that change on a repeated query or under a nuisance."""
    by_name: dict[str, list[InvarianceCounts]] = {}
    for counts in certificate.nuisances:
        by_name.setdefault(counts.nuisance, []).append(counts)
    repeats = [counts for counts in by_name.pop(AGAIN, []) if counts.asked]
    noise = max((counts.changed.interval().high for counts in repeats), default=0.0)
    worst = _most_changed(repeats)
    if worst is not None and worst.changed.interval(_interval_confidence(level)).low > _MUCH_CHANGED:
        yield f"noisy: {worst.changed.part} of {worst.asked} answers changed when asked again"
    for name, group in by_name.items():
        worst = _most_changed([counts for counts in group if counts.is_measured])
        if worst is None or (name == TEXT and _is_two_way(worst, level)):
            continue
        if worst.changed.interval(_interval_confidence(level)).low > max(noise, _MUCH_CHANGED):
            yield _format_invariance_fault(worst)


def _most_changed(counts: Sequence[InvarianceCounts]) -> InvarianceCounts | None:
    return max(counts, key=lambda row: row.changed.value or 0.0, default=None)


def _is_two_way(counts: InvarianceCounts, level: float) -> bool:
    """Return whether changes to yes and changes to no are about equally frequent, up to chance."""
    changed = counts.to_yes + counts.to_no
    ways = [CountedShare(count, changed) for count in (counts.to_yes, counts.to_no)]
    return counts.unscored <= changed and all(share.interval(_interval_confidence(level)).low <= 0.5 for share in ways)


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
