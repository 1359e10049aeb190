"""Train on the dense reward, in process: group-relative policy optimization, with a toy in place of a model.

Run it with `python examples/reward_in_process.py`. The toy puts three objects on a canvas, each around some point, and
finds out from rewards alone where the instruction wants them. Put your own pipeline where `Toy` is: `reward_function`
takes what trainers of the Flow-GRPO kind hand over (a batch of images, prompts, metadata), and gives back an array of
scores with details.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import formalimg
from formalimg.rewards import reward_function
from formalimg.scenes import draw

PROMPT = "A red cup to the left of a gray fork, which is above a blue pen; the pen is in the lower half, on the right."
ASKED = {
    "formula": """(exists ?c (exists ?f (exists ?p (and (Is ?c 'cup') (Has ?c 'red') (Is ?f 'fork') (Has ?f 'gray')
        (Is ?p 'pen') (Has ?p 'blue') (LeftOf ?c ?f) (Above ?f ?p) (OnBottomSide ?p) (OnRightSide ?p)))))""",
    "vocabulary": "knolling",
}
OBJECTS = (("cup", "red"), ("fork", "gray"), ("pen", "blue"))
GROUP, ROUNDS = 8, 30


class Toy:
    """A model that puts objects around some points; the points are what it learns."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.points = self.chance.uniform(200, 800, (len(OBJECTS), 2))

    def sample(self) -> NDArray[np.float64]:
        """Where objects are put this time."""
        return np.clip(self.points + self.chance.normal(0, 90, self.points.shape), 80, 920).round()

    def paint(self, sample: NDArray[np.float64]) -> Image.Image:
        """The image of it."""
        objects = [
            formalimg.SceneObject(label, formalimg.Box(x - 60, y - 60, x + 60, y + 60), color)
            for (label, color), (x, y) in zip(OBJECTS, sample.tolist(), strict=True)
        ]
        return draw(formalimg.Scene.of(objects), 256)

    def learn(self, samples: Sequence[NDArray[np.float64]], advantages: NDArray[np.float64]) -> None:
        """Move towards what did better than the others of its group, and away from what did worse."""
        for sample, advantage in zip(samples, advantages, strict=True):
            self.points += advantage * (sample - self.points) / len(samples)


def main(seed: int = 1) -> float:
    """Learn one instruction, and print how the reward grows; the last mean reward is given back."""
    toy, rewards = Toy(seed), reward_function(missing="nan")
    for number in range(1, ROUNDS + 1):
        samples = [toy.sample() for _ in range(GROUP)]
        scores, details = rewards([toy.paint(sample) for sample in samples], [PROMPT] * GROUP, [ASKED] * GROUP)
        # Objects that cover each other cannot be read back. Nobody knows what such images deserve: they teach nothing.
        known = ~np.isnan(scores)
        mean, passed = float(scores[known].mean()), details["passed"].count(True)
        print(f"round {number:2}: mean reward {mean:.2f}, {passed} of {GROUP} pass, {details['unscored']} not scored")
        if passed == GROUP:
            break
        advantages = np.where(known, (scores - mean) / (scores[known].std() + 1e-6), 0)
        toy.learn(samples, advantages)
    print("what the first image lacks:", details["reason"][0] or "nothing")
    return mean


if __name__ == "__main__":
    main()
