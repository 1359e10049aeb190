"""Image models on this machine: any pipeline that diffusers can load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING

from formalimg.models.identity import Setting
from formalimg.models.image import Answer, Failed, ImageRequest, Refused
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint
from formalimg.models.local.wishes import Wishes, read_wishes
from formalimg.models.local.words_read import reads_few_words
from formalimg.models.needs import needs, require_modules
from formalimg.models.options import Options

if TYPE_CHECKING:
    from formalimg.models.local.painter import Made, Painter


class DiffusersModel:
    """A pipeline of the diffusers library. It is loaded when the first picture is asked for.

    Attributes:
        name, settings, batch, concurrency, sees_spec: as for every image model.
    """

    sees_spec = False
    concurrency = 2
    """One batch waits while the other is made, so that the device is never idle; there is but one thread for them."""

    def __init__(self, name: str, checkpoint: Checkpoint, wishes: Wishes, batch: int = 1) -> None:
        self.name = name
        self.batch = batch
        self._checkpoint = checkpoint
        self._wishes = wishes
        self._thread = ThreadPoolExecutor(1, "diffusers")
        self._painter: Painter | None = None

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """Which weights, and everything that was asked for."""
        return {**self._checkpoint.settings, **self._wishes.settings}

    @cached_property
    def takes_pictures(self) -> bool:
        """Can it be given a reference picture beside the words? True as long as that is not known."""
        from formalimg.models.local.pipelines import takes_pictures

        return takes_pictures(self._checkpoint, self._wishes)

    @cached_property
    def style(self) -> str:
        """The text about the style that it can take: a short one if it reads few words."""
        return "short" if reads_few_words(self._checkpoint) else "long"

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request, in their order.

        Raises:
            FormalimgError: if the pipeline cannot be loaded, or does not take what was asked for.
        """
        from formalimg.models.local.painter import as_answer

        loop = asyncio.get_running_loop()
        for _, group in groupby(requests, key=lambda request: request.size):
            for made in await loop.run_in_executor(self._thread, partial(self._paint, list(group))):
                yield await asyncio.to_thread(as_answer, made)

    def _paint(self, requests: Sequence[ImageRequest]) -> list[Made | Refused | Failed]:
        from formalimg.models.local.painter import Painter

        if self._painter is None:
            self._painter = Painter(self.name, self._checkpoint, self._wishes)
        return self._painter.paint(requests)


@needs(modules=("torch", "diffusers", "transformers"), install=INSTALL_LOCAL)
def open_diffusers(model: str, options: Mapping[str, str]) -> DiffusersModel:
    """Any pipeline in a folder or on the Hugging Face hub, run here: diffusers/FOLDER or diffusers/OWNER/NAME.

    Args:
        model: the folder of a saved pipeline, or its id on the hub.
        options: `device`, `dtype`, `revision`, `variant`, `offline`, `trust_remote_code`; `batch`; `steps`, `guidance`,
            `negative_prompt`, `size` (a number, or `native`), `task`, `lora`, `lora_scale`; `offload`, `vae_tiling`,
            `attention_slicing`, `compile`; `call.NAME` is given to the pipeline as it is.

    Raises:
        FormalimgError: if an option is wrong, there is no such folder, or a library is missing.
    """
    require_modules("diffusers", open_diffusers)
    name = f"diffusers/{model}"
    given = Options(name, options)
    batch = given.whole_number("batch", 1, least=1, most=1024)
    checkpoint = read_checkpoint(model, given)
    wishes = read_wishes(name, given)
    given.done()
    return DiffusersModel(name, checkpoint, wishes, batch)
