"""Tiny pipelines of the three great families, saved as anyone saves a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests_local.tiny.words import clip_tokenizer, t5_tokenizer


def save_tiny_sd(folder: Path, safety_checker: Any = None) -> Path:
    """Stable Diffusion."""
    import torch
    from diffusers import DDIMScheduler, StableDiffusionPipeline
    from transformers import CLIPImageProcessorPil, CLIPTextModel

    torch.manual_seed(1)
    tokenizer = clip_tokenizer()
    pipeline = StableDiffusionPipeline(
        vae=_vae(4),
        text_encoder=CLIPTextModel(_clip_text(len(tokenizer))),
        tokenizer=tokenizer,
        unet=_unet(cross_attention_dim=32),
        scheduler=DDIMScheduler(
            beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False, steps_offset=1
        ),
        safety_checker=safety_checker,
        feature_extractor=CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
        if safety_checker
        else None,
        requires_safety_checker=safety_checker is not None,
    )
    return _saved(pipeline, folder)


def save_tiny_sdxl(folder: Path) -> Path:
    """Stable Diffusion XL."""
    import torch
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(2)
    tokenizer = clip_tokenizer()
    pipeline = StableDiffusionXLPipeline(
        vae=_vae(4),
        text_encoder=CLIPTextModel(_clip_text(len(tokenizer))),
        text_encoder_2=CLIPTextModelWithProjection(_clip_text(len(tokenizer))),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=_unet(
            cross_attention_dim=64,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + 32,
            attention_head_dim=(2, 2),
            use_linear_projection=True,
        ),
        scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear", timestep_spacing="leading"),
        add_watermarker=False,
    )
    return _saved(pipeline, folder)


def save_tiny_flux(folder: Path) -> Path:
    """Flux."""
    import torch
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel
    from transformers import CLIPTextModel, T5Config, T5EncoderModel

    torch.manual_seed(3)
    tokenizer, roomy = clip_tokenizer(), t5_tokenizer()
    t5 = T5Config(vocab_size=len(roomy), d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4)
    pipeline = FluxPipeline(
        vae=_vae(1, shift_factor=0.0609, scaling_factor=1.5035, use_quant_conv=False, use_post_quant_conv=False),
        text_encoder=CLIPTextModel(_clip_text(len(tokenizer))),
        text_encoder_2=T5EncoderModel(t5),
        tokenizer=tokenizer,
        tokenizer_2=roomy,
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
    )
    return _saved(pipeline, folder)


TINY_PIPELINES: Mapping[str, Callable[[Path], Path]] = {
    "StableDiffusionPipeline": save_tiny_sd,
    "StableDiffusionXLPipeline": save_tiny_sdxl,
    "FluxPipeline": save_tiny_flux,
}
"""How each of them is built, by the name of its class."""


def _vae(channels: int, **more: Any) -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(8, 8, 8, 8),
        norm_num_groups=4,
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        latent_channels=channels,
        sample_size=64,
        **more,
    )


def _unet(**more: Any) -> Any:
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        block_out_channels=(16, 32),
        norm_num_groups=8,
        layers_per_block=1,
        sample_size=8,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        **more,
    )


def _clip_text(vocabulary: int) -> Any:
    from transformers import CLIPTextConfig

    return CLIPTextConfig(
        vocab_size=vocabulary,
        bos_token_id=vocabulary - 2,
        eos_token_id=vocabulary - 1,
        pad_token_id=vocabulary - 1,
        hidden_size=32,
        projection_dim=32,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=2,
    )


def _saved(pipeline: Any, folder: Path) -> Path:
    pipeline.set_progress_bar_config(disable=True)
    pipeline.save_pretrained(folder)
    return folder


def strict_safety_checker() -> Any:
    """One that takes offence at every image."""
    import torch
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig

    narrow = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision = {**narrow, "image_size": 32, "patch_size": 8}
    checker = StableDiffusionSafetyChecker(CLIPConfig(text_config=narrow, vision_config=vision, projection_dim=32))
    torch.nn.init.constant_(checker.concept_embeds_weights, -1.0)  # how near an image must be to what is banned
    return checker


def save_tiny_lora(pipeline: Path, folder: Path) -> Path:
    """A LoRA for the tiny Stable Diffusion, with weights that show."""
    import torch
    from diffusers import StableDiffusionPipeline
    from diffusers.utils import convert_state_dict_to_diffusers
    from peft import LoraConfig
    from peft.utils import get_peft_model_state_dict

    torch.manual_seed(8)
    loaded = StableDiffusionPipeline.from_pretrained(pipeline, local_files_only=True)
    loaded.unet.add_adapter(LoraConfig(r=2, init_lora_weights=False, target_modules=["to_q", "to_k", "to_v"]))
    weights = convert_state_dict_to_diffusers(get_peft_model_state_dict(loaded.unet))
    StableDiffusionPipeline.save_lora_weights(folder, unet_lora_layers=weights)
    return folder
