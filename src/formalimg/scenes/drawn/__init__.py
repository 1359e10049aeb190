"""The drawn worlds of Natural and ConceptMix: icons with materials, shapes and states, laid out in depth."""
