"""From bare disks to a validated private cloud and search stack, from one description of a site."""

__version__ = "0.1.0"
