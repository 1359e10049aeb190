"""Styles painted with a brush: oil painting, watercolor, impressionism, expressionism."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from formalimg.drawing.styles.flat import (
    FlatDrawing,
    Plane,
    along_edges,
    blur,
    box_mean,
    enlarge,
    gray,
    mix,
    picture,
    plane,
    saturate,
    smear,
    step,
)
from formalimg.drawing.svg import HORIZON

_ANGLES = 256  # The directions of strokes are known for this many rows and columns


def oil_painting(flat: FlatDrawing) -> Image.Image:
    """Render in thick, broad strokes along the forms, with bristle marks lit from the side, on canvas."""
    down, across = flat.position
    warm, cool = np.array([0.74, 0.64, 0.43], np.float32), np.array([0.27, 0.34, 0.31], np.float32)
    light = 0.75 * flat.noise(4) + 0.5 * (1 - down) - 0.35 * (down > HORIZON)
    light = light - 0.9 * ((across - 0.5) ** 2 + (down - 0.4) ** 2)
    back = cool + (warm - cool) * np.clip(light, 0, 1.2)[..., None]
    u = flat.unit
    image = picture(back)
    pen = ImageDraw.Draw(image)
    # Strokes follow the things near them and wander elsewhere.
    target = mix(back, flat.rgb, flat.things)
    free = enlarge(1 - blur(flat.grown(flat.things, 14), 12 * u), _ANGLES)
    angle = along_edges(target, _ANGLES, 2.5) + (enlarge(flat.noise(5), _ANGLES) - 0.5) * 1.6 * free
    _dabs(flat, pen, back, angle, Dab(2200, 75 * u, 20 * u, 0.06))
    smooth = mix(_kuwahara(flat.image, max(1, round(2 * u))), flat.rgb, 0.85 * flat.texture)
    image.paste(picture(smooth), mask=picture(flat.things))
    # Broad strokes where a thing has one tone: not over its texture, nor over small parts such as a face.
    detail = flat.texture + 4 * blur(flat.edges, 3 * u)
    plain = step(flat.grown(flat.things, -12) - detail, 0.85, 0.05)
    _dabs(flat, pen, smooth, angle, Dab(7000, 13 * u, 4 * u, 0.06, 0.15), plain)
    tones = plane(image)
    # Bristles: fine lines along the strokes, and the relief of the paint, which is lit from the upper left.
    bristles = _bristles(flat, angle, 18)
    height = blur(gray(tones), 1.2 * u)
    relief = np.clip((np.roll(height, (-2, -2), (0, 1)) - height) * 1.4, -0.10, 0.16)
    pitch = 5.0 * u
    rows, columns = np.indices((flat.size, flat.size), np.float32)
    weave = np.sin(rows * (2 * np.pi / pitch)) + np.sin(columns * (2 * np.pi / pitch))
    return picture((tones + relief[..., None]) * (1 + 0.055 * bristles + 0.02 * weave)[..., None])


def _bristles(flat: FlatDrawing, angle: Plane, thousandths: float) -> Plane:
    """Return fine lines along the angles, `thousandths` of the width long, with mean 0 and standard deviation 1."""
    size = max(64, flat.size // 2)  # bristles are wider than a pixel
    grain = flat.random.random_sample((size, size)).astype(np.float32)
    lines = enlarge(smear(grain, enlarge(angle, size), max(2, round(thousandths * size / 1000))), flat.size)
    return np.asarray((lines - lines.mean()) / (lines.std() + 1e-6))


def _kuwahara(image: Image.Image, half: int) -> Plane:
    """Replace each pixel by the mean of its most uniform neighbouring square, giving flat patches with sharp edges."""
    means = plane(image.filter(ImageFilter.BoxBlur(half)))
    brightness = gray(plane(image))
    spread = box_mean(brightness * brightness, half) - box_mean(brightness, half) ** 2
    best, result = np.full(spread.shape, np.inf, np.float32), means
    for row in (-half, half):
        for column in (-half, half):
            local = np.roll(spread, (row, column), (0, 1))
            better = local < best
            best = np.where(better, local, best)
            result = np.where(better[..., None], np.roll(means, (row, column), (0, 1)), result)
    return result


def watercolor(flat: FlatDrawing) -> Image.Image:
    """Render in thin pigment on rough white paper, without outlines, with wavering edges, blooms and runs."""
    wobble = 9.0
    down = (flat.noise(26) - 0.5) * wobble + (flat.noise(90) - 0.5) * 4
    across = (flat.noise(26) - 0.5) * wobble + (flat.noise(90) - 0.5) * 4
    # Outlines are painted over by what is beside them: pigment has none.
    width = max(3, round(4 * flat.unit) | 1)
    unlined = plane(flat.image.filter(ImageFilter.MaxFilter(width)).filter(ImageFilter.MedianFilter(3)))
    tones = flat.warped(mix(unlined, flat.rgb, np.full(flat.things.shape, 0.5, np.float32)), down, across)
    things = blur(flat.warped(flat.things, down, across), 1.2 * flat.unit)
    paper = np.array([0.985, 0.975, 0.95], np.float32)
    # Pigment lets the paper through: unevenly, more at its middle and less at its edges, where it pools.
    pool = np.clip(things - blur(things, 9 * flat.unit), 0, 1)
    strength = 0.66 + 0.30 * (flat.noise(7) - 0.5) + 0.34 * (flat.noise(22) - 0.5) + 0.75 * pool
    strength += 0.25 * (1 - gray(tones))  # dark pigment is thick
    strength = np.clip(strength, 0, 1)
    pigment = paper * (1 - strength[..., None]) + saturate(tones, 1.25) * strength[..., None]
    pigment *= (1 - 0.30 * step(pool, 0.40, 0.14))[..., None]
    wash = _wash(flat)
    # Colour that ran out of the things into the wet paper around them.
    run = blur(
        mix(np.broadcast_to(paper, tones.shape).astype(np.float32), saturate(tones, 1.3), things), 16 * flat.unit
    )
    result = mix(wash * (0.45 + 0.55 * run), pigment, things)
    grain = flat.random.standard_normal((flat.size, flat.size)).astype(np.float32)
    grain = grain + np.roll(grain, 1, 0) + np.roll(grain, 1, 1)
    lit = np.roll(grain, (1, 1), (0, 1)) - grain
    return picture(result * (1 + 0.045 * lit / lit.std())[..., None])


def _wash(flat: FlatDrawing) -> Plane:
    """Paint pale washes of sky and ground on paper, each with the dark rim of dried pigment."""
    down, across = flat.position
    paper = np.array([0.985, 0.975, 0.95], np.float32)
    ragged = (flat.noise(6) - 0.5) * 0.16 + (flat.noise(40) - 0.5) * 0.035
    edge = np.minimum(np.minimum(down, 1 - down), np.minimum(across, 1 - across)) + ragged * 0.5
    result = np.broadcast_to(paper, (*down.shape, 3)).astype(np.float32)
    for tone, inside in (
        ((0.66, 0.78, 0.88), np.minimum(edge - 0.035, 0.60 + ragged - down)),
        ((0.80, 0.78, 0.62), np.minimum(edge - 0.035, down - 0.60 - ragged)),
    ):
        body = step(inside, 0.0, 0.006)
        rim = np.exp(-np.clip(inside, 0, 1) / 0.012) * body
        strength = body * (0.30 + 0.45 * flat.noise(5)) + 0.25 * rim
        result = result * (1 - strength[..., None] * (1 - np.array(tone, np.float32)))
    return result


def impressionism(flat: FlatDrawing) -> Image.Image:
    """Render in short separate dabs of bright colour, larger for the background than for the objects."""
    down, _ = flat.position
    light = flat.noise(6)[..., None]
    sky = np.array([0.58, 0.74, 0.94], np.float32) * (1 - light) + np.array([0.98, 0.86, 0.74], np.float32) * light
    field = np.array([0.50, 0.68, 0.40], np.float32) * (1 - light) + np.array([0.92, 0.80, 0.50], np.float32) * light
    level = step(down, HORIZON, 0.05)[..., None]
    unlined = plane(flat.image.filter(ImageFilter.MaxFilter(3)))
    target = mix(sky * (1 - level) + field * level, saturate(unlined * 0.96 + 0.03, 1.15), flat.things)
    image = picture(target * 0.92)
    pen = ImageDraw.Draw(image)
    angle = along_edges(target, _ANGLES, 3)
    u = flat.unit
    _dabs(flat, pen, target, angle, Dab(9000, 26 * u, 9.5 * u, 0.12))
    _dabs(flat, pen, target, angle, Dab(16000, 12 * u, 4.6 * u, 0.10), flat.things)
    edge = step(blur(flat.edges, 1.5 * u), 0.03, 0.02) * flat.things
    shaded = 0.6 * flat.rgb + 0.4 * unlined
    _dabs(flat, pen, shaded, angle, Dab(14000, 6.5 * u, 2.6 * u, 0.06), edge * (1 - flat.texture))
    _dabs(flat, pen, flat.rgb, angle, Dab(24000, 5 * u, 1.9 * u, 0.04, 0.15), flat.texture)
    return image


class Dab(NamedTuple):
    """Stroke settings: the maximum number, the size in pixels, and the variation of tones and angles."""

    most: int
    length: float
    width: float
    variety: float
    wander: float = 0.35


def _dabs(
    flat: FlatDrawing, pen: ImageDraw.ImageDraw, target: Plane, angle: Plane, dab: Dab, mask: Plane | None = None
) -> None:
    """Paint strokes in slightly varied tones of the target, limited to the mask `where`."""
    random, count = flat.random, dab.most
    if mask is None:
        rows, columns = random.randint(0, flat.size, count), random.randint(0, flat.size, count)
    else:
        places = np.flatnonzero(mask > 0.5)
        if not len(places):
            return
        # As many as the area needs: small things are covered as densely as large ones.
        count = min(count, int(len(places) / (dab.length * dab.width) * 3) + 1)
        chosen = places[random.randint(0, len(places), count)]
        rows, columns = chosen // flat.size, chosen % flat.size
    scale = len(angle)
    turn = angle[rows * scale // flat.size, columns * scale // flat.size] + random.normal(0, dab.wander, count)
    off = random.normal(0, dab.variety * 0.6, (count, 3)) + random.normal(0, dab.variety * 0.5, (count, 1))
    colors = (np.clip(target[rows, columns] + off, 0, 1) * 255).astype(int).tolist()
    reach = dab.length * (0.7 + 0.6 * random.random_sample(count)) / 2
    x, y = np.cos(turn) * reach, np.sin(turn) * reach
    ends = np.stack([columns - x, rows - y, columns + x, rows + y], axis=-1).tolist()
    thick = max(1, round(dab.width))
    for line, color in zip(ends, colors, strict=True):
        pen.line(line, fill=tuple(color), width=thick)


def expressionism(flat: FlatDrawing) -> Image.Image:
    """Render in distorted forms and harsh colours, with black contours and a sky of burning waves."""
    down, across = flat.position
    bend = 14.0
    dy = np.sin(across * 15 + flat.noise(3) * 5) * bend * 0.6
    dx = np.sin(down * 13 + flat.noise(3) * 5) * bend
    tones = flat.warped(flat.rgb, dy, dx)
    things = flat.warped(flat.things, dy, dx)
    # Waves: bands of colour along a bent height, as a sky that screams.
    wave = down * 7 + 0.55 * np.sin(across * 6.5 + 3 * flat.noise(3)) + 1.1 * flat.noise(4) + 0.25 * np.sin(across * 17)
    bands = np.array(
        [[0.86, 0.20, 0.08], [0.97, 0.52, 0.10], [0.98, 0.78, 0.22], [0.93, 0.36, 0.10], [0.62, 0.10, 0.14]], np.float32
    )
    ground = np.array(
        [[0.09, 0.17, 0.40], [0.13, 0.34, 0.48], [0.06, 0.10, 0.26], [0.20, 0.42, 0.36], [0.10, 0.22, 0.46]], np.float32
    )
    band = (np.floor(wave * 2.2).astype(int)) % 5
    low = step(down + 0.05 * np.sin(across * 5) + 0.06 * (flat.noise(5) - 0.5), 0.62, 0.004)[..., None]
    back = bands[band] * (1 - low) + ground[band] * low
    slope_y, slope_x = np.gradient(enlarge(wave, _ANGLES))
    strokes = _bristles(flat, np.arctan2(slope_y, slope_x) + np.pi / 2, 32)
    back = back * (1 + 0.22 * strokes[..., None])
    harsh = saturate(np.clip((tones - 0.5) * 1.18 + 0.5, 0, 1), 1.35) * (1 + 0.13 * strokes[..., None])
    contour = np.clip(flat.grown(things, 6) - things, 0, 1)
    result = mix(back, (0.03, 0.02, 0.05), contour)
    result = mix(result, harsh, things)
    return picture(result)
