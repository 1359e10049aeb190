"""Caption studies: count mentioned categories of visual concepts and their co-occurrence (ConceptMix, section 4.5)."""
