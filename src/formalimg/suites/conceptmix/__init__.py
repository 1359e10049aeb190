"""ConceptMix: an object and k random visual concepts, put into words and asked after one by one."""
