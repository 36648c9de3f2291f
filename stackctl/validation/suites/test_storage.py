"""Storage: the layout as it was read back from the disks, and as a reboot will find it."""

from typing import Any

import pytest

from stackctl.hardware.machine import Machine
from stackctl.hardware.tables import mdadm_conf
from stackctl.node import collect
from stackctl.site.models import Layout
from stackctl.storage import readback
from stackctl.validation import expect
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.layers import Layers
from stackctl.validation.probes import initramfs
from stackctl.validation.volumes import layout_of

CONF = "etc/mdadm/mdadm.conf"


@pytest.fixture(scope="module")
def layout(target: Target) -> Layout:
    """The host's layout in the site."""
    return layout_of(target["storage_layout"])


@pytest.fixture(scope="module")
def machine(node: Node, layout: Layout) -> Machine:
    """All that lies on the host's disks, from one command."""
    folders = list(layout.mounts.values())
    return Machine.from_facts(node.ask(collect.collect, paths=folders))


@pytest.fixture(scope="module")
def layers(layout: Layout, machine: Machine) -> Layers:
    """What was read back of the layout, layer by layer."""
    return Layers(readback.check(layout, machine))


@pytest.fixture(scope="module")
def images(node: Node, machine: Machine) -> Any:
    """mdadm.conf as it lies in the boot images."""
    return node.ask(initramfs.file_in, images=sorted(machine.initramfs), name=CONF)


def test_facts(machine: Machine) -> None:
    """The disks can be read, and the tools are there."""
    missing = [f"{program} is not installed" for program in machine.missing]
    expect.nothing([*missing, *machine.errors])


def test_partitions(layers: Layers) -> None:
    """The partitions are the stack's, and their tables are whole."""
    layers.right("partition")


def test_array(layers: Layers) -> None:
    """The array has the layout's level and chunk, and all of its members."""
    layers.right("array")


def test_volumes(layers: Layers) -> None:
    """The volume group and its volumes are those of the layout."""
    layers.right("volume group", "volume")


def test_partition_alignment(layers: Layers) -> None:
    """Partitions begin on their disks' blocks, md's data on the chunk."""
    layers.right("alignment, partition", "alignment, md data", "alignment, md data offset")


def test_lvm_alignment(layers: Layers) -> None:
    """LVM's data, extents and volumes begin on the stripe."""
    layers.right("alignment, PV data", "alignment, extent", "alignment, LV")


def test_file_system_alignment(layers: Layers) -> None:
    """The file systems know the array's chunk and stripe, XFS's log too."""
    layers.right(
        "file system",
        "alignment, XFS stripe unit",
        "alignment, XFS stripe width",
        "alignment, XFS log unit",
        "alignment, ext4 stripe unit",
        "alignment, ext4 stripe width",
    )


def test_mounts(layers: Layers) -> None:
    """Every volume is mounted in its place with the right options; swap space is in use."""
    layers.right("mount", "swap")


def test_fstab(layers: Layers) -> None:
    """fstab mounts every volume by its UUID."""
    layers.right("fstab")


def test_mdadm_conf(layers: Layers) -> None:
    """mdadm.conf names the array."""
    layers.right("mdadm.conf")


def test_initramfs(layers: Layers, machine: Machine, images: Any) -> None:
    """Every boot image carries mdadm.conf with the array."""
    if not machine.mdadm_conf:
        pytest.skip("mdadm.conf names no array")
    wrong: list[str] = []
    for image, found in images.items():
        if found["wrong"] is not None:
            wrong.append(f"{image}: {found['wrong']}")
        elif lost := set(machine.mdadm_conf) - set(mdadm_conf(found["text"])):
            names = ", ".join(sorted(entry.device for entry in lost))
            wrong.append(f"{image}: its /{CONF} does not name {names} as the server's own does")
    expect.nothing([*wrong, *layers.wrong("initramfs")])
