"""What can go wrong between formulas and words."""

from formalimg.errors import FormalimgError


class WordingError(FormalimgError):
    """A formula that our English has no words for, or words that are none of its sentences."""
