"""Styles that are painted with a brush: oil painting, watercolor, impressionism, expressionism."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from formalimg.scenes.drawn.styles.flat import (
    FlatDrawing,
    Plane,
    along_edges,
    blurred,
    box_mean,
    enlarged,
    gray,
    mixed,
    picture,
    plane,
    saturated,
    smeared,
    step,
)

_STROKE_RESOLUTION = 512
"""Strokes are smeared at this size and enlarged: bristles are wider than a pixel."""


def oil_painting(flat: FlatDrawing) -> Image.Image:
    """Smooth patches of thick paint in long strokes along the forms, lit from the side, on canvas."""
    down, across = flat.position
    warm, cool = np.array([0.56, 0.40, 0.22], np.float32), np.array([0.33, 0.29, 0.22], np.float32)
    clouds = flat.noise(5)[..., None] * 0.55 + flat.noise(14)[..., None] * 0.25
    back = cool + (warm - cool) * (clouds + (1 - down[..., None]) * 0.25)
    back = back * (1.12 - 0.5 * ((across - 0.5) ** 2 + (down - 0.45) ** 2))[..., None]
    back *= np.where(down > 0.6, 0.8, 1.0).astype(np.float32)[..., None]
    tones = _kuwahara(mixed(back, flat.rgb * 0.96, flat.things), max(2, round(5 * flat.unit)))
    size = _STROKE_RESOLUTION
    angle = along_edges(tones, size, 5) + (enlarged(flat.noise(9), size) - 0.5) * 1.6
    strokes = smeared(flat.random.random_sample((size, size)).astype(np.float32), angle, 14)
    strokes = (strokes - strokes.mean()) / (strokes.std() + 1e-6)
    # The relief of the paint: lit where it rises towards the upper left.
    relief = enlarged(strokes, flat.size)
    light = (np.roll(relief, (2, 2), (0, 1)) - relief) * 0.11
    tones = tones + (relief * 0.035 + np.clip(light, -0.25, 0.3))[..., None]
    pitch = 5.0 * flat.unit
    rows, columns = np.indices((flat.size, flat.size), np.float32)
    weave = np.sin(rows * (2 * np.pi / pitch)) + np.sin(columns * (2 * np.pi / pitch))
    return picture(np.clip(tones * (1 + 0.022 * weave[..., None]), 0, 1))


def _kuwahara(tones: Plane, radius: int) -> Plane:
    """Return each pixel as the mean of whichever square beside it is the most even: flat patches with sharp edges."""
    half = max(1, radius // 2)
    means = box_mean(tones, half)
    brightness = gray(tones)
    spread = box_mean(brightness * brightness, half) - box_mean(brightness, half) ** 2
    best, result = np.full(spread.shape, np.inf, np.float32), means
    for row in (-half, half):
        for column in (-half, half):
            here = np.roll(spread, (row, column), (0, 1))
            better = here < best
            best = np.where(better, here, best)
            result = np.where(better[..., None], np.roll(means, (row, column), (0, 1)), result)
    return result


def watercolor(flat: FlatDrawing) -> Image.Image:
    """Thin pigment on rough white paper: no outlines, wavering edges where it pools, blooms and runs."""
    wobble = 9.0
    down = (flat.noise(26) - 0.5) * wobble + (flat.noise(90) - 0.5) * 4
    across = (flat.noise(26) - 0.5) * wobble + (flat.noise(90) - 0.5) * 4
    # Outlines are painted over by what is beside them: pigment has none.
    width = max(3, round(4 * flat.unit) | 1)
    unlined = plane(flat.image.filter(ImageFilter.MaxFilter(width)).filter(ImageFilter.MedianFilter(3)))
    tones = flat.warped(mixed(unlined, flat.rgb, np.full(flat.things.shape, 0.35, np.float32)), down, across)
    things = blurred(flat.warped(flat.things, down, across), 1.2 * flat.unit)
    paper = np.array([0.985, 0.975, 0.95], np.float32)
    # Pigment lets the paper through: unevenly, more at its middle and less at its edges, where it pools.
    pool = np.clip(things - blurred(things, 9 * flat.unit), 0, 1)
    strength = 0.66 + 0.30 * (flat.noise(7) - 0.5) + 0.34 * (flat.noise(22) - 0.5) + 0.75 * pool
    pigment = paper * (1 - strength[..., None]) + saturated(tones, 1.25) * strength[..., None]
    pigment *= (1 - 0.30 * step(pool, 0.40, 0.14))[..., None]
    wash = _wash(flat)
    # Colour that ran out of the things into the wet paper around them.
    run = blurred(mixed(np.broadcast_to(paper, tones.shape).astype(np.float32), saturated(tones, 1.3), things), 16 * flat.unit)
    result = mixed(wash * (0.45 + 0.55 * run), pigment, things)
    grain = flat.random.standard_normal((flat.size, flat.size)).astype(np.float32)
    grain = box_mean(grain, max(1, round(0.8 * flat.unit)))
    lit = np.roll(grain, (1, 1), (0, 1)) - grain
    return picture(result * (1 + 0.045 * lit / lit.std())[..., None])


def _wash(flat: FlatDrawing) -> Plane:
    """Two pale washes on paper, sky and ground, each with the dark rim where it dried."""
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
    """Short separate dabs of bright broken colour, larger for the background than for the things."""
    down, across = flat.position
    light = flat.noise(6)[..., None]
    sky = np.array([0.62, 0.78, 0.95], np.float32) * (1 - light) + np.array([0.98, 0.88, 0.72], np.float32) * light
    field = np.array([0.55, 0.72, 0.42], np.float32) * (1 - light) + np.array([0.93, 0.83, 0.50], np.float32) * light
    level = step(down, 0.60, 0.05)[..., None]
    back = sky * (1 - level) + field * level
    unlined = plane(flat.image.filter(ImageFilter.MaxFilter(3)))
    target = mixed(back, saturated(unlined * 0.96 + 0.03, 1.15), flat.things)
    image = picture(target * 0.92)
    pen = ImageDraw.Draw(image)
    angle = along_edges(target, 256, 3)
    u = flat.unit
    _dabs(flat, pen, target, angle, 5200, 22 * u, 9 * u, 0.16, None)
    _dabs(flat, pen, target, angle, 15000, 11 * u, 4.2 * u, 0.11, flat.things)
    edge = step(blurred(flat.edges, 1.5 * u), 0.03, 0.02) * flat.things
    _dabs(flat, pen, plane(flat.image), angle, 14000, 5.5 * u, 2.3 * u, 0.06, edge)
    return image


def _dabs(
    flat: FlatDrawing,
    pen: ImageDraw.ImageDraw,
    target: Plane,
    angle: Plane,
    count: int,
    length: float,
    width: float,
    variety: float,
    where: Plane | None,
) -> None:
    """Paint `count` short strokes in the tones of the target, each a little off, where there is something."""
    random = flat.random
    if where is None:
        rows, columns = random.randint(0, flat.size, count), random.randint(0, flat.size, count)
    else:
        places = np.flatnonzero(where > 0.5)
        if not len(places):
            return
        # As many as the area needs: small things are covered as densely as large ones.
        count = min(count, int(len(places) / (length * width) * 3) + 1)
        chosen = places[random.randint(0, len(places), count)]
        rows, columns = chosen // flat.size, chosen % flat.size
    small = angle[rows * 256 // flat.size, columns * 256 // flat.size] + random.normal(0, 0.35, count)
    tones = target[rows, columns] + random.normal(0, variety, (count, 3)) * 0.6 + random.normal(0, variety * 0.5, (count, 1))
    colors = (np.clip(tones, 0, 1) * 255).astype(int)
    reach = length * (0.7 + 0.6 * random.random_sample(count)) / 2
    x, y = np.cos(small) * reach, np.sin(small) * reach
    thick = max(1, round(width))
    for number in range(count):
        start = (columns[number] - x[number], rows[number] - y[number])
        end = (columns[number] + x[number], rows[number] + y[number])
        pen.line((*start, *end), fill=tuple(colors[number]), width=thick)


def expressionism(flat: FlatDrawing) -> Image.Image:
    """Forms bent out of shape, harsh colour, black contours, and a sky of burning waves."""
    down, across = flat.position
    bend = 11.0
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
    size = _STROKE_RESOLUTION
    slope_y, slope_x = np.gradient(enlarged(wave, size))
    angle = (np.arctan2(slope_y, slope_x) + np.pi / 2).astype(np.float32)
    strokes = smeared(flat.random.random_sample((size, size)).astype(np.float32), angle, 16)
    strokes = enlarged((strokes - strokes.mean()) / (strokes.std() + 1e-6), flat.size)
    back = back * (1 + 0.22 * strokes[..., None])
    harsh = saturated(np.clip((tones - 0.5) * 1.18 + 0.5, 0, 1), 1.35) * (1 + 0.13 * strokes[..., None])
    contour = np.clip(flat.grown(things, 6) - things, 0, 1)
    result = mixed(back, (0.03, 0.02, 0.05), contour)
    result = mixed(result, harsh, things)
    return picture(result)
