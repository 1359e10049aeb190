"""Scoring of arbitrary images against prompts, with all results stored in a run folder."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.scoring.scores import Score, Scores
    from formalimg.scoring.scoring import score

__all__ = [
    "Score",
    "Scores",
    "score",
]

__getattr__, __dir__ = lazy_exports(__name__)
