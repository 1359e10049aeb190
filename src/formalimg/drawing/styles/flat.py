"""Flat drawings as arrays, and the operations shared by styles: noise, edges, smearing, strokes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from formalimg.drawing.svg import ground

Plane = NDArray[np.floating[Any]]  # One value for each pixel, or three; 0 to 1 where it is a tone
_LEAST_DIFFERENCE = 5 / 255  # Pixels that differ from the ground by more than this, in any channel, belong to a thing


@dataclass(frozen=True)
class FlatDrawing:
    """A drawing on the ground, before a style is applied."""

    image: Image.Image
    seed: int

    @property
    def size(self) -> int:
        """The width and height in pixels."""
        return self.image.width

    @property
    def unit(self) -> float:
        """The number of pixels per thousandth of the width, which makes styles independent of the image size."""
        return self.size / 1000

    @cached_property
    def random(self) -> np.random.RandomState:
        """A random generator of the legacy type, whose sequence is guaranteed to remain the same."""
        return np.random.RandomState(self.seed % 2**32)

    @cached_property
    def rgb(self) -> Plane:
        """The RGB tones of all pixels."""
        return plane(self.image)

    @cached_property
    def things(self) -> Plane:
        """A mask that is 1 on drawn objects and 0 on the ground."""
        difference = np.abs(self.rgb - _ground_of(self.rgb)).max(axis=-1)
        mask = Image.fromarray((difference > _LEAST_DIFFERENCE).astype(np.uint8) * 255)
        # The middle of three by three pixels: single pixels at edges are neither holes nor things.
        return plane(mask.filter(ImageFilter.MedianFilter(3)))

    @cached_property
    def edges(self) -> Plane:
        """The tone gradient at each pixel, from 0 to 1."""
        change = np.zeros(self.rgb.shape[:2], np.float32)
        across = np.abs(np.diff(self.rgb, axis=1)).max(axis=-1)
        down = np.abs(np.diff(self.rgb, axis=0)).max(axis=-1)
        change[:, 1:] = across
        change[1:] = np.maximum(change[1:], down)
        return change

    @cached_property
    def texture(self) -> Plane:
        """A mask that is 1 where dense lines form the texture of a material, and 0 where lines are contours."""
        dense = blur(step(self.edges, 0.06, 0.03) * self.things, 7 * self.unit)
        return step(dense, 0.36, 0.06) * self.things

    @cached_property
    def contours(self) -> Plane:
        """Isolated lines, which can be drawn thicker without covering details."""
        return step(self.edges, 0.10, 0.05) * (1 - self.texture)

    @cached_property
    def texture_lines(self) -> Plane:
        """The lines of textures: thin areas darker than their surroundings."""
        brightness = gray(self.rgb)
        return step(blur(brightness, 4 * self.unit) - brightness, 0.06, 0.03) * self.texture

    @cached_property
    def position(self) -> tuple[Plane, Plane]:
        """The row and column of each pixel, scaled to 0 to 1."""
        line = np.linspace(0, 1, self.size, dtype=np.float32)
        down, across = np.meshgrid(line, line, indexing="ij")
        return down, across

    def noise(self, cells: int, *shape: int) -> Plane:
        """Return smooth random values from 0 to 1, interpolated from a grid of `cells` by `cells` or of `shape`."""
        rows, columns = shape if shape else (cells, cells)
        values = Image.fromarray(self.random.random_sample((rows, columns)).astype(np.float32))
        smooth = np.asarray(values.resize((self.size, self.size), Image.Resampling.BICUBIC), np.float32)
        return np.clip(smooth, 0, 1)

    def grown(self, mask: Plane, thousandths: float) -> Plane:
        """Return the mask with its edge moved outwards, or inwards for negative values."""
        radius = abs(thousandths) * self.unit
        level = 0.12 if thousandths > 0 else 0.88
        return step(blur(mask, radius * 0.85), level, 0.06)

    def warped(self, tones: Plane, down: Plane, across: Plane) -> Plane:
        """Return the tones displaced by `down` and `across`, in thousandths of the width."""
        rows, columns = np.indices((self.size, self.size), np.float32)
        y = np.clip(np.rint(rows + down * self.unit), 0, self.size - 1).astype(np.int32)
        x = np.clip(np.rint(columns + across * self.unit), 0, self.size - 1).astype(np.int32)
        return np.asarray(tones[y, x])


def _ground_of(rgb: Plane) -> Plane:
    """Return the empty ground of a drawing: the default ground, or the most frequent tone of its border."""
    usual = plane(ground(len(rgb)))
    border = np.concatenate([rgb[0], rgb[-1], rgb[:, 0], rgb[:, -1]])
    expected = np.concatenate([usual[0], usual[-1], usual[:, 0], usual[:, -1]])
    if (np.abs(border - expected).max(axis=-1) <= _LEAST_DIFFERENCE).mean() > 0.5:
        return usual
    tones, counts = np.unique(border, axis=0, return_counts=True)
    return np.broadcast_to(tones[counts.argmax()], rgb.shape)


def plane(image: Image.Image) -> Plane:
    """Return the tones of an image, scaled to 0 to 1."""
    return np.asarray(image, dtype=np.float32) / np.float32(255)


def picture(tones: Plane) -> Image.Image:
    """Convert tones to an image."""
    return Image.fromarray((np.clip(tones, 0, 1) * 255 + 0.5).astype(np.uint8))


def blur(tones: Plane, radius: float) -> Plane:
    """Return the tones after a Gaussian blur with the given radius in pixels."""
    return plane(picture(tones).filter(ImageFilter.GaussianBlur(radius)))


def step(values: Plane, level: float | Plane, softness: float) -> Plane:
    """Return 0 below the level and 1 above it, with a smooth transition."""
    return np.asarray(np.clip((values - level) / (2 * softness) + 0.5, 0, 1))


def mix(under: Plane, over: Plane | tuple[float, float, float], share: Plane) -> Plane:
    """Blend other tones over the given ones, with `share` as the opacity."""
    amount = share[..., None] if share.ndim == 2 else share
    return under + (np.asarray(over, np.float32) - under) * amount


def gray(tones: Plane) -> Plane:
    """Return the brightness of tones."""
    return np.asarray(tones @ np.array([0.299, 0.587, 0.114], np.float32))


def saturate(tones: Plane, factor: float) -> Plane:
    """Return the tones with their saturation multiplied by `factor`."""
    middle = gray(tones)[..., None]
    return np.clip(middle + (tones - middle) * factor, 0, 1)


def smear(values: Plane, angle: Plane, length: int, pixels: float = 1.0) -> Plane:
    """Return the values averaged along lines that follow the local angle, like bristles."""
    rows, columns = values.shape
    total = values.copy()
    for sign in (1, -1):
        y, x = np.indices(values.shape, np.float32)
        for _ in range(length):
            row = np.clip(y, 0, rows - 1).astype(np.int32)
            column = np.clip(x, 0, columns - 1).astype(np.int32)
            local = angle[row, column]
            y += np.sin(local) * (sign * pixels)
            x += np.cos(local) * (sign * pixels)
            total += values[np.clip(y, 0, rows - 1).astype(np.int32), np.clip(x, 0, columns - 1).astype(np.int32)]
    return total / (2 * length + 1)


def enlarge(values: Plane, size: int) -> Plane:
    """Return square values resized to `size` pixels."""
    return np.asarray(Image.fromarray(values.astype(np.float32)).resize((size, size), Image.Resampling.BILINEAR))


def along_edges(tones: Plane, size: int, radius: float) -> Plane:
    """Return the direction of nearby edges in radians, for a square of `size` pixels."""
    small = Image.fromarray(np.ascontiguousarray(gray(tones) * 255).astype(np.uint8)).resize((size, size))
    values = plane(small.filter(ImageFilter.GaussianBlur(radius)))
    down, across = np.gradient(values)
    # The doubled angle can be averaged: the two sides of an edge point to opposite ways.
    double_x, double_y = np.asarray(across * across - down * down), np.asarray(2 * across * down)
    kernel = max(1, int(radius * 3))
    turned = np.arctan2(box_mean(double_y, kernel), box_mean(double_x, kernel)) / 2 + np.pi / 2
    return np.asarray(turned, np.float32)


def box_mean(values: Plane, radius: int) -> Plane:
    """Return the mean over the square of `2 * radius + 1` pixels around each pixel, for single-channel values."""
    width = 2 * radius + 1
    rows, columns = values.shape
    padded = np.pad(values, ((radius + 1, radius), (radius + 1, radius)), mode="edge").astype(np.float64)
    total = padded.cumsum(axis=0).cumsum(axis=1)
    corners = total[width:, width:] - total[:rows, width:] - total[width:, :columns] + total[:rows, :columns]
    return np.asarray(corners / width**2, np.float32)
