"""What the probes of CF-World tell, as texts: tables for terminals, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.analysis.diagnosis import Contrast, Diagnosis, Side
from formalimg.analysis.study_tables import (
    AgreementFormat,
    AgreementTable,
    counted,
    named,
    plain,
    rows_as_csv,
    study_as,
    tables_shown,
)

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


_COLUMNS = (
    *("model", "probe", "gate", "first", "first_low", "first_high", "second", "second_low", "second_high"),
    *("difference", "difference_low", "difference_high", "groups", "higher", "lower"),
    *("only_first", "only_second", "unscored"),
)


class _Row(NamedTuple):
    """A comparison with what stands before it in a table."""

    model: str
    probe: str
    gate: str
    it: Contrast


def diagnosis_text(found: Sequence[Diagnosis], format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """What the probes tell, as a text.

    Args:
        found: what `diagnose` gave back.
        format: terminal and md: tables; csv: one line for each comparison; json: everything.
    """
    return study_as(
        format,
        lambda: _tables(found),
        lambda: rows_as_csv(_COLUMNS, map(_line, _rows(found))),
        lambda: {"models": [plain(each) for each in found]},
    )


def diagnosis_table(found: Sequence[Diagnosis]) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(_tables(found))


def _rows(found: Sequence[Diagnosis]) -> list[_Row]:
    rows = [_Row(each.model, "rules", "", each.rules) for each in found if each.rules]
    rows += [_Row(each.model, "attributes", "", each.attributes) for each in found if each.attributes]
    for each in found:
        if each.lexical:
            rows.append(_Row(each.model, "names", "gated", each.lexical.gated))
            rows.append(_Row(each.model, "names", "ungated", each.lexical.ungated))
    return rows


def _tables(found: Sequence[Diagnosis]) -> Iterator[AgreementTable]:
    rows, intervals = _rows(found), f"Mean scores, with {100 * found[0].confidence:g} % intervals."
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
        note += _left_out(chosen, heads, unit)
        if probe == "names":
            note += _about_names(found)
        yield AgreementTable(
            title,
            " ".join(note),
            ("model", *gates, *heads, "difference", f"{unit}s", "higher", "lower"),
            tuple(
                (
                    row.model,
                    *((row.gate,) if gates else ()),
                    _side(row.it.first),
                    _side(row.it.second),
                    _difference(row.it),
                    str(row.it.groups),
                    str(row.it.higher),
                    str(row.it.lower),
                )
                for row in chosen
            ),
        )


def _left_out(rows: Sequence[_Row], heads: tuple[str, str], unit: str) -> Iterator[str]:
    for row in rows:
        who = f"{row.model}, {row.gate}" if row.gate else row.model
        for names, why in (
            (row.it.only_first, f"only {heads[0]} scored"),
            (row.it.only_second, f"only {heads[1]} scored"),
            (row.it.unscored, "neither scored"),
        ):
            if names:
                yield f"{who}: {counted(len(names), unit)} not paired, {why} ({named(names)})."
        missing = sum(side.expected - side.scored for side in (row.it.first, row.it.second))
        if missing:
            yield f"{who}: of the {unit}s compared, {counted(missing, 'image')} unscored."


def _about_names(found: Sequence[Diagnosis]) -> Iterator[str]:
    for each in found:
        if each.lexical:
            without = ", those without a factual score among them" if each.profile == "official-code" else ""
            yield (
                f"{each.model}: the gate stands at {each.threshold:g} and is closed for "
                f"{counted(len(each.lexical.closed), 'group')} ({named(each.lexical.closed)}){without}."
            )
            if each.lexical.unknown:
                lacking = "picture" if each.profile == "official-code" else "score"
                yield (
                    f"{each.model}: left out of gated, for want of a factual {lacking}: "
                    f"{counted(len(each.lexical.unknown), 'group')} ({named(each.lexical.unknown)})."
                )


def _side(side: Side) -> str:
    if side.value is None:
        return "–"
    text = f"{side.value:.2f}"
    return text if side.interval is None else f"{text} ({side.interval.low:.2f}–{side.interval.high:.2f})"


def _difference(it: Contrast) -> str:
    if it.difference is None or it.interval is None:
        return "–"
    return f"{it.difference:+.2f} ({it.interval.low:+.2f} to {it.interval.high:+.2f})"


def _line(row: _Row) -> dict[str, object]:
    it = row.it
    found: dict[str, object] = {"model": row.model, "probe": row.probe, "gate": row.gate, "groups": it.groups}
    found |= {"higher": it.higher, "lower": it.lower, "difference": it.difference}
    for name, value, interval in (
        ("first", it.first.value, it.first.interval),
        ("second", it.second.value, it.second.interval),
        ("difference", it.difference, it.interval),
    ):
        found[name] = value
        if interval is not None:
            found |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return found | {
        "only_first": len(it.only_first),
        "only_second": len(it.only_second),
        "unscored": len(it.unscored),
    }
