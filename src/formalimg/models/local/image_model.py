"""Image models on this machine: any pipeline that diffusers can load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from formalimg.models.identity import Setting
from formalimg.models.image import Answer, Failed, ImageRequest, Refused
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint
from formalimg.models.local.desk import Desk
from formalimg.models.local.devices import kind_of, read_devices
from formalimg.models.local.memory import Batching, CudaGauge
from formalimg.models.local.wishes import Wishes, read_wishes
from formalimg.models.local.words_read import reads_few_words
from formalimg.models.needs import needs, require_modules
from formalimg.models.options import Options

if TYPE_CHECKING:
    from formalimg.models.local.painter import Made, Painter


Batch: TypeAlias = int | Literal["auto"]

_MOST_AT_ONCE = 32
"""Of larger batches no device is quicker, and more is lost if the run is broken off."""


class DiffusersModel:
    """A pipeline of the diffusers library. It is loaded when the first image is asked for, on each device once.

    Attributes:
        name, settings, batch, concurrency, sees_spec: as for every image model.
    """

    sees_spec = False

    def __init__(
        self, name: str, checkpoint: Checkpoint, wishes: Wishes, batch: Batch = 1, devices: Sequence[str] = ()
    ) -> None:
        """A model that is not loaded yet.

        Args:
            name: how users write it.
            checkpoint: which weights.
            wishes: what the user asked for.
            batch: how many images are made at once; "auto" for as many as fit into the memory of the device.
            devices: where images are made at the same time; that of the checkpoint if there are none.
        """
        self.name = name
        self._batch = batch
        self._checkpoint = checkpoint
        self._wishes = wishes
        self._devices = tuple(devices) or (checkpoint.device,)
        self._painters: list[Painter] = []
        self._desk = Desk[Sequence[ImageRequest], "list[Made | Refused | Failed]"](
            "diffusers", self._devices, self._painter_on
        )

    @property
    def concurrency(self) -> int:
        """One batch waits while another is made, so that no device is ever idle."""
        return 2 * len(self._devices)

    @property
    def batch(self) -> int:
        """How many it likes to be given at once. If it is to find that out, this grows after the first images."""
        if self._batch != "auto":
            return self._batch
        return max((painter.room or 1 for painter in self._painters), default=1)

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """Which weights, and everything that was asked for."""
        return {**self._checkpoint.settings, **self._wishes.settings}

    @cached_property
    def takes_images(self) -> bool:
        """Can it be given a reference image beside the words? True as long as that is not known."""
        from formalimg.models.local.pipelines import takes_images

        return takes_images(self._checkpoint, self._wishes)

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

        for _, group in groupby(requests, key=lambda request: request.size):
            made = await self._desk.do(list(group))
            # All at once, and beside the next batch: files take long beside images of a quick model.
            files = [asyncio.create_task(asyncio.to_thread(as_answer, one)) for one in made]
            try:
                for file in files:
                    yield await file
            finally:
                for file in files:
                    file.cancel()

    def _painter_on(
        self, device: str
    ) -> Callable[[Sequence[Sequence[ImageRequest]]], list[list[Made | Refused | Failed]]]:
        from formalimg.models.local.painter import Painter

        checkpoint = replace(self._checkpoint, device=device)
        batching = partial(_batching, self._batch, device, self._devices.count(device))
        painter = Painter(self.name, checkpoint, self._wishes, batching)
        self._painters.append(painter)
        return lambda groups: [painter.paint(group) for group in groups]


@needs(modules=("torch", "diffusers", "transformers"), install=INSTALL_LOCAL)
def open_diffusers(model: str, options: Mapping[str, str]) -> DiffusersModel:
    """Any pipeline in a folder or on the Hugging Face hub, run here: diffusers/FOLDER or diffusers/OWNER/NAME.

    Args:
        model: the folder of a saved pipeline, or its id on the hub.
        options: `device`, `devices`, `dtype`, `revision`, `variant`, `offline`, `trust_remote_code`; `batch` (a number,
            or `auto`); `steps`, `guidance`, `negative_prompt`, `size` (a number, or `native`), `task`, `lora`,
            `lora_scale`; `offload`, `vae_tiling`, `attention_slicing`, `compile`; `call.NAME` is given to the pipeline
            as it is.

    Raises:
        FormalimgError: if an option is wrong, there is no such folder, or a library is missing.
    """
    require_modules("diffusers", open_diffusers)
    name = f"diffusers/{model}"
    given = Options(name, options)
    batch = _batch(name, given)
    devices = read_devices(given)
    checkpoint = read_checkpoint(model, given, devices=devices)
    wishes = read_wishes(name, given)
    given.done()
    return DiffusersModel(name, checkpoint, wishes, batch, devices)


def _batch(name: str, given: Options) -> Batch:
    text = given.text("batch", "1")
    return "auto" if text == "auto" else Options(name, {"batch": text}).whole_number("batch", 1, least=1, most=1024)


def _batching(batch: Batch, device: str, share: int) -> Batching:
    if batch != "auto":
        return Batching()
    if kind_of(device) != "cuda":  # where nobody tells how much memory is left, or several at once are no quicker
        return Batching(1)
    return Batching(1, gauge=CudaGauge(device, share), most=_MOST_AT_ONCE)
