"""Estimated costs of the images, verdicts and ratings in a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from formalimg.stats.planning import Design
    from formalimg.types import ImageModel, Item, Judge


class PlanCosts(NamedTuple):
    """Prices in US dollars for images, verdicts and ratings, with the names of the model and judge."""

    image: float | None  # of an image to make; None if unknown, 0 if no model is named
    verdict: float | None  # of a verdict; the same
    rating: float | None  # of a rating by a person; None if not given
    parties: tuple[str, ...]  # the names of model and judge

    @classmethod
    def of(
        cls, model: ImageModel | None, judge: Judge | None, items: Sequence[Item[Any]], rating: float | None
    ) -> PlanCosts:
        """Compute the prices of a model and a judge for the given items."""
        from formalimg.models.base import Usage
        from formalimg.models.pricing import price_of
        from formalimg.runs.prepared_run import question_cost

        image = 0.0 if model is None else price_of(model).cost(Usage(images=1))
        verdict: float | None = 0.0
        if judge is not None:
            of_item = getattr(judge, "questions", lambda item: 0)
            total = question_cost(judge, sum(of_item(item) for item in items))
            verdict = None if total is None else total / len(items)
        return cls(image, verdict, rating, tuple(party.name for party in (model, judge) if party is not None))

    @property
    def is_known(self) -> bool:
        """Whether the prices of the model and judge are known."""
        return self.image is not None and self.verdict is not None

    def text(self, images: int) -> str:
        """Return the formatted total cost of the given number of images with verdicts."""
        if self.image is None or self.verdict is None:
            return "unknown"
        return f"${images * (self.image + self.verdict):,.2f}"

    def design_text(self, design: Design) -> str:
        """Return the formatted cost of a design, with a plus sign if the price of ratings is unknown."""
        if self.image is None or self.verdict is None:
            return "unknown"
        dollars = design.total_images * (self.image + self.verdict * design.has_judge)
        dollars += design.ratings * (self.rating or 0.0)
        return f"${dollars:,.2f}" + ("+" if design.ratings and self.rating is None else "")

    def rank(self, design: Design) -> float:
        """Return the sort key of a design, which is its cost with substitutes for unknown prices.

        An unpriced rating costs as much as an image with its verdict, and an unpriced image as much as a rating. If no
        prices are known, both cost 1.
        """
        image, verdict, rating = self.image, self.verdict, self.rating
        if not self.parties or image is None or verdict is None:
            image, verdict = (1.0 if rating is None else rating), 0.0
        if rating is None:
            rating = image + verdict or 1.0
        return design.total_images * (image + verdict * design.has_judge) + design.ratings * rating
