"""CF-World: a scene under a law of nature or under the opposite law, whose outcome is stated or must be deduced.

In the order of the paper: `spec`, `items` and `group_checks` (groups of three prompts, weighted questions), `published`
and `published_records` (the authors' files), `judge` and `published_judge`, `scores` and `run_scores` (the gate, prior
resistance, reasoning retention), `tables`, `figures`, `export`, `diagnosis` (the probes), `calibration` (the gate by
people), `score_studies` (agreement), `authoring/` (groups by chat models).
"""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.cfworld.diagnosis import diagnose
    from formalimg.benchmarks.cfworld.items import builtin_groups, denominalised_items, items_of_groups
    from formalimg.benchmarks.cfworld.result_files import read_cf_scores
    from formalimg.benchmarks.cfworld.scores import (
        prior_resistance,
        reasoning_retention,
        summarize_scores,
        weighted_score,
    )
    from formalimg.stats.observations import ScoreObservation

__all__ = [
    "ScoreObservation",
    "builtin_groups",
    "denominalised_items",
    "diagnose",
    "items_of_groups",
    "prior_resistance",
    "read_cf_scores",
    "reasoning_retention",
    "summarize_scores",
    "weighted_score",
]

__getattr__, __dir__ = lazy_exports(__name__)
