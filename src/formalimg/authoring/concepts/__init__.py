"""How items of ConceptMix are written: concepts drawn by us, words and questions by a chat model (paper, 2.3 and C)."""
