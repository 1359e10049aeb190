"""Workers: processes on the machines of a Ray cluster that make and judge images for one run."""

from formalimg.cluster.crew import Crew
from formalimg.cluster.demand import ResourceRequest
from formalimg.cluster.hiring import open_crew
from formalimg.cluster.spreading import SpreadJudge, SpreadModel
from formalimg.cluster.wanted import Opened

__all__ = ["Crew", "Opened", "ResourceRequest", "SpreadJudge", "SpreadModel", "open_crew"]
