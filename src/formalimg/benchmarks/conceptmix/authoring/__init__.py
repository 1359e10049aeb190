"""Authoring of ConceptMix: we draw concepts, a chat model writes captions and questions (paper, 2.3 and C)."""
