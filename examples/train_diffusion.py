r"""Train a diffusion model on the reward of a judge: diffusers, LoRA, and a policy gradient through DDIM.

A vision-language model looks at the images; here it is served on the same machine. Any text-to-image pipeline of the
Stable Diffusion 1 and 2 family will do:

    vllm serve Qwen/Qwen3-VL-8B-Instruct --port 8000
    formalimg export conceptmix --trainer flow_grpo --levels 1,2 --out data/conceptmix
    python examples/train_diffusion.py --model MODEL --data data/conceptmix/train_metadata.jsonl \
        --judge openai/Qwen/Qwen3-VL-8B-Instruct -J base_url=http://127.0.0.1:8000/v1 -J concurrency=32

A whole group of images is given to the reward at once, so that the judge is asked about all of them at the same time.
An image without a reward has no influence on training: a 0 would teach the model to avoid what the judge cannot read.
Without `--judge`, FORMALIMG_URL, FORMALIMG_JUDGE or formalimg.toml say who looks.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from diffusers import DDIMScheduler, DiffusionPipeline
from peft import LoraConfig

from formalimg.rewards.trainers import formalimg_score


class Trajectory(NamedTuple):
    """How the images of a group came about: their latents before each step and after the last."""

    images: np.ndarray
    latents: list[torch.Tensor]
    words: torch.Tensor


def open_pipeline(model: str, device: str, rank: int) -> Any:
    """Return the pipeline with DDIM as its sampler, and a LoRA as all that is trained."""
    pipeline = DiffusionPipeline.from_pretrained(model).to(device)
    pipeline.scheduler = DDIMScheduler.from_config(pipeline.scheduler.config)
    pipeline.set_progress_bar_config(disable=True)
    for part in (pipeline.vae, pipeline.text_encoder, pipeline.unet):
        part.requires_grad_(False)
    pipeline.unet.add_adapter(LoraConfig(r=rank, lora_alpha=rank, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
    return pipeline


def predict(pipeline: Any, latents: torch.Tensor, words: torch.Tensor, timestep: Any, guidance: float) -> torch.Tensor:
    """Return the predicted noise, with guidance."""
    noise = pipeline.unet(torch.cat([latents] * 2), timestep, encoder_hidden_states=words).sample
    without, with_words = noise.chunk(2)
    return without + guidance * (with_words - without)


def step_distribution(
    pipeline: Any, noise: torch.Tensor, timestep: Any, latents: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and standard deviation of the latents after a step of DDIM with eta = 1."""
    mean, shifted = (
        pipeline.scheduler.step(noise, timestep, latents, eta=1.0, variance_noise=variance).prev_sample
        for variance in (torch.zeros_like(latents), torch.ones_like(latents))
    )
    return mean, (shifted - mean).detach()


def sample(pipeline: Any, prompt: str, options: argparse.Namespace, chance: torch.Generator) -> Trajectory:
    """Return a group of images of a prompt, and how they came about."""
    with_words, without = pipeline.encode_prompt(prompt, pipeline.device, options.group, True)
    words = torch.cat([without, with_words])
    pipeline.scheduler.set_timesteps(options.steps, device=pipeline.device)
    side = options.size // pipeline.vae_scale_factor
    shape = (options.group, pipeline.unet.config.in_channels, side, side)
    latents = [torch.randn(shape, generator=chance).to(pipeline.device)]
    for timestep in pipeline.scheduler.timesteps:
        noise = predict(pipeline, latents[-1], words, timestep, options.guidance)
        mean, deviation = step_distribution(pipeline, noise, timestep, latents[-1])
        latents.append(mean + deviation * torch.randn(shape, generator=chance).to(pipeline.device))
    decoded = pipeline.vae.decode(latents[-1] / pipeline.vae.config.scaling_factor).sample
    images = pipeline.image_processor.postprocess(decoded, output_type="np")
    return Trajectory(images, latents, words)


def learn(pipeline: Any, found: Trajectory, advantages: torch.Tensor, guidance: float) -> None:
    """Add the gradient of a group: steps that led to rewards above the mean become likelier."""
    timesteps = pipeline.scheduler.timesteps
    for timestep, before, after in zip(timesteps, found.latents, found.latents[1:], strict=False):
        noise = predict(pipeline, before, found.words, timestep, guidance)
        mean, deviation = step_distribution(pipeline, noise, timestep, before)
        if deviation.max() < 1e-4:  # the last step of some schedules, which has no choice
            continue
        likelihood = -((after - mean) ** 2 / (2 * deviation**2)).mean(dim=(1, 2, 3))
        (-(advantages * likelihood).mean() / len(timesteps)).backward()


def group_advantages(scores: np.ndarray) -> torch.Tensor:
    """Return the advantage of each image within its group; 0 for those without a reward."""
    known = ~np.isnan(scores)
    if not known.any():
        return torch.zeros(len(scores))
    advantages = np.where(known, (scores - scores[known].mean()) / (scores[known].std() + 1e-6), 0.0)
    return torch.tensor(advantages, dtype=torch.float32)


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """Train, print the mean reward of each round, and return these."""
    options = parser().parse_args(arguments)
    rows = [json.loads(line) for line in Path(options.data).read_text(encoding="utf-8").splitlines()]
    judge_options = dict(option.split("=", 1) for option in options.judge_option)
    rewards = formalimg_score(options.device, judge=options.judge, judge_options=judge_options, missing="nan")
    pipeline = open_pipeline(options.model, options.device, options.rank)
    trained = [parameter for parameter in pipeline.unet.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, options.learning_rate)
    choice, chance, means = np.random.default_rng(options.seed), torch.Generator().manual_seed(options.seed), []
    for number in range(1, options.rounds + 1):
        seen: list[float] = []
        for index in choice.choice(len(rows), options.prompts, replace=False):
            with torch.no_grad():
                found = sample(pipeline, rows[index]["prompt"], options, chance)
            group = [rows[index]] * options.group
            scores, details = rewards(found.images, [row["prompt"] for row in group], group)
            learn(pipeline, found, group_advantages(scores).to(pipeline.device), options.guidance)
            seen += [score for score in scores if not np.isnan(score)]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        means.append(float(np.mean(seen)) if seen else float("nan"))
        print(f"round {number}: mean reward {means[-1]:.3f} of {len(seen)} images; first: {details['reason'][0][:80]}")
    if options.out:
        pipeline.unet.save_lora_adapter(options.out)
    return means


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--model", required=True, help="a pipeline of the Stable Diffusion 1 or 2 family")
    found.add_argument("--data", required=True, help="rows as formalimg export --trainer flow_grpo writes them")
    found.add_argument("--judge", help="a chat model that can see, such as openai/Qwen/Qwen3-VL-8B-Instruct")
    found.add_argument("-J", "--judge-option", action="append", default=[], metavar="KEY=VALUE")
    found.add_argument("--out", help="folder for the trained LoRA")
    found.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, default in (("rounds", 100), ("prompts", 4), ("group", 16), ("steps", 20), ("size", 512), ("rank", 16)):
        found.add_argument(f"--{name}", type=int, default=default)
    found.add_argument("--guidance", type=float, default=5.0)
    found.add_argument("--learning-rate", type=float, default=3e-4)
    found.add_argument("--seed", type=int, default=0)
    return found


if __name__ == "__main__":
    main()
