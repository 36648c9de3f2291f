"""Where a service's data lies, against the layout as the inventory has it: defaults left out."""

from types import SimpleNamespace

import pytest

from stackctl.site.models import Layout
from stackctl.site.variables import layout_as_plain
from stackctl.validation.volumes import wrong_place

LAYOUT = Layout.model_validate(
    {
        "disks": {"count": 4},
        "volumes": {
            "database": {"size": "50%", "mount": "/srv/database"},
            "index": {"size": "10%", "mount": "/srv/index", "filesystem": "ext4"},
            "swap": {"size": "1 GiB", "filesystem": "swap"},
        },
    }
)
TARGET = {"storage_layout": {"name": "raid10", **layout_as_plain(LAYOUT)}}


def seen(folder, mount, kind):
    return SimpleNamespace(
        paths={folder: SimpleNamespace(directory=True, mount=mount)},
        mount_at=lambda path: SimpleNamespace(type=kind) if path == mount else None,
    )


@pytest.mark.parametrize(
    ("folder", "mount", "kind", "wrong"),
    [
        ("/srv/database/mysql", "/srv/database", "xfs", None),
        ("/srv/index/main", "/srv/index", "ext4", None),
        ("/srv/index/main", "/srv/index", "xfs", "/srv/index/main lies on xfs, not on ext4"),
        (
            "/srv/database/mysql",
            "/",
            "ext4",
            "/srv/database/mysql lies on the file system mounted at /, not on a volume of the layout",
        ),
    ],
)
def test_it_lies_where_the_layout_says(folder, mount, kind, wrong):
    assert wrong_place(TARGET, seen(folder, mount, kind), folder) == wrong


def test_what_is_meant_to_lie_elsewhere_is_not_looked_at():
    with pytest.raises(pytest.skip.Exception, match="outside of the layout's volumes"):
        wrong_place(TARGET, seen("/var/lib/mysql", "/", "ext4"), "/var/lib/mysql")
