"""Human ratings in the browser: one page per rater, and a progress page for the organiser of the study."""
