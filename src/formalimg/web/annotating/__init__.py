"""The human judge as a site: a page for each rater, and one for whoever runs the study."""

from formalimg.web.annotating.app import make_annotation_app
from formalimg.web.annotating.serving import serve_study

__all__ = ["make_annotation_app", "serve_study"]
