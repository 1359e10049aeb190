"""Judge certificates in reports: how reliable each run's judge is, and pass rates corrected for its errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from formalimg.errors import FormalimgError
from formalimg.judges.certificates.certificate import CountedShare, JudgeCertificate, certified_errors
from formalimg.reports.comparison_model import Comparison, RunRow, Section
from formalimg.reports.tables.format import join_names
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.judge_error import ErrorRates, rogan_gladen
from formalimg.stats.observations import Interval
from formalimg.types import Table

_MAX_SETTINGS = 4


def with_certificates(comparison: Comparison, certificates: Sequence[JudgeCertificate]) -> Comparison:
    """Return the comparison with a table of judge certificates added to each section."""
    if not certificates:
        return comparison
    sections = tuple(
        replace(section, tables=(*section.tables, certificate_table(section, certificates, comparison.confidence)))
        for section in comparison.sections
    )
    return replace(comparison, sections=sections)


def find_certified_rates(run: RunRow, certificates: Sequence[JudgeCertificate]) -> ErrorRates | None:
    """Return the error rates of a run's judge on drawings, or None without a matching certificate."""
    for certificate in certificates:
        if _is_for_run(certificate, run) and not any(_judge_differences(run, certificate)):
            return certified_errors(certificate)
    return None


def certificate_table(section: Section, certificates: Sequence[JudgeCertificate], confidence: float) -> Table:
    """Return a table with the sensitivity and specificity of each run's judge and the corrected pass rate."""
    rows: list[TableRow] = []
    remarks: list[str] = []
    assumption = ""
    labelled = {run.name for run in section.corrected}
    for run in section.rows:
        judge = run.manifest.judge.name if run.manifest.judge else "none"
        fitting = [certificate for certificate in certificates if _is_for_run(certificate, run)]
        if not fitting:
            remarks.append(_missing_certificate_remark(run, judge, certificates))
            rows.append(TableRow((run.name, judge, "none", *([Number(None)] * 4)), run.name))
        for certificate in fitting:
            # Human labels correct the rate better, and a score is none.
            has_rate = not (run.name in labelled or section.suite.has_scores or run.summary.overall.value is None)
            remarks += [f"{run.name}: {remark}" for remark in _judge_differences(run, certificate)]
            raw = corrected = Number(None)
            if has_rate:
                overall = run.summary.overall
                raw = Number(overall.value, overall.interval, None, overall.passed, overall.scored, overall.expected)
                try:
                    corrected, assumption = _correct_rate(run, certificate, confidence)
                except FormalimgError as error:
                    remarks.append(f"{run.name}: {error}")
            whole = certificate.whole
            shares = [_share_number(share, confidence) for share in (whole.sensitivity, whole.specificity)]
            cells: tuple[Cell, ...] = (run.name, judge, certificate.date[:10], *shares, raw, corrected)
            rows.append(TableRow(cells, run.name))
    columns = (
        Column("run"),
        Column("judge"),
        Column("certified"),
        Column("sensitivity", "percent", starts=True),
        Column("specificity", "percent"),
        Column("raw", "percent", starts=True),
        Column("by certificate", "percent"),
    )
    corrected_note = (
        "raw: the pass rate of all images by the judge. by certificate: the same, corrected by both (Rogan-Gladen), "
        f"which {assumption}, on drawings: label images of the run to be sure (`formalimg annotate RUN "
        "--for-correction`). "
    )
    caption = (
        "How often the judge passes drawings that show everything (sensitivity), and fails those in which one clause "
        f"is false (specificity). {corrected_note if assumption else ''}Intervals: {100 * confidence:g} %."
    )
    findings = [
        f"{certificate.judge} on {certificate.suite}, {certificate.date[:10]}: {finding}"
        for certificate in certificates
        if any(_is_for_run(certificate, run) for run in section.rows)
        for finding in certificate.findings
    ]
    notes = (caption, *remarks, *findings)
    return Table("certificates", "Certificates of judges", columns, tuple(rows), notes, "result")


def _correct_rate(run: RunRow, certificate: JudgeCertificate, confidence: float) -> tuple[Number, str]:
    overall, whole = run.summary.overall, certificate.whole
    sensitivity, specificity = whole.sensitivity.value, whole.specificity.value
    if sensitivity is None or specificity is None:
        raise FormalimgError("its certificate has no answers to correct by")
    rate = rogan_gladen(
        overall.value or 0.0,
        sensitivity,
        specificity,
        images=min(overall.scored, run.items),  # images of one item are alike: they count as one
        positives=whole.true,
        negatives=whole.false,
        confidence=confidence,
    )
    interval = None if rate.low is None or rate.high is None else Interval(rate.low, rate.high)
    return Number(rate.estimate, interval), rate.assumption


def _is_for_run(certificate: JudgeCertificate, run: RunRow) -> bool:
    judge = run.manifest.judge
    return judge is not None and (certificate.judge, certificate.suite) == (judge.name, run.manifest.suite)


def _missing_certificate_remark(run: RunRow, judge: str, certificates: Sequence[JudgeCertificate]) -> str:
    names = dict.fromkeys(f"{certificate.judge} on {certificate.suite}" for certificate in certificates)
    return (
        f"{run.name}: no certificate of its judge {judge} on {run.manifest.suite}, only of {join_names(list(names))}: "
        f"make one by `formalimg certify {judge} --suite {run.manifest.suite} --out FILE`"
    )


def _judge_differences(run: RunRow, certificate: JudgeCertificate) -> Iterator[str]:
    judge = run.manifest.judge
    ours = {name: value for name, value in (judge.settings if judge else {}).items() if value is not None}
    theirs = {name: value for name, value in certificate.settings.items() if value is not None}
    different = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    if different:
        more = f" and {len(different) - _MAX_SETTINGS} more" if len(different) > _MAX_SETTINGS else ""
        yield f"the certificate is of the judge with other settings ({', '.join(different[:_MAX_SETTINGS])}{more})"
    served = sorted(run.quality.served)
    if served and certificate.served and not set(served) <= set(certificate.served):
        yield (
            f"the certificate is of another served model ({', '.join(certificate.served)}), the images were judged by "
            f"{', '.join(served)}"
        )


def _share_number(share: CountedShare, confidence: float) -> Number:
    if share.value is None:
        return Number(None)
    return Number(share.value, share.interval(confidence), None, share.part, share.whole, share.whole)
