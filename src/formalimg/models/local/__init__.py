"""Local models: diffusers pipelines and transformers vision-language models."""
