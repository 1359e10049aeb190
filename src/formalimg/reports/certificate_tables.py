"""Certificates of judges in a report: how well the judge of each run sees, and the pass rate corrected by that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges.certificates.certificate import CountedShare, JudgeCertificate
from formalimg.judges.certificates.certified_errors import certified_errors
from formalimg.reports.comparison_model import Comparison, RunRow, Section
from formalimg.reports.tables.format import join_names
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.judge_error import ErrorRates, rogan_gladen
from formalimg.stats.observations import Interval
from formalimg.types import Table

_SHOWN_SETTINGS = 4


def with_certificates(comparison: Comparison, certificates: Sequence[JudgeCertificate]) -> Comparison:
    """Return a comparison with a table of certificates in each section."""
    if not certificates:
        return comparison
    sections = tuple(
        replace(section, tables=(*section.tables, certificate_table(section, certificates, comparison.confidence)))
        for section in comparison.sections
    )
    return replace(comparison, sections=sections)


def certified_rates(run: RunRow, certificates: Sequence[JudgeCertificate]) -> ErrorRates | None:
    """Return the error rates of a run's judge on drawings; None without a certificate of just this judge."""
    for certificate in certificates:
        if _is_of(certificate, run) and not any(_differences(run, certificate)):
            errors = certified_errors(certificate)
            return None if errors is None else errors.rates
    return None


def certificate_table(section: Section, certificates: Sequence[JudgeCertificate], confidence: float) -> Table:
    """Return sensitivity and specificity of the judge of each run, and the rate that they correct."""
    rows: list[TableRow] = []
    remarks: list[str] = []
    assumption = ""
    labelled = {run.name for run in section.corrected}
    for run in section.rows:
        found = [each for each in certificates if _is_of(each, run)]
        if not found:
            remarks.append(_none_fits(run, certificates))
            rows.append(TableRow((run.name, _judge(run), "none", *([Number(None)] * 4)), run.name))
        for certificate in found:
            rate = _corrected(run, certificate, run.name in labelled or section.suite.has_scores, confidence)
            remarks += [f"{run.name}: {remark}" for remark in (*_differences(run, certificate), *rate.remarks)]
            whole = certificate.whole
            shares = [_number(share, confidence) for share in (whole.sensitivity, whole.specificity)]
            cells: tuple[Cell, ...] = (run.name, _judge(run), certificate.date[:10], *shares, rate.raw, rate.corrected)
            rows.append(TableRow(cells, run.name))
            assumption = rate.assumption or assumption
    columns = (
        Column("run"),
        Column("judge"),
        Column("certified"),
        Column("sensitivity", "percent", starts=True),
        Column("specificity", "percent"),
        Column("raw", "percent", starts=True),
        Column("by certificate", "percent"),
    )
    corrected = (
        "raw: the pass rate of all images by the judge. by certificate: the same, corrected by both (Rogan-Gladen), "
        f"which {assumption}, on drawings: label images of the run to be sure (`formalimg annotate RUN "
        "--for-correction`). "
    )
    caption = (
        "How often the judge passes drawings that show everything (sensitivity), and fails those in which one clause "
        f"is false (specificity). {corrected if assumption else ''}Intervals: {100 * confidence:g} %."
    )
    findings = [
        f"{certificate.judge} on {certificate.suite}, {certificate.date[:10]}: {finding}"
        for certificate in certificates
        if any(_is_of(certificate, run) for run in section.rows)
        for finding in certificate.findings
    ]
    return Table(
        "certificates", "Certificates of judges", columns, tuple(rows), (caption, *remarks, *findings), "result"
    )


class _Corrected(NamedTuple):
    """The two rates of a row, why one of them is missing, and what the correction assumes."""

    raw: Number = Number(None)
    corrected: Number = Number(None)
    remarks: tuple[str, ...] = ()
    assumption: str = ""


def _corrected(run: RunRow, certificate: JudgeCertificate, by_others: bool, confidence: float) -> _Corrected:
    """Return the pass rate, raw and by the certificate; none where human labels correct it, or it is a score."""
    rate, whole = run.summary.overall, certificate.whole
    sensitivity, specificity = whole.sensitivity.value, whole.specificity.value
    if by_others or rate.value is None:
        return _Corrected()
    raw = Number(rate.value, rate.interval, None, rate.passed, rate.scored, rate.expected)
    if sensitivity is None or specificity is None:
        return _Corrected(raw, remarks=("its certificate has no answers to correct by",))
    # Images of one item are alike: they count as one.
    images = min(rate.scored, run.items)
    try:
        found = rogan_gladen(
            rate.value,
            sensitivity,
            specificity,
            images=images,
            positives=whole.true,
            negatives=whole.false,
            confidence=confidence,
        )
    except FormalimgError as error:
        return _Corrected(raw, remarks=(str(error),))
    interval = None if found.low is None or found.high is None else Interval(found.low, found.high)
    return _Corrected(raw, Number(found.estimate, interval), (), found.assumption)


def _is_of(certificate: JudgeCertificate, run: RunRow) -> bool:
    judge = run.manifest.judge
    return judge is not None and (certificate.judge, certificate.suite) == (judge.name, run.manifest.suite)


def _judge(run: RunRow) -> str:
    return run.manifest.judge.name if run.manifest.judge else "none"


def _none_fits(run: RunRow, certificates: Sequence[JudgeCertificate]) -> str:
    given = join_names(list(dict.fromkeys(f"{each.judge} on {each.suite}" for each in certificates)))
    return (
        f"{run.name}: no certificate of its judge {_judge(run)} on {run.manifest.suite}, only of {given}: make one by "
        f"`formalimg certify {_judge(run)} --suite {run.manifest.suite} --out FILE`"
    )


def _differences(run: RunRow, certificate: JudgeCertificate) -> Iterator[str]:
    """Yield in what the certified judge differs from that of the run."""
    judge = run.manifest.judge
    ours = {name: value for name, value in (judge.settings if judge else {}).items() if value is not None}
    theirs = {name: value for name, value in certificate.settings.items() if value is not None}
    different = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    if different:
        more = f" and {len(different) - _SHOWN_SETTINGS} more" if len(different) > _SHOWN_SETTINGS else ""
        yield f"the certificate is of the judge with other settings ({', '.join(different[:_SHOWN_SETTINGS])}{more})"
    served = sorted(run.quality.served)
    if served and certificate.served and not set(served) <= set(certificate.served):
        yield (
            f"the certificate is of another served model ({', '.join(certificate.served)}), the images were judged by "
            f"{', '.join(served)}"
        )


def _number(share: CountedShare, confidence: float) -> Number:
    if share.value is None:
        return Number(None)
    return Number(share.value, share.interval(confidence), None, share.part, share.whole, share.whole)
