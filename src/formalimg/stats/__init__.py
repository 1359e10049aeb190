"""Statistics: rates, intervals, generalizability and comparisons, as pure functions of what was observed."""

from formalimg.stats.binomial import clopper_pearson
from formalimg.stats.bounding import Bounds, Figures, missing_bounds
from formalimg.stats.generalizing import generalizability
from formalimg.stats.pairing import Paired, paired
from formalimg.stats.summarizing import mean_of_levels, summarize
from formalimg.stats.summary import Band, Generalizability, Interval, Missing, Observation, Rate, Summary

__all__ = [
    "Band",
    "Bounds",
    "Figures",
    "Generalizability",
    "Interval",
    "Missing",
    "Observation",
    "Paired",
    "Rate",
    "Summary",
    "clopper_pearson",
    "generalizability",
    "mean_of_levels",
    "missing_bounds",
    "paired",
    "summarize",
]
