"""ConceptMix: an object and k random visual concepts, stated in a prompt and judged one yes/no question each."""
