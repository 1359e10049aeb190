"""The form of a chat model's answer."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from formalimg.analysis.captions.category import Category


class CategoriesFound(BaseModel):
    """The categories that a caption speaks of; any other word makes the answer unreadable."""

    model_config = ConfigDict(extra="forbid")
    categories: list[Category]
