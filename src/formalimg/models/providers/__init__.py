"""Model providers: one module per vendor, each with the factories its entry points name."""
