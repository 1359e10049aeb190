"""Image files of an export: select which images to write, and read their bytes without a request for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Literal, TypeAlias

from starlette.exceptions import HTTPException

from formalimg._util.images import image_type
from formalimg.web.export.addresses import Address
from formalimg.web.export.export_folder import ExportFolder
from formalimg.web.viewer.images import thumbnail_bytes
from formalimg.web.viewer.site import READ_ERRORS, Site

ExportImages: TypeAlias = Literal["all", "failures", "none"]
"""Which images an export has: all, those that do not pass, or none."""

ImageSize: TypeAlias = Literal["full", "thumbnail"]  # Images as they are stored, or only small ones


_THREADS = 2  # Thumbnails are made in so many threads, while pages are rendered: most of it needs no interpreter


class ImageFiles:
    """Writes the images of an export."""

    def __init__(self, site: Site, folder: ExportFolder, images: ExportImages, size: ImageSize) -> None:
        """Select the images to write, and their size."""
        self._site, self._folder, self._images, self._size = site, folder, images, size
        self._passed: dict[str, frozenset[tuple[str, str]]] = {}
        self._thumbnails: dict[str, Future[bytes]] = {}

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Generate the thumbnails of all runs in the background while the block runs."""
        with ThreadPoolExecutor(_THREADS) as threads:
            try:
                for found in self._site.runs() if self._images != "none" else ():
                    with suppress(*READ_ERRORS), self._site.open_found(found) as run:
                        for one in run.outcomes():
                            image = run.image_file(one.item, one.sample)
                            if image is None or (self._images == "failures" and one.passed):
                                continue
                            if image.sha256 not in self._thumbnails:
                                self._thumbnails[image.sha256] = threads.submit(thumbnail_bytes, image)
                yield
            finally:
                threads.shutdown(cancel_futures=True)

    def choose(self, address: Address) -> Address | None:
        """Return the address of the file exported for an image, or None if it is not exported."""
        if self._images == "none" or (self._images == "failures" and self._passes(address)):
            return None
        return address._replace(path="/thumbnail") if self._size == "thumbnail" else address

    def write(self, address: Address) -> str | None:
        """Write an image or its thumbnail; return its path, or None if it cannot be shown."""
        try:
            with self._site.open(address.value("run")) as run:
                found = run.image_file(address.value("item"), int(address.value("sample") or 0))
            if found is None:
                return None
            if address.path == "/thumbnail":
                path, made = address.file(".webp"), self._thumbnails.pop(found.sha256, None)
                self._folder.write(path, thumbnail_bytes(found) if made is None else made.result())
                return path
            data = found.path.read_bytes()
        except (HTTPException, *READ_ERRORS):
            return None
        kind = image_type(data)
        if kind is None:
            return None
        path = address.file(f".{kind}")
        if isinstance(found.path, os.PathLike):
            self._folder.write_same(path, data, found.path)
        else:
            self._folder.write(path, data)
        return path

    def _passes(self, address: Address) -> bool:
        run = address.value("run")
        if run not in self._passed:
            with self._site.open(run) as opened:
                outcomes = list(opened.outcomes())
            self._passed[run] = frozenset((one.item, str(one.sample)) for one in outcomes if one.passed)
        return (address.value("item"), address.value("sample") or "0") in self._passed[run]
