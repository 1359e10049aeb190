"""A reward for trainers like Flow-GRPO, from a reward server or in process: the numbers are the same.

Such trainers have a registry of functions that create a reward: add `formalimg_score` to it. The reward function is
called with a batch of images (a tensor or an array, or a list of images), their prompts and their metadata, and
returns an array of scores, and details. The metadata of an image contain its task: `suite` and `id`, or `formula`
and `vocabulary`, or `questions`; a dataset of prompts has them in each line.

Say who looks at the images, a chat model that can see, or a reward server beside the trainer:

    FORMALIMG_JUDGE=openai/Qwen/Qwen3-VL-8B-Instruct OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python train.py
    FORMALIMG_URL=http://127.0.0.1:8424 python train.py          # formalimg serve --judge … on any machine

Without, drawings by formalimg are scored in this process. `python examples/flow_grpo_reward.py` runs a demo. Unscored
images are NaN: leave them out of their group, because a 0 would teach the model to avoid what the judge cannot read.
"""

from __future__ import annotations

import numpy as np

import formalimg
from formalimg.drawing import draw
from formalimg.rewards.trainers import formalimg_score


def advantages(scores: np.ndarray) -> np.ndarray:
    """Return the group-relative advantage of each image; 0 for unscored ones."""
    known = ~np.isnan(scores)
    if not known.any():
        return np.zeros_like(scores)
    return np.where(known, (scores - scores[known].mean()) / (scores[known].std() + 1e-6), 0.0)


def main() -> np.ndarray:
    """Score a group of three images for one prompt: a correct one, a wrong one, and one that cannot be read."""
    item, other = formalimg.load("knolling")[100:102]
    group = np.stack([np.asarray(draw(scene, 256)) for scene in (item.spec.witness, other.spec.witness)])
    noise = np.random.default_rng(0).integers(0, 256, (1, 256, 256, 3), np.uint8)
    metadata = [{"suite": item.suite, "id": item.id}] * 3
    scores, details = formalimg_score("cuda", missing="nan")(
        np.concatenate([group, noise]), [item.prompt] * 3, metadata
    )
    for score, advantage, reason in zip(scores, advantages(scores), details["reason"], strict=True):
        print(f"score {score:.2f}, advantage {advantage:+.2f}: {reason[:90] or 'all that was asked for'}")
    return scores


if __name__ == "__main__":
    main()
