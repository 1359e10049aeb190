"""Authoring of ConceptMix items: concepts are sampled, then a chat model writes captions and questions (2.3, C)."""
