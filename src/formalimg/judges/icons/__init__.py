"""The grounder `builtin/icons`: it reads the drawings of formalimg back, from their pixels alone."""

from formalimg.judges.icons.grounder import IconGrounder, ground_icons

__all__ = ["IconGrounder", "ground_icons"]
