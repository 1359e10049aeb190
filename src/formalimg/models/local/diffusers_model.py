"""A loaded pipeline at work: from requests to images, each from its own seed."""

from __future__ import annotations

import asyncio
import inspect
import io
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.base import Setting
from formalimg.models.image import Answer, Failed, Generated, ImageRequest, Refused
from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint
from formalimg.models.local.device_pool import Desk, computing, kind_of, read_devices
from formalimg.models.local.diffusers_pipeline import (
    INDEX,
    Wishes,
    load_pipeline,
    read_wishes,
    reads_few_words,
    tokens_cut,
)
from formalimg.models.local.memory import Batching, CudaGauge
from formalimg.models.options import Options
from formalimg.models.registry import needs, require_modules

if TYPE_CHECKING:
    from PIL.Image import Image


_OURS = ("prompt", "generator", "image", "height", "width", "output_type", "return_dict", "num_images_per_prompt")
"""Arguments that follow from the request, or that we rely on."""

_STEP = 16
"""Pipelines take sizes that are multiples of 8 or 16, whatever the weights would allow."""

_NO_ROOM = Failed("out of memory, even for one image at a time: see the options offload, vae_tiling, dtype and size")


class Made(NamedTuple):
    """An image that is not a file yet, and what was really used for it."""

    image: Image
    served: Mapping[str, Setting]


class Painter:
    """A pipeline that has been loaded. To be used by one thread at a time.

    Attributes:
        room: how many images of the last size it makes at once; None for as many as are asked for.
    """

    def __init__(
        self, name: str, checkpoint: Checkpoint, wishes: Wishes, batching: Callable[[], Batching] = Batching
    ) -> None:
        """Loads the pipeline, which takes its time.

        Args:
            name: of the model, for messages.
            checkpoint: which weights, and on which device.
            wishes: what the user asked for.
            batching: how images are put together into batches; anew for each size.

        Raises:
            FormalimgError: if it cannot be loaded, or does not take what was wished for.
        """
        self._name = name
        self._wishes = wishes
        self._pipeline = load_pipeline(name, checkpoint, wishes)
        self._takes = dict(inspect.signature(self._pipeline.__call__).parameters)
        self._always = self._checked()
        self._batching = batching
        self._by_size: dict[int, Batching] = {}
        self.room: int | None = None
        self._served = {
            "pipeline": type(self._pipeline).__name__,
            "scheduler": type(self._pipeline.scheduler).__name__ if hasattr(self._pipeline, "scheduler") else None,
            "steps": self._used("num_inference_steps"),
            "guidance": self._used("guidance_scale"),
            **checkpoint.served(INDEX, "diffusers", "transformers"),
            "dtype": str(self._pipeline.dtype).removeprefix("torch."),
        }

    def paint(self, requests: Sequence[ImageRequest]) -> list[Made | Refused | Failed]:
        """One answer for each request; requests must be of one size.

        In batches as large as the memory allows; requests with a reference image one by one, since several images
        mean different objects to different pipelines.
        """
        if any(request.reference is not None for request in requests):
            return [answer for request in requests for answer in self._batch([request])]
        return self._batch(requests)

    def _batch(self, requests: Sequence[ImageRequest]) -> list[Made | Refused | Failed]:
        reference = requests[0].reference
        if reference is not None and "image" not in self._takes:
            return [Failed(f"{self._name} takes words only, but an image was to go with them")]
        needed = self._takes.get("image")
        if reference is None and needed is not None and needed.default is inspect.Parameter.empty:
            return [Failed(f"{self._name} needs an image to go by beside the words")] * len(requests)
        batching = self._by_size.setdefault(requests[0].size, self._batching())
        done: list[Made | Refused | Failed] = batching.do(self._painted, requests, _NO_ROOM)
        self.room = batching.room
        return done

    def _painted(self, requests: Sequence[ImageRequest]) -> list[Made | Refused | Failed]:
        import torch

        # On the CPU, whose random numbers are the same on every machine; and one for each image, so that it does not
        # depend on the others in its batch.
        seeded = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
        with computing(), torch.inference_mode():
            made = self._pipeline(
                prompt=[request.prompt for request in requests],
                generator=seeded,
                **self._always,
                **self._negative(len(requests)),
                **self._sized(requests[0]),
            )
        images = getattr(made, "images", None)
        if images is None or len(images) != len(requests):
            raise FormalimgError(f"{self._name} gives no image for each prompt: it is no model from text to images")
        flagged = getattr(made, "nsfw_content_detected", None) or [False] * len(requests)
        return [
            Refused("the pipeline's safety checker blacked the image out") if flag else self._made(request, image)
            for request, image, flag in zip(requests, images, flagged, strict=True)
        ]

    def _made(self, request: ImageRequest, image: Image) -> Made:
        served: dict[str, Setting] = {"size": f"{image.width}x{image.height}", "seed": request.seed}
        cut = tokens_cut(self._pipeline, request.prompt, self._used("max_sequence_length"))
        if cut is not None:
            served["tokens_cut"] = cut
        return Made(image, {**self._served, **served})

    def _sized(self, request: ImageRequest) -> dict[str, Any]:
        """Width and height as the pipeline can make them, and the reference image in this size."""
        wished = request.size if self._wishes.size is None else self._wishes.size
        side = self._possible(wished) if wished else 0
        arguments: dict[str, Any] = {}
        if side and "height" in self._takes and "width" in self._takes:
            arguments = {"height": side, "width": side}
        if request.reference is not None:
            from PIL import Image

            image = Image.open(io.BytesIO(request.reference)).convert("RGB")
            arguments["image"] = image.resize((side, side), Image.Resampling.LANCZOS) if side else image
        return arguments

    def _possible(self, wished: int) -> int:
        """The closest_match size that can be made: latents are smaller than images, and are cut into patches of two."""
        step = math.lcm(_STEP, 2 * int(getattr(self._pipeline, "vae_scale_factor", 1)))
        return max(step, round(wished / step) * step)

    def _negative(self, count: int) -> dict[str, Any]:
        words = self._wishes.negative_prompt
        return {} if words is None else {"negative_prompt": [words] * count}

    def _checked(self) -> dict[str, Any]:
        """The arguments that are the same for all images.

        Raises:
            FormalimgError: if the pipeline does not take one of them.
        """
        wished = {
            "num_inference_steps": self._wishes.steps,
            "guidance_scale": self._wishes.guidance,
            **self._wishes.call,
        }
        arguments = {name: value for name, value in wished.items() if value is not None}
        for name in (*arguments, *(["negative_prompt"] if self._wishes.negative_prompt is not None else [])):
            if name not in self._takes or name in _OURS:
                kind = type(self._pipeline).__name__
                known = ", ".join(sorted({*self._takes} - {*_OURS, "kwargs"}))
                raise FormalimgError(f"{self._name} is a {kind}, which cannot be given {name}: it takes {known}")
        return arguments

    def _used(self, name: str) -> Any:
        """The value of an argument, whether we gave it or the pipeline has it by default; None if it has none."""
        usual = self._takes[name].default if name in self._takes else None
        return self._always.get(name, None if usual is inspect.Parameter.empty else usual)


def as_answer(made: Made | Refused | Failed) -> Answer:
    """The image as a PNG file."""
    if not isinstance(made, Made):
        return made
    file = io.BytesIO()
    made.image.save(file, "PNG", compress_level=1)
    return Generated(file.getvalue(), made.served)


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
        from formalimg.models.local.diffusers_pipeline import takes_images

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
