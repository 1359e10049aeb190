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
    """A contrast, and the model, probe and gate it is of."""

    model: str
    probe: str
    gate: str
    contrast: Contrast


def diagnosis_text(found: Sequence[Diagnosis], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return diagnoses as text."""
    return render_study(
        format,
        lambda: _tables(found),
        lambda: study_csv_text(_CSV_COLUMNS, map(_csv_row, _probe_rows(found))),
        lambda: {"models": [export_json(each) for each in found]},
    )


def diagnosis_table(found: Sequence[Diagnosis]) -> ConsoleRenderable:
    """Return diagnoses as something that `rich` can print."""
    return render_terminal(_tables(found))


def _probe_rows(found: Sequence[Diagnosis]) -> list[_ProbeRow]:
    rows = [_ProbeRow(each.model, "rules", "", each.rules) for each in found if each.rules]
    rows += [_ProbeRow(each.model, "attributes", "", each.attributes) for each in found if each.attributes]
    for each in found:
        if each.lexical:
            rows.append(_ProbeRow(each.model, "names", "gated", each.lexical.gated))
            rows.append(_ProbeRow(each.model, "names", "ungated", each.lexical.ungated))
    return rows


def _tables(found: Sequence[Diagnosis]) -> Iterator[Table]:
    rows, intervals = _probe_rows(found), f"Mean scores, with {100 * found[0].confidence:g} % intervals."
    notes = [f"{each.model}: {note}." for each in found for note in each.notes]
    weights = " Each question has its full weight, as in the published code." * (found[0].profile != "paper")
    for probe, title, heads, unit in (
        ("rules", "Rules of the world: as they are, and changed", ("factual", "changed"), "rule"),
        ("attributes", "Objects seen together: often, and rarely", ("common", "rare"), "pair"),
        ("names", "Explicit prompts (L2): with names, and without", ("L2", "de-nominalised"), "group"),
    ):
        chosen = [row for row in rows if row.probe == probe]
        if not chosen:
            continue
        gates = ("gate",) if probe == "names" else ()
        note = [f"{intervals} Differences are means over {unit}s, each with itself.{weights}", *notes]
        notes = []
        note += _left_out_notes(chosen, heads, unit)
        if probe == "names":
            note += _gate_notes(found)
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
                    _difference(row.contrast),
                    *(row.contrast.groups, row.contrast.higher, row.contrast.lower),
                )
                for row in chosen
            ),
            name="probes",
        )


def _difference(it: Contrast) -> Number:
    return Number(None) if it.interval is None else Number(it.difference, it.interval)


def _left_out_notes(rows: Sequence[_ProbeRow], heads: tuple[str, str], unit: str) -> Iterator[str]:
    for model, _, gate, contrast in rows:
        who = f"{model}, {gate}" if gate else model
        for names, why in (
            (contrast.only_first, f"only {heads[0]} scored"),
            (contrast.only_second, f"only {heads[1]} scored"),
            (contrast.unscored, "neither scored"),
        ):
            if names:
                yield f"{who}: {count_noun(len(names), unit)} not paired, {why} ({_first_names(names)})."
        missing = sum(side.expected - side.scored for side in (contrast.first, contrast.second))
        if missing:
            yield f"{who}: of the {unit}s compared, {count_noun(missing, 'image')} unscored."


def _gate_notes(found: Sequence[Diagnosis]) -> Iterator[str]:
    for each in found:
        if each.lexical:
            without = ", those without a factual score among them" if each.profile == "official-code" else ""
            yield (
                f"{each.model}: the gate stands at {each.threshold:g} and is closed for "
                f"{count_noun(len(each.lexical.closed), 'group')} ({_first_names(each.lexical.closed)}){without}."
            )
            if each.lexical.unknown:
                lacking = "image" if each.profile == "official-code" else "score"
                yield (
                    f"{each.model}: left out of gated, for want of a factual {lacking}: "
                    f"{count_noun(len(each.lexical.unknown), 'group')} ({_first_names(each.lexical.unknown)})."
                )


def _first_names(names: Sequence[str]) -> str:
    """Return the first names, and how many there are if that is not all."""
    if not names:
        return "none"
    return ", ".join(names[:_MAX_NAMES]) + (f" … ({len(names)})" if len(names) > _MAX_NAMES else "")


def _csv_row(row: _ProbeRow) -> dict[str, object]:
    it = row.contrast
    found: dict[str, object] = {"model": row.model, "probe": row.probe, "gate": row.gate, "groups": it.groups}
    found |= {"higher": it.higher, "lower": it.lower}
    for name, value, interval in (
        ("first", it.first.value, it.first.interval),
        ("second", it.second.value, it.second.interval),
        ("difference", it.difference, it.interval),
    ):
        found[name] = value
        if interval is not None:
            found |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    counts = {"only_first": it.only_first, "only_second": it.only_second, "unscored": it.unscored}
    return found | {name: len(groups) for name, groups in counts.items()}
