"""The reader: an image model that understands simple instructions and loses the thread of long ones."""

from formalimg.baselines.reader.imagining import MEMORY, imagine

__all__ = ["MEMORY", "imagine"]
