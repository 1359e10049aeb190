"""Workers: processes on the machines of a Ray cluster that make and judge pictures for one run."""

from formalimg.workers.crew import Crew
from formalimg.workers.demand import Demand
from formalimg.workers.hiring import open_crew
from formalimg.workers.spreading import SpreadJudge, SpreadModel
from formalimg.workers.wanted import Opened

__all__ = ["Crew", "Demand", "Opened", "SpreadJudge", "SpreadModel", "open_crew"]
