"""Images of machines: definition -> root file system -> disk -> formats."""

from stackctl.image.build import build

__all__ = ["build"]
