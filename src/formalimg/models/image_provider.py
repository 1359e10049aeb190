"""Image providers: adds retries, rate limits, timeouts and prices to a provider's single API call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from formalimg.models.base import CallError, Failed, Generated, Identified, ImageRequest, ImageResult, Refused, Usage
from formalimg.models.pricing import price_of
from formalimg.models.retry import DEFAULT_RETRY_POLICY, RateLimiter, RetryPolicy
from formalimg.models.secrets import StoredSettings, mask_secrets, redact_values
from formalimg.models.spending import NO_USAGE, RequestCost
from formalimg.types import Setting


@dataclass(frozen=True)
class ImageCompletion:
    """A generated image in the format returned by the provider.

    Attributes:
        data: the file as received.
        served: what was actually used (model id, size, seed, revised prompt …), as far as the provider reports it.
        usage: tokens or images used.
    """

    data: bytes
    served: Mapping[str, Setting] = field(default_factory=dict)
    usage: Usage = field(default_factory=lambda: Usage(images=1))


class ImageProvider(Identified, Protocol):
    """One API call to an image model. `build_image_model` adds retries, rate limits and prices."""

    @property
    def takes_images(self) -> bool:
        """Whether the model accepts a reference image in addition to the prompt."""

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Send one request."""


class ProviderImageModel:
    """An image model backed by a provider. A failed call becomes a result with a reason."""

    batch = 1
    sees_spec = False

    def __init__(self, provider: ImageProvider, retry_policy: RetryPolicy, limiter: RateLimiter) -> None:
        self.name = mask_secrets(provider.name)
        self.concurrency = retry_policy.concurrency
        self.takes_images = provider.takes_images
        self._provider = provider
        self._settings = StoredSettings()
        self._limiter = limiter
        self.price = retry_policy.price or price_of(provider)

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything except the request that affects the images."""
        return self._settings.of(self._provider.settings)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        for request in requests:
            yield await self._generate_one(request)

    async def _generate_one(self, request: ImageRequest) -> ImageResult:
        if request.reference is not None and not self.takes_images:
            return Failed(f"{self.name} takes words only, but an image was to go with them")
        spent = RequestCost(self.price, self._complete_usage, keeps_answers=True)
        try:
            completion = await self._limiter.call(lambda: spent.attempt(lambda: self._provider.complete(request)))
        except CallError as error:
            if error.kind == "refused":
                return Refused(error.reason, cost=spent.cost)
            return Failed(f"{error.kind}: {error.reason}", cost=spent.cost)
        served = redact_values(completion.served)
        return Generated(completion.data, {**served, "usage": NO_USAGE} if spent.estimated else served, spent.cost)

    def _complete_usage(self, reported: Usage, received: int) -> Usage:
        """Return the usage with missing counts filled in, assuming that one image is billed."""
        if self.price.output is None:  # a price by the image, or none
            return reported if reported.images else replace(reported, images=1)
        if reported.output_tokens > 0 or (reported.input_tokens > 0 and not reported.images):
            return reported
        # The price of an image, if there is one: tokens without those of the image are not its cost.
        return Usage(images=max(1, reported.images))


def build_image_model(
    provider: ImageProvider, *, retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY, limiter: RateLimiter | None = None
) -> ProviderImageModel:
    """Build an image model from a provider, adding rate limits, retries, timeouts and prices.

    Args:
        provider: makes the calls.
        retry_policy: limits and backoff.
        limiter: a rate limiter shared with other models; a new one if None.
    """
    limiter = limiter or RateLimiter(retry_policy, name=mask_secrets(provider.name))
    return ProviderImageModel(provider, retry_policy, limiter)
