"""Masked dumps: nothing of the owner is left in them, and they give the same plan in masked names."""

import json
import re
from pathlib import Path
from uuid import UUID

import jsonschema
import pytest
from controlled import facts_with, record
from layouts import apply, layout
from machines import GPT, MIB, TB, Disk, Part, Upper, Volumes, blank, machine, member
from shelf import SHELF
from twin import PowerCut, blank_server
from twin.raw import beginning, xfs_superblock
from twin.state import Filesystem

from stackctl.errors import StackctlError
from stackctl.hardware import array
from stackctl.hardware.dump import Dump
from stackctl.hardware.filesystem import READERS
from stackctl.hardware.kinds import Kind
from stackctl.hardware.machine import Machine
from stackctl.hardware.mask import Mask, masked
from stackctl.hardware.mask_kinds import Rewriter
from stackctl.hardware.mask_words import Words
from stackctl.node.execute import execute
from stackctl.node.signatures import _RAW
from stackctl.site.models import Layout
from stackctl.site.schema import json_schema
from stackctl.storage.planner import plan

MACHINES = Path(__file__).parents[2] / "machines"
EXPECTED = json.loads((MACHINES / "expected.json").read_text())
RECORDED = {name: json.loads((MACHINES / f"{name}.json").read_text()) for name in EXPECTED}
SCHEMA = jsonschema.Draft202012Validator(json_schema(Dump, "machine"))
SAID = "its partition table may be lost"
"""A machine has a label `lost`."""
HEX = "[0-9a-f]{32}"
ARRAY = "b66a7cff-8894-96ed-524c-797b35651958"
OTHER = "b66a7cff-8894-96ed-524c-797b35651959"


def spoken(mask: Mask, value: object) -> object:
    """What is said of the real machine, in masked words."""
    words = mask.words()
    spelled = {word: hidden for word, hidden in words.items() if len(word) > 2}
    spelled |= {str(UUID(word)): str(UUID(hidden)) for word, hidden in words.items() if re.fullmatch(HEX, word)}
    longest = sorted(map(re.escape, spelled), key=len, reverse=True)
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(longest)})(?![A-Za-z0-9])")
    text = json.dumps(value).replace(SAID, "\0")
    return json.loads(pattern.sub(lambda match: spelled[match[0]], text).replace("\0", SAID))


def told(host: str, wanted: Layout, facts: dict, wipe: frozenset = frozenset()) -> object:
    """The plan as plain values, or the words of the refusal."""
    try:
        plain = plan(host, wanted, Machine.from_facts(facts), wipe).to_json()
    except StackctlError as refusal:
        return [refusal.code, str(refusal)]
    for disk in plain["disks"]:
        del disk["fingerprint"]
    return plain


def same_plan(host: str, wanted: Layout, facts: dict, wipe: frozenset = frozenset()) -> Mask:
    mask = Mask({host: facts})
    hidden = mask.facts(host)
    again = Layout.model_validate(spoken(mask, wanted.model_dump(mode="json", exclude_unset=True)))
    wipe_again = frozenset(spoken(mask, sorted(wipe)))
    assert told(mask.host(host), again, hidden, wipe_again) == spoken(mask, told(host, wanted, facts, wipe))
    return mask


@pytest.mark.parametrize(
    ("host", "facts"),
    [
        *(pytest.param(EXPECTED[name]["host"], facts, id=name) for name, facts in RECORDED.items()),
        *(pytest.param("metal-1", entry.facts, id=name) for name, entry in SHELF.items()),
    ],
)
def test_every_machine_is_of_the_format_masked_or_not(host, facts):
    for found in (facts, *masked({host: facts}).values()):
        assert [error.message for error in SCHEMA.iter_errors(found)] == []


def test_the_collector_prints_no_key_that_the_format_lacks(tmp_path):
    server = blank_server(tmp_path)
    apply(server)
    errors = SCHEMA.iter_errors(server.facts("/srv"))
    assert [error.message for error in errors if error.validator == "additionalProperties"] == []


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_machine_gives_the_same_plan(name):
    expected = EXPECTED[name]
    disks = {"count": 4, "serial": expected["serials"]} if "serials" in expected else {"count": 4, "size": ">= 1 GB"}
    same_plan(expected["host"], layout(disks=disks), RECORDED[name])


@pytest.mark.parametrize("name", SHELF)
def test_a_machine_of_the_shelf_gives_the_same_plan(name):
    entry = SHELF[name]
    same_plan("metal-1", layout(disks=entry.disks), dict(entry.facts), getattr(entry, "wipe", frozenset()))


def test_an_applied_layout_with_long_names_stays_complete(tmp_path):
    server = blank_server(tmp_path)
    host = "a-server-with-a-name-that-is-too-long-for-a-partition"
    wanted = layout(
        volume_group="customers-of-the-northern-branch",
        volumes={"invoices-of-the-last-year": {"size": "rest", "mount": "/srv/initech/invoices"}},
    )
    execute(plan(host, wanted, Machine.from_facts(server.facts())).to_json(), server.system())
    facts = server.facts("/srv/initech/invoices")
    mask = Mask({host: facts})
    hidden = mask.facts(host)
    again = Layout.model_validate(spoken(mask, wanted.model_dump(mode="json", exclude_unset=True)))
    real, other = told(host, wanted, facts), told(mask.host(host), again, hidden)
    assert real["steps"] == other["steps"] == []
    assert [disk["fate"] for disk in other["disks"]] == ["kept: it carries this layout"] * 4
    assert spoken(mask, real["alignment"]) == other["alignment"]
    for name in ("northern", "customers", "invoices", "initech", "a-server"):
        assert name not in json.dumps(hidden)


def test_claims_stay_claims(tmp_path):
    server = blank_server(tmp_path)
    for disk in server.disks:
        disk.serial = disk.serial if disk.serial == "SYSTEM" else ""  # so that they are claimed by their WWNs
    server.cut = 16
    with pytest.raises(PowerCut):
        apply(server)
    server.reboot()
    facts = server.facts()
    assert len(facts["claims"]) == 4
    same_plan("metal-1", layout(), facts)


@pytest.mark.parametrize("name", EXPECTED)
def test_nothing_of_a_recorded_machine_is_left(name):
    facts = RECORDED[name]
    left = json.dumps(masked({"disks-1": facts}))
    owned = {row[key] for row in facts["lsblk"] for key in ("serial", "wwn", "ptuuid", "partuuid")}
    owned |= {sig["uuid"] for found in facts["signatures"].values() for sig in found}
    rows = [row for part in facts["lvm"] or () for kind in part.values() for row in kind]
    owned |= {row[key] for row in rows for key in row if key.endswith("_uuid")}
    for word in owned - {None, ""}:
        assert word not in left
        assert word.replace("-", "").removeprefix("0x") not in left
    assert "disks-1" not in left


SECRET = machine(
    Disk(
        "WD-WCC4E1234567",
        TB,
        wwn="0x50014ee2b1234567",
        model="WDC WD10",
        holds=[*GPT],
        parts=[
            Part(
                MIB,
                TB // 2,
                "customer-initech",
                [member(ARRAY, "vault7", 0, 2, homehost="files.initech.example")],
            )
        ],
    ),
    Disk(
        "WD-WCC4E7654321",
        TB,
        wwn="0x50014ee2b7654321",
        model="WDC WD10",
        holds=[*GPT],
        parts=[
            Part(
                MIB,
                TB // 2,
                "customer-initech",
                [member(ARRAY, "vault7", 1, 2, homehost="files.initech.example")],
            )
        ],
    ),
    Disk("S5GXNX0R123456", TB, wwn="eui.002538b123456789", name="nvme0n1", transport="nvme"),
    uppers=[
        Upper("md127", ["sda1", "sdb1"], array={"uuid": ARRAY}),
        Upper(
            "dm-7", ["nvme0n1"], "dm", mapped=("luks-initech", f"CRYPT-LUKS2-{OTHER.replace('-', '')}-luks-initech")
        ),
    ],
    groups=[Volumes("initech-vg", "md127", "q" * 32, {"dm-0": ("pay-roll", "r" * 32)})],
    mounts=[("dm-0", "/srv/initech/pay", "xfs"), ("nvme9n1p1", "/", "ext4")],
    errors=[
        "lvm fullreport ended with 5: no group initech-vg on /dev/disk/by-id/wwn-0x50014ee2b1234567",
        f"host 10.1.2.3 (fe80::1234:5678, 52:54:00:12:34:56) of files.initech.example: UUID {OTHER}",
    ],
    fstab=(
        "# the password is swordfish\n"
        "UUID=6d1e9a0c-1111-4222-8333-000000000001 / ext4 errors=remount-ro 0 1\n"
        "/dev/mapper/initech--vg-pay--roll /srv/initech/pay xfs noatime,x-systemd.requires=/srv/initech 0 0\n"
        "//10.1.2.4/pay /mnt/pay cifs username=smith,password=swordfish 0 0\n"
    ),
    host="files.initech.example",
)
SECRET["links"] = {
    "sda": [
        "/dev/disk/by-id/ata-WDC_WD10_WD-WCC4E1234567",
        "/dev/disk/by-id/wwn-0x50014ee2b1234567",
        "/dev/disk/by-id/scsi-350014ee2b1234567",
        "/dev/disk/by-id/scsi-SATA_WDC_WD10_WCC4E1234567X",
        "/dev/disk/by-path/pci-0000:03:00.0-sas-exp0x500304801f3f4abf-phy0-lun-0",
        "/dev/disk/by-path/ip-10.1.2.3:3260-iscsi-iqn.2004-04.com.initech:target-lun-1",
        "/dev/disk/by-path/pci-0000:00:17.0-ata-1",
    ],
    "sda1": ["/dev/disk/by-id/ata-WDC_WD10_WD-WCC4E1234567-part1"],
    "md127": [
        f"/dev/disk/by-id/md-uuid-{ARRAY[:8]}:889496ed:524c797b:35651958",
        "/dev/disk/by-id/md-name-files.initech.example:vault7",
        f"/dev/disk/by-id/lvm-pv-uuid-{'q' * 6}-qqqq-qqqq-qqqq-qqqq-qqqq-qqqqqq",
    ],
    "dm-0": [
        "/dev/disk/by-id/dm-name-initech--vg-pay--roll",
        f"/dev/disk/by-id/dm-uuid-LVM-{'q' * 32}{'r' * 32}",
    ],
}
SECRET["files"]["/etc/mdadm/mdadm.conf"] = {
    "text": "MAILADDR smith@initech.example\nHOMEHOST files.initech.example\n# initech\n"
    "ARRAY /dev/md/vault7 metadata=1.2\n   name=files.initech.example:vault7 "
    "UUID=b66a7cff:889496ed:524c797b:35651958\n",
    "changed": 1,
}
SECRET["superblocks"]["xfs"] = {
    "dm-0": xfs_superblock(Filesystem("payments", 65536, 131072, 65536, OTHER), 1 << 30).hex()
}
_EXT4 = bytearray(beginning(Filesystem("payroll", 65536, 131072, 0, OTHER, type="ext4"), 1 << 30)[1024:1536])
_EXT4[136:153] = b"/srv/initech/pay\0"
SECRET["superblocks"]["ext4"] = {"dm-1": _EXT4.hex()}
SECRET["superblocks"]["swap"] = {
    "dm-2": beginning(Filesystem("payswap", 0, 0, 0, OTHER, type="swap"), 1 << 30)[1024:1536].hex()
}


class TestEverySpelling:
    @pytest.fixture
    def mask(self):
        return Mask({"filer-7": SECRET})

    @pytest.fixture
    def hidden(self, mask):
        return mask.facts("filer-7")

    def test_nothing_is_left(self, hidden):
        left = json.dumps(hidden).lower()
        raw = b"".join(bytes.fromhex(text) for kind in hidden["superblocks"].values() for text in kind.values())
        words = ["initech", "swordfish", "smith", "filer", "files.", "pay", "vault", "luks-", "wcc4e", "s5gxnx0r"]
        words += [
            "50014ee2b",
            "002538b",
            "7654321",
            "1234567",
            "10.1.2.",
            "fe80",
            "52:54",
            "qqqq",
            "rrrr",
            "b66a7cff",
            "500304801f3f4abf",
        ]
        assert [word for word in words if word in left] == []
        assert [word for word in ("vault", "filer", "pay") if word.encode() in raw] == []

    def test_the_links_say_what_the_rest_says(self, hidden):
        first = hidden["lsblk"][0]
        serial, wwn = first["serial"], first["wwn"]
        assert re.fullmatch(r"SERIAL-\d{3}", serial)
        assert wwn == "0x0000000000000001"  # the others are larger numbers
        links = [link.removeprefix("/dev/disk/") for link in hidden["links"]["sda"]]
        assert links[:3] == [f"by-id/ata-WDC_WD10_{serial}", f"by-id/wwn-{wwn}", f"by-id/scsi-3{wwn[2:]}"]
        assert re.fullmatch(r"by-id/scsi-SERIAL-\d{3}", links[3])
        assert re.fullmatch(r"by-path/pci-0000:03:00.0-sas-exp0x0{15}\d-phy0-lun-0", links[4])
        assert re.fullmatch(r"by-path/ip-SERIAL-\d{3}", links[5])
        assert links[6] == "by-path/pci-0000:00:17.0-ata-1"
        assert hidden["links"]["sda1"] == [f"/dev/disk/by-id/ata-WDC_WD10_{serial}-part1"]

    def test_lvm_is_one_thing_in_its_report_the_mapper_links_and_fstab(self, mask, hidden):
        (report,) = hidden["lvm"]
        group, volume = report["vg"][0], report["lv"][0]
        assert (group["vg_name"], volume["lv_name"]) == (mask.words()["initech-vg"], mask.words()["pay-roll"])
        assert hidden["blocks"]["dm-0"]["dm"]["name"] == f"{group['vg_name']}-{volume['lv_name']}"
        uuid = f"LVM-{group['vg_uuid'].replace('-', '')}{volume['lv_uuid'].replace('-', '')}"
        assert hidden["blocks"]["dm-0"]["dm"]["uuid"] == uuid
        assert hidden["links"]["dm-0"] == [
            f"/dev/disk/by-id/dm-name-{group['vg_name']}-{volume['lv_name']}",
            f"/dev/disk/by-id/dm-uuid-{uuid}",
        ]
        entry = Machine.from_facts(hidden).fstab[1]
        assert entry.source == f"/dev/mapper/{group['vg_name']}-{volume['lv_name']}"
        assert entry.path == hidden["mounts"][0]["path"]

    def test_the_array_is_one_thing_in_sysfs_superblocks_signatures_links_and_mdadm_conf(self, hidden):
        found = Machine.from_facts(hidden)
        (running,) = found.arrays
        assert {member.uuid for member in found.members} == {running.uuid, found.mdadm_conf[0].uuid} == {running.uuid}
        assert running.uuid != ARRAY
        host = hidden["host"]["name"]
        assert hidden["signatures"]["sda1"][0]["label"] == found.members[0].name == f"{host}:{running.name}"
        assert found.mdadm_conf[0].device == f"/dev/md/{running.name}"
        assert hidden["links"]["md127"][1] == f"/dev/disk/by-id/md-name-{host}:{running.name}"
        assert f"HOMEHOST {host}\n" in hidden["files"]["/etc/mdadm/mdadm.conf"]["text"]

    def test_superblocks_keep_all_but_names_and_uuids(self, hidden):
        for kind, read in {"linux_raid_member": array.superblock, **READERS}.items():
            for device, text in hidden["superblocks"][kind].items():
                before = read(device, bytes.fromhex(SECRET["superblocks"][kind][device]))
                after = read(device, bytes.fromhex(text))
                names = {"uuid", "name", "label"}
                for field in before.__slots__:
                    assert (getattr(before, field) == getattr(after, field)) == (field not in names), field
                assert len(text) == len(SECRET["superblocks"][kind][device])

    def test_what_belongs_to_nobody_stays(self, hidden):
        assert hidden["blocks"]["nvme9n1p1"]["label"] == "root"
        assert [entry["path"] for entry in hidden["mounts"]][1] == "/"
        assert hidden["lsblk"][0]["model"] == "WDC WD10"
        assert {row["parttype"] for row in hidden["lsblk"]} == {row["parttype"] for row in SECRET["lsblk"]}


def test_one_value_has_one_mask_on_every_host_of_a_dump():
    first, second = machine(*blank()), machine(*blank()[::-1], host="metal-2")
    hidden = masked({"metal-1": first, "metal-2": second})
    assert sorted(hidden) == ["host1", "host2"]
    serials = [[row["serial"] for row in facts["lsblk"][:4]] for facts in hidden.values()]
    assert serials == [[f"SERIAL-00{at}" for at in (1, 2, 3, 4)], [f"SERIAL-00{at}" for at in (4, 3, 2, 1)]]


def test_the_order_of_serial_numbers_stays():
    disks = [Disk(serial, wwn=None) for serial in ("S-10", "S-9", "S-100", "ABC")]
    hidden = masked({"metal-1": machine(*disks)})["host1"]
    assert [row["serial"] for row in hidden["lsblk"][:4]] == ["SERIAL-003", "SERIAL-002", "SERIAL-004", "SERIAL-001"]


def test_keys_that_the_format_does_not_know_are_left_out():
    facts = machine(*blank()) | {"secret": "swordfish"}
    facts["blocks"]["sda"] = facts["blocks"]["sda"] | {"note": "swordfish"}
    assert "swordfish" not in json.dumps(masked({"metal-1": facts}))


def test_an_empty_document_is_masked_too():
    assert masked({"metal-1": {"format": 0}}) == {"host1": {"format": 0}}


def test_every_superblock_that_is_collected_has_a_mask():
    assert set(Dump.model_fields["superblocks"].annotation.model_fields) == set(_RAW)


NAMES = (
    (Kind.NAME, "[vm7_tmeta]", "[name1_tmeta]"),
    (Kind.NAME, "vm7_rimage_0", "name1_rimage_0"),
    (Kind.NAME, "lvol0_pmspare", "lvol0_pmspare"),
    (Kind.MAPPED_NAME, "vg-vm7_tdata", "vg-name1_tdata"),
    (Kind.MAPPED_NAME, "vg-vm7-real", "vg-name1-real"),
    (Kind.MAPPED_NAME, "vg-vm--7", "vg-name1"),
    (Kind.MAPPED_NAME, f"luks-{ARRAY}", "luks-00000000-0000-0000-0000-000000000001"),
    (Kind.MAPPED_NAME, "mpatha", "mpatha"),
    (Kind.MAPPED_UUID, "mpath-3600508b1001c0001", "mpath-SERIAL-001"),
    (Kind.MAPPED_UUID, "DMRAID-isw_abcdef_Volume0", "DMRAID-name1"),
    (Kind.UUID, "1a2b3c4d-05", "00000001-05"),
    (Kind.UUID, "0x1a2b3c4d", "0x00000001"),
    (Kind.UUID, "4F5A-1B2C", "0000-0001"),
    (Kind.UUID, "8862115239478651232", "0000000000000000001"),
    (Kind.UUID, "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
    (Kind.DEVICE, "md_vm7", "md_name1"),
    (Kind.DEVICE, "md127", "md127"),
    (Kind.DEVICE, "cciss!c0d0", "cciss!c0d0"),
    (Kind.TAGS, "stackctl,stackctl.new,@vm7", "stackctl,stackctl.new,name1"),
    (Kind.LABEL, "EFI System Partition", "EFI System Partition"),
    (Kind.LABEL, "vm7:0", "name1:0"),
    (Kind.EXTENTS, "/dev/md127:0-509 vm7_tdata:0-9", "/dev/md127:0-509 name1_tdata:0-9"),
    (Kind.PATH, "[unknown]", "[unknown]"),
    (Kind.PATH, "/dev/vm7/root", "/dev/name1/root"),
    (Kind.PATH, "/dev/sda1", "/dev/sda1"),
    (Kind.PATH, f"/var/lib/{ARRAY}", "/var/lib/00000000-0000-0000-0000-000000000001"),
    (Kind.OPTIONS, "rw,sunit=128,logbsize=64k,subvol=/@vm7", "rw,sunit=128,logbsize=64k,subvol=/name1"),
    (Kind.FSTAB, "LABEL=vm7 /mnt/my\\040vm xfs\n", "LABEL=name2 /mnt/name1 xfs\n"),
    (
        Kind.FSTAB,
        "tmpfs /tmp tmpfs size=2g 0 0\nnas:/x /mnt nfs ro\n",
        "tmpfs /tmp tmpfs size=2g 0 0\nname1 /mnt nfs ro\n",
    ),
    (Kind.MDADM_CONF, "array <ignore> uuid=1a2b3c4d\nPROGRAM /root/x\n", "array <ignore> uuid=00000001\n"),
    (Kind.TEXT, "no route to 192.0.2.7 or 2001:db8:1::5", "no route to 198.18.0.1 or 2001:db8::2"),
    (Kind.TEXT, "0:0:1:0 at 10:11:12", "0:0:1:0 at 10:11:12"),
)


@pytest.mark.parametrize(("kind", "text", "expected"), NAMES)
def test_a_text_of_each_kind(kind, text, expected):
    words = Words()
    Rewriter(words, {})(kind, text)
    words.close()
    assert Rewriter(words, {})(kind, text) == expected


@pytest.mark.parametrize("recorded", ["raid6-of-12", "storcli2", "ssacli-raid6"])
def test_what_controllers_say_is_of_the_format_and_left_out_when_masked(recorded):
    facts = facts_with(record(recorded))
    jsonschema.validate(facts, json_schema(Dump))
    (hidden,) = masked({"metal-1": facts}).values()
    assert "controllers" not in hidden
    jsonschema.validate(hidden, json_schema(Dump))
    assert Machine.from_facts(hidden).controllers == ()
