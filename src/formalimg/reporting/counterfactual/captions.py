"""What must be said under figures of CF-World: by which rules they were made."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.reporting.words import level_head, rule_text
from formalimg.stats import Missing
from formalimg.suites import Profile, Suite


def scoring_rules(
    suite: Suite, missing: Missing, threshold: float, profile: Profile, *, with_ratios: bool = True
) -> Iterator[str]:
    """The rules, sentence by sentence."""
    yield rule_text(missing, of_scores=True)
    if suite.bands:
        unknown = {
            "paper": "; where L1 has no score, they have none either",
            "official-code": ", or has no score",
        }
        yield f"L2 and L3 count as 0 where L1 of their group is below the threshold of {threshold:g}{unknown[profile]}"
        if with_ratios:
            yield "PRR = L2/√L1, RRR = L3/√L2"
    else:
        yield "There is no gate, so that gated scores do not compare with these"
    if profile == "official-code":
        rounded = "; PRR and RRR are of means rounded to two decimals" if suite.bands and with_ratios else ""
        yield f"As in the published code, each question has its full weight{rounded} (profile: official-code)"


def levels_told(suite: Suite) -> str:
    """What the levels are, where their names do not say it."""
    told = {1: "factual", 2: "explicit counterfactual", 3: "implicit counterfactual"}
    if not suite.bands:
        return ""
    return " (" + ", ".join(f"{level_head(suite, level)} {what}" for level, what in told.items()) + ")"
