"""Tables, CSV and JSON of the diagnosis: the probes of CF-World."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.benchmarks.cfworld.diagnosis import Contrast, Diagnosis
from formalimg.human_eval.agreement.study_tables import (
    StudyFormat,
    build_table,
    count_columns,
    export_json,
    render_study,
    study_csv_text,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.reports.tables.terminal import render_terminal
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

_CSV_COLUMNS = (
    *("model", "probe", "gate", "first", "first_low", "first_high", "second", "second_low", "second_high"),
    *("difference", "difference_low", "difference_high", "groups", "higher", "lower"),
    *("only_first", "only_second", "unscored"),
)
_MAX_NAMES = 5


class _ProbeRow(NamedTuple):
    """A contrast with its model, probe and gate."""

    model: str
    probe: str
    gate: str
    contrast: Contrast


def diagnosis_text(diagnoses: Sequence[Diagnosis], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return diagnoses as text in the given format."""
    return render_study(
        format,
        lambda: _build_tables(diagnoses),
        lambda: study_csv_text(_CSV_COLUMNS, map(_csv_row, _probe_rows(diagnoses))),
        lambda: {"models": [export_json(diagnosis) for diagnosis in diagnoses]},
    )


def diagnosis_table(diagnoses: Sequence[Diagnosis]) -> ConsoleRenderable:
    """Return diagnoses as tables for `rich`."""
    return render_terminal(_build_tables(diagnoses))


def _probe_rows(diagnoses: Sequence[Diagnosis]) -> list[_ProbeRow]:
    rows = [_ProbeRow(result.model, "rules", "", result.rules) for result in diagnoses if result.rules]
    rows += [_ProbeRow(result.model, "attributes", "", result.attributes) for result in diagnoses if result.attributes]
    for diagnosis in diagnoses:
        if diagnosis.lexical:
            rows.append(_ProbeRow(diagnosis.model, "names", "gated", diagnosis.lexical.gated))
            rows.append(_ProbeRow(diagnosis.model, "names", "ungated", diagnosis.lexical.ungated))
    return rows


def _build_tables(diagnoses: Sequence[Diagnosis]) -> Iterator[Table]:
    rows, first = _probe_rows(diagnoses), diagnoses[0]
    notes = [f"{diagnosis.model}: {note}." for diagnosis in diagnoses for note in diagnosis.notes]
    weights = " Each question has its full weight, as in the published code." * (first.profile != "paper")
    for probe, title, heads, unit in (
        ("rules", "Rules of the world: as they are, and changed", ("factual", "changed"), "rule"),
        ("attributes", "Objects seen together: often, and rarely", ("common", "rare"), "pair"),
        ("names", "Explicit prompts (L2): with names, and without", ("L2", "de-nominalised"), "group"),
    ):
        chosen = [row for row in rows if row.probe == probe]
        if not chosen:
            continue
        gates = ("gate",) if probe == "names" else ()
        note = [
            f"Mean scores, with {100 * first.confidence:g} % intervals. Differences are means over {unit}s, each with "
            f"itself.{weights}",
            *notes,
            *_left_out_notes(chosen, heads, unit),
            *(_gate_notes(diagnoses) if gates else ()),
        ]
        notes = []
        yield build_table(
            title,
            " ".join(note),
            (
                *("model", *gates),
                *(Column(head, "score") for head in heads),
                Column("difference", "difference"),
                *count_columns(f"{unit}s", "higher", "lower"),
            ),
            (
                (
                    row.model,
                    *((row.gate,) if gates else ()),
                    *(Number(side.value, side.interval) for side in (row.contrast.first, row.contrast.second)),
                    Number(row.contrast.difference if row.contrast.interval else None, row.contrast.interval),
                    *(row.contrast.groups, row.contrast.higher, row.contrast.lower),
                )
                for row in chosen
            ),
            name="probes",
        )


def _left_out_notes(rows: Sequence[_ProbeRow], heads: tuple[str, str], unit: str) -> Iterator[str]:
    for model, _, gate, contrast in rows:
        label = f"{model}, {gate}" if gate else model
        for names, reason in (
            (contrast.only_first, f"only {heads[0]} scored"),
            (contrast.only_second, f"only {heads[1]} scored"),
            (contrast.unscored, "neither scored"),
        ):
            if names:
                yield f"{label}: {count_noun(len(names), unit)} not paired, {reason} ({_first_names(names)})."
        missing = sum(side.expected - side.scored for side in (contrast.first, contrast.second))
        if missing:
            yield f"{label}: of the {unit}s compared, {count_noun(missing, 'image')} unscored."


def _gate_notes(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    for diagnosis in diagnoses:
        if (lexical := diagnosis.lexical) is None:
            continue
        as_code = diagnosis.profile == "official-code"
        yield (
            f"{diagnosis.model}: the gate stands at {diagnosis.threshold:g} and is closed for "
            f"{count_noun(len(lexical.closed), 'group')} ({_first_names(lexical.closed)})"
            f"{', those without a factual score among them' if as_code else ''}."
        )
        if lexical.unknown:
            yield (
                f"{diagnosis.model}: left out of gated, for want of a factual {'image' if as_code else 'score'}: "
                f"{count_noun(len(lexical.unknown), 'group')} ({_first_names(lexical.unknown)})."
            )


def _first_names(names: Sequence[str]) -> str:
    if not names:
        return "none"
    return ", ".join(names[:_MAX_NAMES]) + (f" … ({len(names)})" if len(names) > _MAX_NAMES else "")


def _csv_row(row: _ProbeRow) -> dict[str, object]:
    contrast = row.contrast
    cells: dict[str, object] = {"model": row.model, "probe": row.probe, "gate": row.gate}
    cells |= {name: getattr(contrast, name) for name in ("groups", "higher", "lower")}
    cells |= {name: len(getattr(contrast, name)) for name in ("only_first", "only_second", "unscored")}
    for name, value, interval in (
        ("first", contrast.first.value, contrast.first.interval),
        ("second", contrast.second.value, contrast.second.interval),
        ("difference", contrast.difference, contrast.interval),
    ):
        cells[name] = value
        if interval is not None:
            cells |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return cells
