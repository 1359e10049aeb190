"""Print the estimate of a run for `--dry-run`, and warnings about images that cannot be scored."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges import Judge
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


_MAX_SHOWN = 5


def unknown_class_warnings(judges: Sequence[Judge], items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield one line for each judge that cannot look for the classes of some items, such as `detector/coco`.

    Raises:
        FormalimgError: if a judge can score none of the items.
    """
    for judge in judges:
        unknown = getattr(judge, "unknown_classes", None)
        found = [classes for item in items if (classes := unknown(item))] if unknown else []
        if not found:
            continue
        counts = Counter(name for classes in found for name in classes).most_common()
        named = ", ".join(f"{name} ({count:,})" for name, count in counts[:_MAX_SHOWN])
        named += f" and {len(counts) - _MAX_SHOWN:,} more" if len(counts) > _MAX_SHOWN else ""
        if len(found) == len(items):
            raise FormalimgError(
                f"{judge.name} can score none of these items, because it cannot look for {named}: "
                "name a chat model that can see, as in --judge gemini/gemini-3-pro-preview"
            )
        yield (
            f"{judge.name} cannot score {len(found):,} of {len(items):,} items, because it cannot look for {named}: "
            "their images will be unscored"
        )


def undrawable_warnings(models: Sequence[str], suite: str, items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield a line on the share of items that can be drawn, if a built-in model draws a suite with a drawn world."""
    from formalimg.config import is_built_in
    from formalimg.suites import suite as suite_of

    if suite_of(suite).world != "drawn" or not any(map(is_built_in, models)):
        return
    from formalimg.suites import undrawable_because  # here, because it reads the catalog of drawings

    count = sum(undrawable_because(item.spec) is None for item in items)
    if count < len(items):
        yield (
            f"{count:,} of {len(items):,} items ({100 * count / len(items):.1f} %) can be drawn: builtin/oracle "
            "declines the others, each with the reason, and they stay unscored"
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


def dollars(cost: float | None) -> str:
    """Return a cost in words, rounded to cents; None if the price is unknown."""
    return "at a price that is not known; give it with --price" if cost is None else f"about ${cost:,.2f}"


def _dollars(estimate: RunEstimate, role: Literal["model", "judge", "rewriter"]) -> str:
    costs = {"model": estimate.image_cost, "judge": estimate.judge_cost, "rewriter": estimate.rewrite_cost}
    cost, note = costs[role], estimate.price_notes.get(role)
    return dollars(cost) + (f" ({note})" if note and cost is not None else "")
