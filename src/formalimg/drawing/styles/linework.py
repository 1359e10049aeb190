"""Styles drawn with lines: sketch, ink, manga, cartoon."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from formalimg.drawing.styles.flat import (
    FlatDrawing,
    Plane,
    blur,
    box_mean,
    gray,
    mix,
    picture,
    plane,
    saturate,
    step,
)
from formalimg.drawing.svg import HORIZON


def sketch(flat: FlatDrawing) -> Image.Image:
    """Render as a sketch: double graphite contours and hatching in coloured pencil on rough white paper."""
    tones = mix(np.ones_like(flat.rgb), flat.rgb, flat.things)
    lines = np.zeros(flat.things.shape, np.float32)
    drawn = np.maximum(flat.contours * flat.grown(flat.things, 2), 0.7 * flat.texture_lines)
    for _ in range(2):  # a hand that draws each line twice never hits the same place
        down = (flat.noise(8) - 0.5) * 9
        across = (flat.noise(8) - 0.5) * 9
        lines = np.maximum(lines, flat.warped(drawn, down, across))
    pressure = 0.55 + 0.45 * flat.noise(30)
    rows, columns = np.indices(flat.things.shape, np.float32)
    bend = (flat.noise(6) - 0.5) * 26 * flat.unit
    tooth = flat.random.random_sample(flat.things.shape).astype(np.float32)
    dark = 1 - gray(tones)
    # Layers of hatching: one for every thing, and more at other angles the darker it is.
    cover = np.zeros_like(dark)
    for angle, pitch, least in ((0.8, 7.0, 0.06), (0.8, 3.9, 0.35), (2.2, 5.5, 0.62), (0.1, 4.6, 0.80)):
        along = rows * np.cos(angle) + columns * np.sin(angle) + bend
        stripe = 0.5 + 0.5 * np.sin(along * (2 * np.pi / (pitch * flat.unit)))
        cover = np.maximum(cover, step(stripe, 0.42, 0.2) * step(dark, least, 0.04))
    colored = np.maximum(tones.max(axis=-1) - tones.min(axis=-1), dark)
    cover = cover * step(colored, 0.07, 0.03) * (0.72 + 0.28 * flat.noise(24)) * (0.75 + 0.45 * tooth)
    paper = 0.965 - 0.03 * box_mean(tooth, 1)
    pencil = saturate(tones * 0.92, 1.2)
    # Strokes of the pencil under the things: where a hand would shade the ground.
    result = mix(np.stack([paper, paper, paper * 0.985], -1), pencil, np.clip(cover, 0, 0.95) * flat.things)
    # A loose horizon, scribbled in one go.
    down, _ = flat.position
    height = np.abs(down - HORIZON - 0.012 * (flat.noise(0, 1, 9) - 0.5))
    ground = step(-height, -0.0012, 0.0006) + 0.8 * step(-np.abs(height - 0.007), -0.0008, 0.0005)
    scribble = 0.5 + 0.5 * np.sin((columns * 0.8 + rows * 0.55 + bend) * (2 * np.pi / (8 * flat.unit)))
    ground = ground + 0.6 * step(scribble, 0.75, 0.15) * step(
        0.055 * flat.noise(0, 1, 7) - np.abs(down - 0.63), 0, 0.004
    )
    result = mix(result, (0.35, 0.35, 0.37), np.clip(ground, 0, 1) * (1 - flat.things) * (0.35 + 0.4 * tooth))
    return picture(mix(result, (0.17, 0.17, 0.19), np.clip(lines * pressure * (0.65 + 0.55 * tooth), 0, 1)))


def ink(flat: FlatDrawing) -> Image.Image:
    """Render in ink without colour: varying black brush lines, grey washes, blots and splashes on rice paper."""
    down = (flat.noise(14) - 0.5) * 8
    across = (flat.noise(14) - 0.5) * 8
    things = flat.warped(flat.things, down, across)
    tones = flat.warped(gray(flat.rgb), down, across)
    edges = flat.warped(np.maximum(flat.contours * flat.grown(flat.things, 2), _rim(flat.things)), down, across)
    fine = flat.warped(flat.texture_lines, down, across)
    # The brush: a thin line everywhere, swelling with pressure.
    soft = blur(edges, 2.5 * flat.unit)
    lines = step(soft, 0.34 - 0.24 * flat.noise(9), 0.05)
    streaks = flat.noise(0, 220, 30)
    lines *= 1 - 0.75 * step(streaks, 0.80, 0.05) * step(flat.noise(11), 0.55, 0.1)
    paper = np.array([0.955, 0.935, 0.885], np.float32) * (1 - 0.03 * flat.noise(120)[..., None])
    wash = (1 - tones) * things * (0.30 + 0.75 * flat.noise(10))
    pool = np.clip(blur(things, 1.5 * flat.unit) - blur(things, 10 * flat.unit), 0, 1) * things
    wash = np.clip(wash * 0.72 + 0.22 * pool, 0, 0.9)
    # A pale wet wash behind, which ran.
    mist = step(flat.noise(0, 12, 3) + 0.5 * (flat.noise(0, 70, 12) - 0.5), 0.66, 0.22) * 0.24
    mist = np.maximum(mist, 0.30 * np.clip(blur(things, 26 * flat.unit) - things, 0, 1))
    splash = plane(_splashes(flat))
    amount = np.maximum.reduce([wash, mist * (1 - things), lines * 0.97, fine * 0.8, splash * 0.93 * (1 - things)])
    return picture(mix(paper, (0.07, 0.07, 0.085), amount))


def _rim(things: Plane) -> Plane:
    rim = np.zeros_like(things)
    rim[:, 1:] = np.abs(np.diff(things, axis=1))
    rim[1:] = np.maximum(rim[1:], np.abs(np.diff(things, axis=0)))
    return rim


def _splashes(flat: FlatDrawing) -> Image.Image:
    """Draw a few blots with splashed drops near the border, where they hide nothing."""
    image = Image.new("L", (flat.size, flat.size), 0)
    pen = ImageDraw.Draw(image)
    random, u = flat.random, flat.unit
    for _ in range(5):
        side, position = random.randint(4), random.random_sample()
        x, y = [(position, 0.03), (position, 0.97), (0.03, position), (0.97, position)][side]
        x, y = x * flat.size, y * flat.size
        for number in range(34):
            away, turn = (random.random_sample() ** 2) * 95 * u, random.random_sample() * 2 * np.pi
            radius = 15 * u if number == 0 else max(0.6, (5.5 - away / u / 22) * u * random.random_sample())
            cx, cy = (x, y) if number == 0 else (x + away * np.cos(turn), y + away * np.sin(turn))
            pen.ellipse((cx - radius, cy - radius * 0.85, cx + radius, cy + radius * 0.85), fill=255)
    return image.filter(ImageFilter.GaussianBlur(0.7 * u))


def manga(flat: FlatDrawing) -> Image.Image:
    """Render as a black and white comic panel: screentone, solid blacks, speed lines and heavy contours."""
    size, u = flat.size, flat.unit
    tones = gray(flat.rgb)
    rows, columns = np.indices((size, size), np.float32)
    pitch = 7.5 * u
    across, down = (columns + rows) / (pitch * 1.4142), (columns - rows) / (pitch * 1.4142)
    distance = np.hypot(across - np.rint(across), down - np.rint(down))
    # The area of a dot is the darkness that it stands for.
    level = np.clip((0.86 - tones) / 0.75, 0, 1)
    lines = np.maximum(step(blur(flat.contours, 1.3 * u), 0.20, 0.08), step(flat.texture_lines, 0.5, 0.2))
    # Under the lines of a texture the screen is lighter, so that they are seen.
    level = level * (1 - 0.7 * flat.texture)
    dots = step(np.sqrt(level * 0.30) - distance, 0.0, 0.06) * step(level, 0.05, 0.02)
    inked = np.where((tones < 0.24) & (flat.texture < 0.5), 1.0, dots).astype(np.float32)
    around = flat.grown(flat.things, 14)
    back = plane(_speed_lines(flat)) * (1 - around)
    contour = np.clip(flat.grown(flat.things, 5) - flat.things, 0, 1)
    black = np.where(flat.things > 0.5, np.maximum(inked, lines), np.maximum(back, contour))
    image = picture(1 - black)
    pen = ImageDraw.Draw(image)
    gutter, frame = round(10 * u), max(2, round(5 * u))
    for inset in range(gutter):
        pen.rectangle((inset, inset, size - 1 - inset, size - 1 - inset), outline=255)
    pen.rectangle((gutter, gutter, size - 1 - gutter, size - 1 - gutter), outline=0, width=frame)
    return image.convert("RGB")


def _speed_lines(flat: FlatDrawing) -> Image.Image:
    """Draw speed lines: wedges from the border towards the middle."""
    image = Image.new("L", (flat.size, flat.size), 0)
    pen = ImageDraw.Draw(image)
    middle, random = flat.size / 2, flat.random
    for turn in np.sort(random.random_sample(190) * 2 * np.pi):
        inner, width = (0.30 + 0.30 * random.random_sample()) * flat.size, 0.004 + 0.011 * random.random_sample()
        outer = flat.size * 0.75
        tip = (middle + inner * np.cos(turn), middle + inner * np.sin(turn))
        ends = [(middle + outer * np.cos(turn + w), middle + outer * np.sin(turn + w)) for w in (-width, width)]
        pen.polygon([tip, *ends], fill=255)
    return image


def cartoon(flat: FlatDrawing) -> Image.Image:
    """Render in bright two-tone colours with thick black contours, a blue sky with puffy clouds and a green ground."""
    u = flat.unit
    # Thick lines: what is dark spreads.
    width = max(3, round(3 * u) | 1)
    thick = plane(flat.image.filter(ImageFilter.MinFilter(width)))
    tones = saturate(mix(flat.rgb, thick, step(gray(flat.rgb) - gray(thick), 0.12, 0.05) * (1 - flat.texture)), 1.3)
    tones = np.clip(tones * 1.06, 0, 1)
    # Cel shading: a hard shadow at the lower right of each thing, a hard light at the upper left.
    offset = round(13 * u)
    solid = step(blur(flat.things, 5 * u), 0.5, 0.05)
    wide = step(blur(flat.things, 14 * u), 0.75, 0.1)  # thin things would be all shade
    shadow = wide * flat.things * (1 - np.roll(solid, (-offset, -offset), (0, 1)))
    light = flat.things * (1 - np.roll(solid, (round(offset * 0.6),) * 2, (0, 1)))
    tones = tones * (1 - 0.26 * shadow[..., None])
    tones = mix(tones, (1.0, 1.0, 1.0), 0.35 * light * (1 - shadow))
    back = plane(_cartoon_ground(flat))
    drop = np.roll(flat.grown(flat.things, 3), (round(14 * u), round(11 * u)), (0, 1))
    back = back * (1 - 0.28 * drop[..., None])
    contour = flat.grown(flat.things, 8)
    result = mix(mix(back, (0.04, 0.04, 0.06), contour), tones, flat.things)
    return picture(result)


def _cartoon_ground(flat: FlatDrawing) -> Image.Image:
    size, u, random = flat.size, flat.unit, flat.random
    image = Image.new("RGB", (size, size), "#6fcdf6")
    pen = ImageDraw.Draw(image)
    line, black = max(2, round(5 * u)), "#10141c"
    for x, y, scale in ((150, 120, 1.0), (560, 85, 0.8), (850, 200, 1.05), (340, 300, 0.7)):
        x, y = x + random.randint(-60, 60), y + random.randint(-30, 30)
        puffs = [(-70, 12, 38), (-25, -14, 52), (35, -6, 46), (80, 16, 32)]
        for grow, fill in ((line, black), (0, "#ffffff")):
            for dx, dy, radius in puffs:
                cx, cy, r = (x + dx * scale) * u, (y + dy * scale) * u, radius * scale * u + grow
                pen.ellipse((cx - r, cy - r * 0.85, cx + r, cy + r * 0.85), fill=fill)
    floor = 620 * u
    pen.rectangle((0, floor, size, size), fill="#7ed957")
    pen.line((0, floor, size, floor), fill=black, width=line)
    for _ in range(26):
        root, foot = random.randint(0, size), floor + (0.06 + 0.9 * random.random_sample()) * (size - floor)
        for dx in (-9, 0, 9):
            tip = (root + dx * u, foot - (16 if dx else 22) * u)
            pen.line((root, foot, *tip), fill="#2e8b2e", width=max(2, round(4 * u)))
    return image
