"""T2I-CompBench: colours, shapes, textures, positions and counts of objects, with the authors' scoring rules.

The rules stand alone: `official_verdict` needs neither an image nor a model.
"""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.t2i_compbench.composition import find_noun_phrases, translated_shares
    from formalimg.benchmarks.t2i_compbench.rule import official_verdict

__all__ = ["find_noun_phrases", "official_verdict", "translated_shares"]

__getattr__, __dir__ = lazy_exports(__name__)
