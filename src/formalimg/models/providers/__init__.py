"""Model providers: one module per vendor, each with the factories for its entry points."""
