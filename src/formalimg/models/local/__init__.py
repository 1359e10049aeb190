"""Models on this machine: pipelines of diffusers, vision-language models of transformers."""
