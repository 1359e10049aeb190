"""Scripts for maintainers: what is drawn, counted or generated for the package and its documentation."""
