"""Styles of the street, the screen and the printing press: pixel art, pop art, graffiti, cubism, cyberpunk."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from formalimg.scenes.drawn.styles.flat import (
    FlatDrawing,
    Plane,
    blurred,
    gray,
    mixed,
    picture,
    plane,
    saturated,
    step,
)
from formalimg.scenes.icon import palette

_CELLS = 112
"""The pixels of pixel art: the width of the image in them."""

_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.float32) / 16
"""The order in which the pixels of a square change from one tone to the next."""


def pixel_art(flat: FlatDrawing) -> Image.Image:
    """Square pixels in few colours: sprites with a dark outline on a dithered sky and ground."""
    small = flat.image.resize((_CELLS, _CELLS), Image.Resampling.BOX)
    things = plane(picture(flat.things).resize((_CELLS, _CELLS), Image.Resampling.BOX)) > 0.5
    tones = _snapped(plane(small))
    around = np.zeros_like(things)
    for axis in (0, 1):
        for shift in (1, -1):
            around |= np.roll(things, shift, axis)
    rows, columns = np.indices((_CELLS, _CELLS))
    threshold = _BAYER[rows % 4, columns % 4]
    sky = np.array([[0.16, 0.22, 0.56], [0.24, 0.40, 0.76], [0.36, 0.62, 0.90], [0.62, 0.84, 0.96]], np.float32)
    floor = np.array([[0.40, 0.66, 0.34], [0.28, 0.54, 0.30], [0.18, 0.40, 0.28]], np.float32)
    horizon = int(_CELLS * 0.62)
    up, below = rows / horizon * 3.2 - 0.1, (rows - horizon) / (_CELLS - horizon) * 2.4
    back = np.where(
        (rows < horizon)[..., None],
        sky[np.clip(np.floor(up + threshold), 0, 3).astype(int)],
        floor[np.clip(np.floor(below + threshold), 0, 2).astype(int)],
    )
    result = np.where(things[..., None], tones, np.where(around[..., None], np.float32(0.06), back))
    return picture(result.astype(np.float32)).resize((flat.size, flat.size), Image.Resampling.NEAREST)


def _snapped(tones: Plane) -> Plane:
    """Return the nearest tones of the palette."""
    known = [*palette().colors.values(), *palette().others.values()]
    hexes = sorted({tone for entry in known for tone in entry} | set(palette().accents.values()))
    table = np.array([[int(tone[at : at + 2], 16) for at in (1, 3, 5)] for tone in hexes], np.float32) / 255
    distance = ((tones[:, :, None] - table) ** 2).sum(axis=-1)
    return table[distance.argmin(axis=-1)]


def pop_art(flat: FlatDrawing) -> Image.Image:
    """Four panels of loud colour behind, Ben-Day dots, thick black contours with a white rim, hard shadows."""
    u = flat.unit
    down, across = flat.position
    loud = np.array([[0.99, 0.85, 0.10], [0.98, 0.30, 0.58], [0.10, 0.75, 0.88], [0.98, 0.55, 0.15]], np.float32)
    loud = loud[flat.random.permutation(4)]
    dotted = np.array([[0.98, 0.45, 0.15], [0.99, 0.90, 0.20], [0.99, 0.95, 0.90], [0.99, 0.85, 0.20]], np.float32)
    panel = (down > 0.5).astype(int) * 2 + (across > 0.5).astype(int)
    fade = np.clip(0.85 - 1.1 * np.abs((down * 2) % 1 - 0.5) - 0.5 * np.abs((across * 2) % 1 - 0.5), 0.12, 1)
    back = mixed(loud[panel], (1.0, 1.0, 1.0), _dots(flat, 20, fade * 0.62))
    del dotted
    seam = np.minimum(np.abs(down - 0.5), np.abs(across - 0.5)) < 0.004
    back = np.where(seam[..., None], np.float32(0.05), back)
    tones = saturated(np.clip((flat.rgb - 0.5) * 1.15 + 0.53, 0, 1), 1.45)
    # Shading is printed too: dots of a darker tone towards the lower right of each thing.
    offset = round(22 * u)
    solid = blurred(flat.things, 8 * u)
    depth = np.clip(flat.things - np.roll(solid, (-offset, -offset), (0, 1)), 0, 1)
    tones = tones * (1 - 0.55 * (_dots(flat, 9, depth * 0.5) * flat.things)[..., None])
    gleam = np.clip(flat.things - np.roll(solid, (offset, offset), (0, 1)), 0, 1)
    tones = mixed(tones, (1.0, 1.0, 1.0), 0.75 * _dots(flat, 9, gleam * 0.33) * flat.things)
    lines = step(blurred(step(flat.edges, 0.12, 0.05), 1.4 * u), 0.24, 0.08)
    result = mixed(back, (1.0, 1.0, 1.0), flat.grown(flat.things, 17))
    result = mixed(result, (0.03, 0.03, 0.04), flat.grown(flat.things, 8))
    result = mixed(result, tones, flat.things)
    return picture(mixed(result, (0.03, 0.03, 0.04), lines * flat.things * step(gray(tones), 0.25, 0.05)))


def _dots(flat: FlatDrawing, pitch: float, share: Plane) -> Plane:
    """Return round dots in a grid that stands on its corner, each covering this share of its place."""
    rows, columns = np.indices((flat.size, flat.size), np.float32)
    grid = pitch * flat.unit * 1.4142
    across, down = (columns + rows) / grid, (columns - rows) / grid
    distance = np.hypot(across - np.rint(across), down - np.rint(down))
    return step(np.sqrt(share / np.pi) - distance, 0.0, 0.035) * (share > 0.01)


def graffiti(flat: FlatDrawing) -> Image.Image:
    """Spray paint on a brick wall: fuzzy edges, overspray, drips, and a bold double contour."""
    u, random = flat.unit, flat.random
    wall = plane(_bricks(flat))
    grain = random.standard_normal((flat.size, flat.size)).astype(np.float32)
    wall = wall * (1 + 0.05 * grain[..., None]) * (0.85 + 0.3 * flat.noise(4)[..., None])
    drips, drip_tones = _drips(flat)
    speck = random.random_sample((flat.size, flat.size)).astype(np.float32)
    cloud = blurred(flat.things, 30 * u)
    halo_tone = np.array([[0.10, 0.85, 0.85], [0.98, 0.25, 0.65], [0.75, 0.95, 0.20]][random.randint(3)], np.float32)
    mist = np.clip(cloud * 1.25 - 0.04, 0, 0.9)
    result = mixed(wall, halo_tone, mist * (0.55 + 0.45 * (speck < mist)) * 0.85)
    # The paint of the things thins out to single drops at its edge.
    tones = saturated(np.clip(flat.rgb * 1.05, 0, 1), 1.35)
    result = mixed(result, (0.97, 0.97, 0.97), step(flat.grown(flat.things, 17) + 0.25 * (speck - 0.5), 0.5, 0.2))
    result = mixed(result, (0.03, 0.03, 0.05), step(flat.grown(flat.things, 10) + 0.25 * (speck - 0.5), 0.5, 0.2))
    result = mixed(result, drip_tones, drips)
    through = 0.96 - 0.20 * step(gray(wall), 0.62, 0.04)  # joints of the wall are seen through the paint
    result = mixed(result, tones * (1 + 0.05 * grain[..., None]), flat.things * through)
    shine = np.roll(flat.things, (-round(9 * u), -round(9 * u)), (0, 1)) - np.roll(
        blurred(flat.things, 2 * u), (round(4 * u), round(4 * u)), (0, 1)
    )
    del shine
    spots = step(flat.noise(60), 0.985, 0.004) * (1 - flat.things)
    return picture(mixed(result, halo_tone * 0.8, spots))


def _bricks(flat: FlatDrawing) -> Image.Image:
    size, u, random = flat.size, flat.unit, flat.random
    image = Image.new("RGB", (size, size), "#b9aea4")
    pen = ImageDraw.Draw(image)
    high, wide, joint = 44 * u, 112 * u, 5 * u
    for row in range(int(size / high) + 1):
        for column in range(-1, int(size / wide) + 1):
            left, top = column * wide + (wide / 2 if row % 2 else 0), row * high
            shade = 0.85 + 0.3 * random.random_sample()
            tone = tuple(int(part * shade) for part in (136, 92, 80))
            pen.rectangle((left + joint, top + joint, left + wide, top + high), fill=tone)
    return image


def _drips(flat: FlatDrawing) -> tuple[Plane, Plane]:
    """Return runs of paint below the things, as a mask and its tones."""
    image = Image.new("RGB", (flat.size, flat.size))
    mask = Image.new("L", (flat.size, flat.size), 0)
    pens = ImageDraw.Draw(image), ImageDraw.Draw(mask)
    things = flat.things > 0.5
    below = things[:-1] & ~things[1:]
    places = np.argwhere(below)
    pixels = np.asarray(flat.image)
    for row, column in places[flat.random.permutation(len(places))[: 26]]:
        length, radius = (25 + 60 * flat.random.random_sample()) * flat.unit, 3.6 * flat.unit
        inside = pixels[max(0, row - round(9 * flat.unit)), column]
        tone = tuple(int(part) for part in inside)
        for pen, fill in zip(pens, (tone, 255), strict=True):
            pen.rectangle((column - radius * 0.7, row - radius, column + radius * 0.7, row + length), fill=fill)
            foot = row + length
            pen.ellipse((column - radius, foot - radius, column + radius, foot + radius * 1.5), fill=fill)
    return plane(mask), plane(image)


def cubism(flat: FlatDrawing) -> Image.Image:
    """Everything broken into facets: each shows the scene a little shifted and turned, in its own light, dark-edged."""
    size, random = flat.size, flat.random
    side = 13
    grid = (np.indices((side, side)).reshape(2, -1).T + 0.5 + random.uniform(-0.46, 0.46, (side * side, 2))) / side
    owner, edge = _facets(size, grid, side)
    shift = random.normal(0, 11, (len(grid), 2)).astype(np.float32)
    turn = random.normal(0, 0.10, len(grid)).astype(np.float32)
    zoom = 1 + random.normal(0, 0.04, len(grid)).astype(np.float32)
    down, across = flat.position
    y, x = (down - grid[owner, 0].astype(np.float32)) * 1000, (across - grid[owner, 1].astype(np.float32)) * 1000
    sine, cosine = np.sin(turn)[owner], np.cos(turn)[owner]
    from_y = (x * sine + y * cosine) * zoom[owner] - y + shift[owner, 0]
    from_x = (x * cosine - y * sine) * zoom[owner] - x + shift[owner, 1]
    earth = np.array([[0.80, 0.70, 0.50], [0.62, 0.55, 0.42], [0.52, 0.56, 0.56], [0.72, 0.62, 0.52], [0.42, 0.40, 0.38]])
    back = earth[random.randint(0, 5, len(grid))].astype(np.float32)[owner]
    things = flat.warped(flat.things, from_y, from_x)
    tones = mixed(back, flat.warped(flat.rgb, from_y, from_x), things)
    # Each facet is lit from its own side.
    lean = random.random_sample(len(grid)) * 2 * np.pi
    light = (x * np.cos(lean)[owner] + y * np.sin(lean)[owner]) / 1000 * side
    tones = tones * (1 + 0.24 * np.clip(light, -1, 1))[..., None].astype(np.float32)
    return picture(mixed(tones, (0.10, 0.08, 0.07), edge * 0.85))


def _facets(size: int, points: Plane, side: int) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.intp]], Plane]:
    """Return which point each pixel belongs to, by straight-edged cells, and where two cells meet."""
    small = min(size, 512)
    line = (np.arange(small, dtype=np.float32) + 0.5) / small
    best = np.full((small, small), np.inf, np.float32)
    owner = np.zeros((small, small), np.intp)
    for number, (row, column) in enumerate(points.astype(np.float32)):
        reach = 2.6 / side
        rows = slice(max(0, int((row - reach) * small)), int((row + reach) * small) + 1)
        columns = slice(max(0, int((column - reach) * small)), int((column + reach) * small) + 1)
        # A stretched distance gives long splinters instead of round cells.
        away = (line[rows, None] - row) ** 2 * 0.7 + (line[None, columns] - column) ** 2 * 1.5
        away = away + (line[rows, None] - row) * (line[None, columns] - column) * 0.9
        better = away < best[rows, columns]
        best[rows, columns] = np.where(better, away, best[rows, columns])
        owner[rows, columns] = np.where(better, number, owner[rows, columns])
    owner = np.asarray(Image.fromarray(owner.astype(np.int32)).resize((size, size), Image.Resampling.NEAREST)).astype(np.intp)
    meets = np.zeros((size, size), np.float32)
    meets[:, 1:] = owner[:, 1:] != owner[:, :-1]
    meets[1:] = np.maximum(meets[1:], owner[1:] != owner[:-1])
    return owner, step(blurred(meets, 1.4 * size / 1000), 0.22, 0.1)


def cyberpunk(flat: FlatDrawing) -> Image.Image:
    """Night and neon: a dark city with lit windows, rain, a glowing grid for a floor, things rimmed by coloured light."""
    u = flat.unit
    back = plane(_night(flat))
    back = np.clip(back + 0.8 * blurred(back, 12 * u), 0, 1)
    rim = np.clip(flat.grown(flat.things, 6) - flat.things, 0, 1)
    down, across = flat.position
    share = step(across + 0.25 * (flat.noise(3) - 0.5), 0.5, 0.12)[..., None]
    neon = np.array([1.0, 0.10, 0.75], np.float32) * (1 - share) + np.array([0.05, 0.95, 1.0], np.float32) * share
    glow = np.clip(blurred(rim, 5 * u) * 1.4 + blurred(rim, 18 * u) * 1.6, 0, 1)
    result = back * (1 - 0.75 * flat.grown(flat.things, 10)[..., None])
    result = 1 - (1 - result) * (1 - neon * glow[..., None])
    # Things keep their colour; their edges take that of the neon.
    tones = saturated(flat.rgb * 0.92, 1.2)
    near = np.clip(1 - blurred(flat.things, 7 * u), 0, 1) * 1.3
    tones = 1 - (1 - tones) * (1 - neon * near[..., None] * 0.8)
    result = mixed(result, tones, flat.things)
    result = mixed(result, neon * 0.5 + 0.5, step(rim, 0.5, 0.2) * 0.95)
    rain = step(flat.noise(0, 26, 520), 0.965, 0.02) * (1 - 0.75 * flat.things)
    result = result + rain[..., None] * np.array([0.25, 0.35, 0.45], np.float32)
    return picture(result)


def _night(flat: FlatDrawing) -> Image.Image:
    size, u, random = flat.size, flat.unit, flat.random
    down, _ = flat.position
    top, low = np.array([0.03, 0.01, 0.10], np.float32), np.array([0.30, 0.04, 0.36], np.float32)
    sky = top + (low - top) * np.clip(down / 0.62, 0, 1)[..., None] ** 2
    image = picture(sky)
    pen = ImageDraw.Draw(image)
    floor, left = 620 * u, -20.0 * u
    while left < size:
        width, high = (50 + 60 * random.random_sample()) * u, (150 + 330 * random.random_sample()) * u
        pen.rectangle((left, floor - high, left + width, floor), fill=(14, 9, 34))
        light = [(30, 150, 170), (170, 40, 130), (160, 130, 50)][random.randint(3)]
        y = floor - high + 12 * u
        while y < floor - 10 * u:
            x = left + 8 * u
            while x < left + width - 10 * u:
                if random.random_sample() < 0.38:
                    pen.rectangle((x, y, x + 6 * u, y + 8 * u), fill=light)
                x += 14 * u
            y += 18 * u
        left += width + 4 * u
    pen.rectangle((0, floor, size, size), fill=(10, 4, 28))
    line = max(1, round(2.4 * u))
    for step_ in range(-16, 17):
        pen.line((size / 2 + step_ * 34 * u, floor, size / 2 + step_ * 190 * u, size), fill=(190, 20, 170), width=line)
    for number in range(9):
        y = floor + (size - floor) * (number / 8) ** 1.9
        pen.line((0, y, size, y), fill=(190, 20, 170), width=line)
    return image.filter(ImageFilter.GaussianBlur(0.6 * u))
