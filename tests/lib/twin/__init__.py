"""A twin of a server for tests: disks, arrays, volumes as values, shown as files and as what tools say.

The node's own code runs against it: it reads the twin's sysfs below a folder, and its commands change the twin.
It can lose power before, in the middle of, or after any write.
"""

from twin.server import PowerCut, TwinServer, blank_server
from twin.state import Array, Disk, Filesystem, Group, Part, Signature, Volume

__all__ = [
    "Array",
    "Disk",
    "Filesystem",
    "Group",
    "Part",
    "PowerCut",
    "Signature",
    "TwinServer",
    "Volume",
    "blank_server",
]
