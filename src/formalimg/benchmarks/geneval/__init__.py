"""GenEval: prompts about the 80 COCO classes, judged by the authors' rule for detections.

The rule stands alone: `official_verdict(metadata, detections)` needs neither an image nor a model.
"""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.benchmarks.geneval.rule import official_verdict

__all__ = ["official_verdict"]

__getattr__, __dir__ = lazy_exports(__name__)
