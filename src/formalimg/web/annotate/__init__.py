"""Browser pages on which raters judge images, and progress for the organiser of the study."""
