"""Carrying out: the last look, the lock, what is passed over, what is said when it fails."""

import fcntl
import json

import pytest
from layouts import LAYOUT, apply, plan_for
from twin import Part, Signature, blank_server
from twin.state import MIB, Mount

from stackctl.node import execute as node
from stackctl.node.errors import NodeError
from stackctl.node.process import Result


@pytest.fixture
def server(tmp_path):
    return blank_server(tmp_path)


def refused(server, plan):
    with pytest.raises(NodeError) as told:
        node.execute(plan, server.system())
    assert told.value.kind == "refused"
    assert told.value.to_result()["stackctl_exit"] == 3
    assert server.writes == []
    return told.value.message


class TestTheLastLook:
    """Everything is looked at once more before the first write; a plan that is out of date writes nothing."""

    def test_a_disk_is_gone(self, server):
        plan = plan_for(server).to_json()
        server.disks.remove(server.disk("LAB-3"))
        assert "disk LAB-3 is gone" in refused(server, plan)

    def test_a_disk_has_got_a_file_system(self, server):
        plan = plan_for(server).to_json()
        server.disk("LAB-3").signatures.append(Signature("ext4", 1080, "u"))
        assert "disk LAB-3 (now sdc) is not what it was when the plan was made" in refused(server, plan)

    def test_a_disk_has_got_a_partition_table(self, server):
        plan = plan_for(server).to_json()
        disk = server.disk("LAB-1")
        disk.table, disk.table_id, disk.copies, disk.parts = "gpt", "t", 2, [Part(1, MIB, MIB)]
        assert "disk LAB-1" in refused(server, plan)

    def test_a_disk_is_in_use(self, server):
        plan = plan_for(server).to_json()
        server.swaps.append("sdd")
        assert "disk LAB-4" in refused(server, plan)

    def test_every_disk_that_changed_is_named(self, server):
        plan = plan_for(server).to_json()
        server.disk("LAB-3").size += MIB
        server.disks.remove(server.disk("LAB-1"))
        told = refused(server, plan)
        assert "LAB-1 is gone" in told
        assert "LAB-3" in told

    def test_names_that_were_swapped_change_nothing(self, server):
        plan = plan_for(server).to_json()
        first, second = server.disk("LAB-1"), server.disk("LAB-2")
        first.name, second.name = second.name, first.name
        node.execute(plan, server.system())
        assert server.disk("LAB-1").parts[0].label == "stackctl:data:metal-1"

    def test_something_holds_a_disk_where_it_cannot_be_seen(self, server, monkeypatch):
        plan = plan_for(server).to_json()
        system = server.system()
        monkeypatch.setattr(type(system), "free", lambda self, name: name != "sdb")
        with pytest.raises(NodeError, match="disk LAB-2 is in use by something that cannot be seen from here"):
            node.execute(plan, system)
        assert server.writes == []

    def test_a_mount_point_has_got_files(self, server):
        plan = plan_for(server).to_json()
        (server.root / "srv/guests").mkdir()
        (server.root / "srv/guests/file").touch()
        with pytest.raises(NodeError, match="/srv/guests holds files that the mount would hide"):
            node.execute(plan, server.system())
        assert server.writes == []

    def test_a_step_of_an_unknown_kind(self, server):
        plan = plan_for(server).to_json()
        plan["steps"][-1]["kind"] = "tune"
        with pytest.raises(NodeError, match="knows no step of kind tune"):
            node.execute(plan, server.system())
        assert server.writes == []

    def test_a_disk_that_another_replaces_in_the_middle_is_not_written_to(self, server):
        plan = plan_for(server).to_json()
        system = server.system()
        run = server.run

        def replaced(argv, **words):
            if argv[0] == "sfdisk":
                (server.root / "sys/devices/pci/sda/diskseq").write_text("77\n")
            return run(argv, **words)

        server.run = replaced
        with pytest.raises(NodeError, match=r"disk LAB-1 .* is gone, or another has taken its place"):
            node.execute(plan, system)
        assert server.disk("LAB-2").table == ""


class TestTheCommands:
    """The argv lists, as the real programs take them."""

    def test_of_blank_disks(self, server):
        apply(server)
        said = [" ".join(call) for call in server.calls]
        create = next(line for line in said if line.startswith("mdadm --create"))
        assert create == (
            "mdadm --create /dev/md/data --run --metadata=1.2 --name=data --homehost=any --level=10 --layout=n2 "
            "--chunk=64 --bitmap=internal --data-offset=2048K --raid-devices=4 "
            "/dev/sda1 /dev/sdb1 /dev/sdc1 /dev/sdd1"
        )
        assert (
            "vgcreate --yes --addtag=stackctl --dataalignment=128k --physicalextentsize=4096k data /dev/md/data"
            in said
        )
        assert "mkfs.xfs -q -f -L database -d su=64k,sw=2 -l su=64k /dev/data/database" in said
        assert said.index("sync /dev/data/database") < said.index("lvchange --deltag stackctl.new data/database")
        assert said.count("update-initramfs -u -k all") == 1

    def test_the_claim_comes_before_anything_else_on_a_disk(self, server):
        apply(server)
        for name in ("sda", "sdb", "sdc", "sdd"):
            first = next(write for write in server.writes if name in write)
            assert first == f"sector of {name}"

    def test_the_table_that_is_written(self, server):
        inputs = []
        run = server.run
        server.run = lambda argv, **words: inputs.append(words.get("input")) or run(argv, **words)
        apply(server)
        tables = [text for text in inputs if text]
        assert (
            tables
            == [
                "label: gpt\n"
                "start=2048, size=8384512, type=A19D880F-05FC-4D3B-A006-743F0F84911E, "
                'name="stackctl:data:metal-1"\n'
            ]
            * 4
        )

    def test_on_4096_byte_sectors_the_table_counts_in_those(self, tmp_path):
        server = blank_server(tmp_path, logical=4096, physical=4096)
        apply(server)
        part = server.disk("LAB-1").parts[0]
        assert (part.start, part.size) == (MIB, 4094 * MIB)


class TestOneRun:
    def test_tells_every_step_with_its_time(self, server):
        outcome = apply(server)
        assert all(step["changed"] and step["seconds"] >= 0 for step in outcome.steps)
        assert outcome.to_result()["changed"]

    def test_passes_over_what_is_done_already(self, server):
        plan = plan_for(server).to_json()
        apply(server)
        before = len(server.writes)
        plan["disks"] = []  # a plan that is out of date is refused by its disks; here only the steps are of interest
        plan["steps"] = [step for step in plan["steps"] if not step["disks"]]
        outcome = node.execute(plan, server.system())
        assert not outcome.to_result()["changed"]
        assert len(server.writes) == before

    def test_writes_its_progress(self, server):
        apply(server)
        lines = [
            json.loads(line) for line in (server.root / "run/stackctl/storage.progress").read_text().splitlines()
        ]
        assert [(line["step"], line["event"]) for line in lines[:2]] == [
            ("partition:LAB-1", "begins"),
            ("partition:LAB-1", "changed"),
        ]
        assert lines[-1]["event"] == "changed"

    def test_stops_at_a_command_that_fails_and_says_so(self, server):
        run = server.run

        def failing(argv, **words):
            if argv[0] == "vgcreate":
                from stackctl.node.process import ProcessError

                raise ProcessError(Result(tuple(argv), 5, stderr="  No such thing.\n"))
            return run(argv, **words)

        server.run = failing
        outcome = node.Outcome()
        plan = plan_for(server).to_json()
        with pytest.raises(NodeError) as told:
            node.execute(plan, server.system(), outcome)
        assert "Make the volume group data" in told.value.message
        assert "No such thing." in told.value.message
        assert "goes on from what is there" in told.value.hint
        assert [step["id"] for step in outcome.steps][-1] == "array:data"

    def test_goes_on_after_a_failure(self, server):
        self.test_stops_at_a_command_that_fails_and_says_so(server)
        server.run = type(server).run.__get__(server)
        outcome = apply(server)
        assert outcome.steps[0]["id"] == "group:data"
        assert plan_for(server).steps == ()


def test_two_at_once_are_not_possible(server):
    plan = plan_for(server).to_json()
    lock = server.root / "run/stackctl/storage.lock"
    lock.parent.mkdir(parents=True)
    import subprocess
    import sys

    code = (
        "import fcntl, sys\n"
        f"file = open({str(lock)!r}, 'a')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        with pytest.raises(NodeError, match=f"the storage of this server is locked by process {holder.pid}"):
            node.execute(plan, server.system())
        holder.stdin.close()
    assert server.writes == []
    with lock.open("a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_unmounted_volume_is_mounted_again(server):
    apply(server)
    server.mounts = [mount for mount in server.mounts if mount.path != "/srv/guests"]
    outcome = apply(server)
    assert [step["id"] for step in outcome.steps] == ["mount:/srv/guests"]
    assert Mount in {type(mount) for mount in server.mounts}
    assert plan_for(server, wanted=LAYOUT).steps == ()
