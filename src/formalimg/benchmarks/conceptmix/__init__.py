"""ConceptMix: an object and k random visual concepts, judged with one yes/no question each.

In the order of the paper: `spec`, `pools` and `sampling` (which concepts are combined), `binding` and `completion`
(which belong together), `realization` and `questions` (prompt and questions), `generation` (all of it), `published`
(the authors' files), `judge` and `published_judge`, `scores`, `tables`, `figures`, `export`; besides, `rating`,
`captions/` (concepts in captions), `drawings` and `drawn_world` (built-in models), `authoring/` (items by chat models).
"""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.conceptmix.captions.mentions import find_mentions
    from formalimg.benchmarks.conceptmix.captions.study import study_captions
    from formalimg.benchmarks.conceptmix.sampling import category_distribution

__all__ = [
    "category_distribution",
    "find_mentions",
    "study_captions",
]

__getattr__, __dir__ = lazy_exports(__name__)
