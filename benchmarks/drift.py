"""False alarms and power of the drift test (`formalimg.stats.drift_evidence`), by simulation.

A judge answers about an anchor set, twice at first. Its answers differ from the first ones with a chance of its own for
each image: most images are clear, some are not. Later looks take images at random. A changed judge answers some images
the other way round: as many as its accuracy has fallen by.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import lgamma, log

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.judge_error import DRIFT_ALARM, DRIFTED, NOISE, AnchorLook, change_points, drift_evidence

NOISES = (0.0, 0.02, 0.05, 0.1)
FALLS = (0.05, 0.1, 0.2)
_UNCLEAR = 0.25
"""The share of images that are not clear, and have all of the noise."""
_SOON = 50

Counts = NDArray[np.int64]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--judges", type=int, default=2000, help="judges of each kind (default 2000)")
    options.add_argument("--looks", type=int, default=1000, help="looks at each unchanged judge (default 1000)")
    options.add_argument("--images", type=int, default=200, help="images of the anchor set (default 200)")
    options.add_argument("--looks-per", type=int, default=40, help="images of each look (default 40)")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    rng = np.random.default_rng(chosen.seed)
    images, asked, judges = chosen.images, chosen.looks_per, chosen.judges
    print(f"| unchanged judge, noise | ever an alarm in {chosen.looks:,} looks |\n| ---: | --- |")
    for noise in NOISES:
        first = first_alarms(*simulate(rng, noise, 0.0, 0, chosen.looks, images, asked, judges), images, asked)
        found = int((first > 0).sum())
        low, high = clopper_pearson(found, judges)
        print(f"| {noise:.0%} | {found} of {judges:,} ({low:.2%}–{high:.2%}) |", flush=True)
    heads = " | ".join(f"accuracy falls by {100 * fall:.0f} points" for fall in FALLS)
    print(f"\n| noise | quiet looks before | {heads} |\n| ---: | ---: | --- | --- | --- |")
    for quiet in (0, 30):
        for noise in NOISES:
            cells = []
            for fall in FALLS:
                drawn = simulate(rng, noise, fall, quiet, quiet + _SOON, images, asked, judges)
                late = (alarms := first_alarms(*drawn, images, asked))[alarms > quiet] - quiet
                median = f", median look {np.median(late):.0f}" if len(late) else ""
                cells.append(f"{len(late) / judges:.0%}{median}")
            print(f"| {noise:.0%} | {quiet} | {' | '.join(cells)} |", flush=True)


def simulate(
    rng: Generator, noise: float, fall: float, quiet: int, looks: int, images: int, asked: int, judges: int
) -> tuple[Counts, Counts]:
    """The changed answers of the second pass, and of each look (judges by looks), of judges of one kind."""
    unclear = round(_UNCLEAR * images)
    chance = noise * images / unclear
    second = rng.binomial(unclear, chance, judges)
    # Unclear and clear images that are answered as before, and those answered the other way round.
    turned = rng.hypergeometric(unclear, images - unclear, round(fall * images), judges) if fall else np.zeros(judges)
    groups = np.stack([unclear - turned, turned, images - unclear - (round(fall * images) - turned)]).astype(np.int64)
    changed = np.empty((judges, looks), dtype=np.int64)
    for look in range(looks):
        if look < quiet or not fall:
            changed[:, look] = rng.binomial(rng.hypergeometric(unclear, images - unclear, asked, judges), chance)
            continue
        kept_unclear = rng.hypergeometric(groups[0], images - groups[0], asked)
        left, rest = images - groups[0], asked - kept_unclear
        turned_unclear = rng.hypergeometric(groups[1], left - groups[1], rest)
        clear = rng.hypergeometric(groups[2], left - groups[1] - groups[2], rest - turned_unclear)
        turned_clear = rest - turned_unclear - clear
        noisy = rng.binomial(kept_unclear, chance) + rng.binomial(turned_unclear, 1 - chance)
        changed[:, look] = noisy + turned_clear
    _check(second, changed[:, :20], images, asked)
    return second, changed


def first_alarms(second: Counts, changed: Counts, images: int, asked: int) -> Counts:
    """The number of the look that first raises an alarm, for each judge; 0 if none does."""
    first = np.zeros(len(second), dtype=np.int64)
    for look, values in enumerate(e_values(second, changed, images, asked), 1):
        first[(first == 0) & (values >= DRIFT_ALARM)] = look
    return first


def e_values(second: Counts, changed: Counts, images: int, asked: int) -> Sequence[NDArray[np.float64]]:
    """The e-values of all judges at once, look by look: the same as `drift_evidence`, from tables of logarithms."""
    judges, looks = changed.shape
    most = images + looks * asked + 1
    entropy = np.array([0.0, *(n * log(n) for n in range(1, most))])
    averages = [
        [np.array([lgamma(n + shift) for n in range(most)]) for shift in (a, b, a + b)] for a, b in (NOISE, DRIFTED)
    ]
    constants = [lgamma(a) + lgamma(b) - lgamma(a + b) for a, b in (NOISE, DRIFTED)]
    total = np.concatenate([second[:, None], changed], axis=1).cumsum(axis=1)

    def largest(n: int, count: Counts) -> NDArray[np.float64]:
        return np.asarray(entropy[count] + entropy[n - count] - entropy[n])

    def average(which: int, n: int, count: Counts) -> NDArray[np.float64]:
        of_changed, of_stayed, of_all = averages[which]
        return np.asarray(of_changed[count] + of_stayed[n - count] - of_all[n] - constants[which])

    found = []
    for look in range(1, looks + 1):
        value = np.zeros(judges)
        for number, start in enumerate(change_points(look), 1):
            n_early, n_late = images + start * asked, (look - start) * asked
            early, late = total[:, start], total[:, look] - total[:, start]
            pooled = largest(n_early + n_late, early + late)
            apart = largest(n_early, early) + largest(n_late, late)
            without = np.where(late * n_early > early * n_late, pooled, apart)
            ratio = average(0, n_early, early) + average(1, n_late, late) - without
            value += np.exp(np.minimum(ratio, 700)) / (number * (number + 1))
        found.append(value)
    return found


def _check(second: Counts, changed: Counts, images: int, asked: int) -> None:
    """Check some of the e-values against those of the library."""
    values = e_values(second, changed, images, asked)
    for judge in range(0, len(second), max(1, len(second) // 5)):
        looks = [AnchorLook(asked, int(count)) for count in changed[judge]]
        known = drift_evidence(AnchorLook(images, int(second[judge])), looks).e
        assert abs(values[-1][judge] - known) <= 1e-8 * known, (values[-1][judge], known)


if __name__ == "__main__":
    main()
