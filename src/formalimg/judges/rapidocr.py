"""The text reader `ocr/rapidocr`, which runs PP-OCR on the CPU through the rapidocr package."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.judges.base import TextLine, TextReading
from formalimg.models.options import Options
from formalimg.models.registry import require_modules, requires
from formalimg.scenes.objects import CANVAS, Box
from formalimg.types import Setting

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.judges.base import LoadedImage

NAME = "ocr/rapidocr"
PACKAGE = "rapidocr"

CONFIDENCE = 0.5  # The minimum confidence of a line, which is that of the package


class RapidOcrReader:
    """A text reader that runs PP-OCR. Supports Latin letters, digits and Chinese.

    The weights are loaded with the first image. Evidence: `served`, the version of the package.
    """

    name = NAME
    concurrency = 2
    """One image is prepared while another is read: the networks have a single thread."""

    def __init__(self, confidence: float = CONFIDENCE, enlarge: float = 1.0) -> None:
        self._confidence = confidence
        self._enlarge = enlarge
        self._thread = ThreadPoolExecutor(1, "ocr")
        self._engine: Any = None

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        return {"weights": _weights_digest(), "confidence": self._confidence, "enlarge": self._enlarge}

    async def read(self, image: LoadedImage) -> TextReading:
        read = partial(self._read, image.pil)
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    def _read(self, image: Image) -> TextReading:
        import numpy as np
        from PIL import Image as PilImage

        if self._engine is None:
            self._engine = _load_engine(self._confidence)
        if self._enlarge != 1:
            size = (max(1, round(image.width * self._enlarge)), max(1, round(image.height * self._enlarge)))
            image = image.resize(size, PilImage.Resampling.LANCZOS)
        result = self._engine(np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1]))
        scale = CANVAS / np.array(image.size, dtype=float)
        lines = tuple(
            TextLine(text, _box_of((corners * scale).round(1)), round(float(confidence), 3))
            for text, corners, confidence in zip(
                result.txts or (), () if result.boxes is None else result.boxes, result.scores or (), strict=True
            )
            if text.strip()
        )
        return TextReading(lines, {"served": {PACKAGE: distribution(PACKAGE).version}})


def _box_of(corners: Any) -> Box:
    return Box(*map(float, (*corners.min(axis=0), *corners.max(axis=0))))


def _load_engine(confidence: float) -> Any:
    from rapidocr import RapidOCR

    try:
        return RapidOCR(params={"Global.log_level": "critical", "Global.text_score": confidence})
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise FormalimgError(f"{NAME} cannot load its weights ({reason}): {install_line('ocr')}") from None


def _weights_digest() -> str:
    digest = hashlib.sha256()
    files = distribution(PACKAGE).files or ()
    for path in sorted((path for path in files if path.suffix == ".onnx"), key=str):
        with Path(str(path.locate())).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


@requires(modules=("rapidocr", "onnxruntime", "cv2"), install=install_line("ocr"))
def open_rapidocr(options: Mapping[str, str]) -> RapidOcrReader:
    """Open the text reader `ocr/rapidocr`."""
    reader = Options(NAME, options)
    confidence = reader.number("confidence", CONFIDENCE, minimum=0.01, maximum=1)
    enlarge = reader.number("enlarge", 1.0, minimum=1, maximum=4)
    reader.reject_unknown()
    require_modules("ocr", open_rapidocr)
    try:
        distribution(PACKAGE)
    except PackageNotFoundError:
        raise FormalimgError(f"{NAME} needs the package {PACKAGE}: {install_line('ocr')}") from None
    return RapidOcrReader(confidence, enlarge)
