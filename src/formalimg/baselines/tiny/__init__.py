"""The tiny baseline: a learned text-to-image model that runs with numpy alone.

A *planner* turns the prompt into a layout, a *painter* turns the layout into pixels. Both are flow-matching
transformers; `training/` has the code that trains them.
"""

from formalimg.baselines.tiny.model import WEIGHTS, TinyModel, enlarge, load_tiny, weights_digest
from formalimg.baselines.tiny.networks import IMAGE_SIZE
from formalimg.baselines.tiny.unseen import Unseen, is_unseen_color, is_unseen_pair, is_unseen_side, unseen_in

__all__ = [
    "IMAGE_SIZE",
    "WEIGHTS",
    "TinyModel",
    "Unseen",
    "enlarge",
    "is_unseen_color",
    "is_unseen_pair",
    "is_unseen_side",
    "load_tiny",
    "unseen_in",
    "weights_digest",
]
