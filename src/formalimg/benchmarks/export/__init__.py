"""Export of suites for others to use and cite: items with a data sheet, Croissant metadata and a licence note."""
