"""Print the estimate of a run for `--dry-run`, and warnings about images that cannot be scored."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formalimg.cli.streams import echo

if TYPE_CHECKING:
    from formalimg.runs import RunConfig, RunEstimate
    from formalimg.suites import Item


def unscorable_warnings(suite: str, items: Sequence[Item[Any]], items_path: Path | None) -> Iterator[str]:
    """Yield one line for each reason why images of these CF-World items cannot count; nothing for other suites.

    Args:
        suite: the suite.
        items: the selected items.
        items_path: the path of the user's items; None for those that ship.
    """
    from formalimg.suites import suite as suite_of

    if not suite_of(suite).traits.has_scores:
        return
    with_gate = {item.spec.group for item in items if item.level == 1}
    without_gate = {item.spec.group for item in items if item.level > 1} - with_gate
    if suite_of(suite).has_gate and without_gate:
        named = f" of {len(without_gate):,} group{'s' * (len(without_gate) != 1)}" if with_gate else ""
        yield f"level 1{named} is left out: L2 and L3 count only where the run has L1 of their group, which is the gate"
    unscorable = sum(not item.spec.questions for item in items)
    if unscorable:
        option = "" if items_path is None else f" --items {shlex.quote(str(items_path))}"
        yield (
            f"{unscorable:,} prompt{'s' * (unscorable != 1)} without questions cannot be scored; "
            f"`formalimg census {suite}{option}` lists what was tidied up"
        )


def print_estimates(config: RunConfig, folder: Path, estimates: Sequence[RunEstimate]) -> None:
    """Print what a run would do: its images once, its questions for each judge."""
    first = estimates[0]
    echo(f"{config.model.name}, in {folder}:")
    if config.rewriter is not None:
        echo(f"  prompts to rewrite {first.rewrites:>5,}  {_dollars(first, 'rewriter')}")
    echo(f"  images to make   {first.images:>7,}  {_dollars(first, 'model')}")
    for estimate in estimates:
        echo(f"  images to judge  {estimate.verdicts:>7,}")
        echo(f"  questions to ask   {estimate.questions:>7,}  {_dollars(estimate, 'judge')}")
    echo("  the first image would be asked for with:" if config.rewriter is None else "  the rewriter would be sent:")
    for line in first.first.splitlines():
        echo(f"    {line}")


def _dollars(estimate: RunEstimate, role: Literal["model", "judge", "rewriter"]) -> str:
    costs = {"model": estimate.image_cost, "judge": estimate.judge_cost, "rewriter": estimate.rewrite_cost}
    cost, note = costs[role], estimate.price_notes.get(role)
    if cost is None:
        return "at a price that is not known; give it with --price"
    return f"about ${cost:,.2f}" + (f" ({note})" if note else "")
