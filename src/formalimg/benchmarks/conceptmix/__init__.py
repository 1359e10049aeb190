"""ConceptMix: an object and k random visual concepts, judged with one yes/no question each."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.conceptmix.captions.mentions import find_mentions
    from formalimg.benchmarks.conceptmix.captions.study import study_captions
    from formalimg.benchmarks.conceptmix.sampling import category_distribution

__all__ = ["category_distribution", "find_mentions", "study_captions"]

__getattr__, __dir__ = lazy_exports(__name__)
