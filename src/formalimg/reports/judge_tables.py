"""Tables on judges: certificates with the pass rates corrected by them, and answers decided by boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from formalimg.errors import FormalimgError
from formalimg.judges.certificates.certificate import CountedShare, JudgeCertificate, find_error_rates
from formalimg.reports.comparison_model import Comparison, HowCounted, RunRow, Section, SeenRun, run_cell, run_column
from formalimg.reports.tables.format import join_names
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.agreement import consistency
from formalimg.stats.judge_error import ErrorRates, rogan_gladen
from formalimg.stats.observations import Interval
from formalimg.types import RunRecord, Table, Verdict

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
            return find_error_rates(certificate)
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


# --- answers that boxes decide

_ALL = "all"


def box_answer_table(runs: Sequence[SeenRun], rules: HowCounted) -> Table:
    """Return the table of box answers for runs whose judge used a grounder, with no rows if none did."""
    columns = (
        *run_column(runs),
        Column("grounder"),
        Column("skill"),
        Column("questions", "count"),
        Column("decided", "percent"),
        Column("agree", "percent", starts=True),
        Column("only judge", "count", group="has the expected answer for", starts=True),
        Column("only boxes", "count", group="has the expected answer for"),
    )
    rows = [row for run in runs for row in _run_rows(run, runs, rules)]
    note = (
        "Counts, presence, colours and positions in the plane are decided by logic from the boxes that the grounder "
        "found, once for each image; materials, depth and verbs are not, nor what it cannot look for or see. decided: "
        "the share of questions with an answer of the judge that boxes decide; agree: of these, the share of which "
        "both say the same, with its interval over items. Verdicts are those of the judge."
    )
    return Table("boxes", "What boxes decide, and whether the judge says the same", columns, tuple(rows), (note,))


def _run_rows(run: SeenRun, runs: Sequence[SeenRun], rules: HowCounted) -> Iterator[TableRow]:
    grounder, answers = _read_answers(run.record)
    if not grounder:
        return
    for skill in (_ALL, *sorted({skill for _, skill, *_ in answers})):
        total = sum(skill in (_ALL, kind) for _, kind, *_ in answers)
        decided = [
            (item, (by_judge, by_boxes))
            for item, kind, by_judge, by_boxes in answers
            if skill in (_ALL, kind) and by_boxes is not None
        ]
        pairs = [pair for _, pair in decided]
        same = consistency(pairs, items=[item for item, _ in decided], confidence=rules.confidence)
        cells: tuple[Cell, ...] = (
            *run_cell(run.name, runs),
            grounder,
            skill,
            Number(total),
            Number(len(decided) / total, passed=len(decided), scored=total) if total else "",
            Number(same.value, same.interval, passed=same.equal, scored=same.n) if decided else "",
            Number(pairs.count((True, False))),
            Number(pairs.count((False, True))),
        )
        yield TableRow(cells, run.name)


def _read_answers(record: RunRecord) -> tuple[str, list[tuple[str, str, bool, bool | None]]]:
    """Return the grounder's name (or an empty string) and the item, skill and two answers of each question.

    The answers say whether judge and boxes give the expected answer; None if boxes do not decide.
    """
    grounder = ""
    answers = []
    for judged in record.judged():
        boxes = judged.verdict.evidence.get("by_boxes") if isinstance(judged.verdict, Verdict) else None
        if not isinstance(boxes, Mapping) or not isinstance(judged.verdict, Verdict):
            continue
        grounder = str(boxes.get("grounder") or grounder)
        stored, parts = boxes.get("answers"), judged.verdict.parts
        by_boxes = stored if isinstance(stored, list) and len(stored) == len(parts) else []
        for part, answer in zip(parts, by_boxes, strict=False):
            decided = answer if isinstance(answer, bool) else None
            answers.append((judged.outcome.item, part.kind, part.score >= 0.5, decided))
    return grounder, answers
