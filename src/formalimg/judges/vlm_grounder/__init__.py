"""The grounder that asks a chat model: which objects are where, in boxes and colours."""

from formalimg.judges.vlm_grounder.boxes import BoxConvention, box_convention
from formalimg.judges.vlm_grounder.grounder import REQUESTS, VlmGrounder

__all__ = ["REQUESTS", "BoxConvention", "VlmGrounder", "box_convention"]
