"""A Debian server without a virtual machine: the lab image's tree, with systemd in namespaces of its own.

It runs at the speed of the host and takes services, not disks. Its network is a user-mode one, as a lab machine's is.
Everything of it ends with the process that is started here, and that ends with the process that starts it.
"""

import io
import json
import os
import shutil
import socket
import tarfile
from pathlib import Path

from stackctl.image import definition
from stackctl.image.build import build, identifiers
from stackctl.image.disk import partitions
from stackctl.lab import identity
from stackctl.process import Result, SystemRunner
from tests.lib.waiting import wait_for
from tests.stack import Process, free_port

ADDRESS = "10.0.2.100"
_PROGRAMS = ("losetup", "setpriv", "slirp4netns", "ssh", "unshare")
_CGROUPS = Path("/sys/fs/cgroup")
_CONTROLLERS = ("systemd", "memory", "pids", "cpu", "cpuacct", "devices")
_NETWORK = f"""[Match]
Name=tap0
[Network]
Address={ADDRESS}/24
Gateway=10.0.2.2
"""

# Runs as process 1 of the new namespaces: mounts a root of its own, leaves the host's behind, becomes systemd.
_BOOT = r"""
set -e
cd "$1"; image=$2; offset=$3; size=$4; shift 4
mount --make-rprivate /
mkdir -p lower upper work root
mount -t ext4 -o "ro,noload,loop,offset=$offset,sizelimit=$size" "$image" lower
mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay root
cd root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 dev dev
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"; done
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for folder in dev/shm run tmp; do mount -t tmpfs tmpfs "$folder"; done
mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup
for controller in "$@"; do
  options=$controller
  if [ "$controller" = systemd ]; then options=none,name=systemd; fi
  mkdir "sys/fs/cgroup/$controller"
  mount -t cgroup -o "$options" cgroup "sys/fs/cgroup/$controller"
done
mkdir -p mnt/old
pivot_root . mnt/old
cd /
umount -l /mnt/old
exec env -i container=namespaces PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system \
  --log-target=console systemd.unified_cgroup_hierarchy=0
"""


def why_not() -> str | None:
    """Why such a server cannot run on this host; None where it can."""
    if os.geteuid() != 0:
        return "it takes root: mounts and namespaces of its own"
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        return f"{', '.join(missing)} missing"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun is not there"
    if missing := [name for name in _CONTROLLERS if not (_CGROUPS / name).is_dir()]:
        return f"the host has no control group hierarchy of the first version for {', '.join(missing)}"
    return None


class Container:
    """A server of its own; ``folder`` holds its files and is to be removed afterwards."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.ssh_port, self.web_port = free_port(), free_port()
        self.log = folder / "console.log"
        self._group = f"stackctl-{os.getpid()}-{name}"
        self._processes: list[Process] = []

    def start(self) -> None:
        """Boot, and wait until it takes SSH."""
        self._make_identity()
        child = self._boot()
        self._connect(child)
        self._wait()

    def stop(self) -> None:
        """End it and everything in it, by our own processes' ids."""
        for process in self._processes:
            process.kill()
        for controller in _CONTROLLERS:
            group = _CGROUPS / controller / self._group
            wait_for(lambda group=group: _removed(group), f"the end of {group}")

    def ssh(self, command: str, check: bool = True) -> Result:
        """Run a shell command in it, as root."""
        argv = ["ssh", *self.ssh_options, "-p", str(self.ssh_port), "root@127.0.0.1", "--", command]
        return SystemRunner().run(argv, check=check, timeout=1800)

    @property
    def ssh_options(self) -> list[str]:
        """How ssh knows it and is known by it."""
        known, key = self.folder / "known_hosts", self.folder / "key"
        words = ("BatchMode=yes", f"UserKnownHostsFile={known}", f"IdentityFile={key}", "IdentitiesOnly=yes")
        return [part for word in words for part in ("-o", word)]

    def _make_identity(self) -> None:
        host, client = identity.make_key(), identity.make_key()
        key = self.folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(client.private)
        (self.folder / "known_hosts").write_text(identity.known_hosts("127.0.0.1", self.ssh_port, host.public))
        upper = self.folder / "upper"
        upper.mkdir()
        packed = identity.archive(self.name, "root", host, client.public)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(upper)
        network = upper / "etc/systemd/network/10-tap.network"
        network.parent.mkdir(parents=True)
        network.write_text(_NETWORK)
        (upper / "etc/fstab").touch()

    def _boot(self) -> int:
        image = build("lab")
        root = partitions(definition.load("lab").disk.size, identifiers("-"))[1]
        for controller in _CONTROLLERS:
            (_CGROUPS / controller / self._group).mkdir()
        script = self.folder / "boot.sh"
        script.write_text(_BOOT)
        join = " ".join(f"echo $$ >{_CGROUPS / name / self._group / 'cgroup.procs'};" for name in _CONTROLLERS)
        words = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child=KILL"]
        words += ["sh", str(script), str(self.folder), str(image), str(root.start), str(root.size), *_CONTROLLERS]
        process = self._run(["sh", "-c", f'{join} exec "$@"', "sh", *words], self.log)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return int(wait_for(lambda: children.read_text().split(), "the first process")[0])

    def _connect(self, child: int) -> None:
        """A user-mode network for it, and its ports for SSH and the web on loopback."""
        api, log = self.folder / "network.sock", self.folder / "network.log"
        self._run(["slirp4netns", "--disable-host-loopback", "--api-socket", str(api), str(child), "tap0"], log)
        wait_for(api.exists, "slirp4netns")
        for mine, its in ((self.ssh_port, 22), (self.web_port, 80)):
            arguments = {
                "proto": "tcp", "host_addr": "127.0.0.1", "host_port": mine, "guest_addr": ADDRESS, "guest_port": its
            }  # fmt: skip
            with socket.socket(socket.AF_UNIX) as door:
                door.connect(str(api))
                door.sendall(json.dumps({"execute": "add_hostfwd", "arguments": arguments}).encode())
                door.shutdown(socket.SHUT_WR)
                said = json.loads(door.makefile().read())
            assert "return" in said, said

    def _run(self, argv: list[str], log: Path) -> Process:
        process = Process(["setpriv", "--pdeathsig", "KILL", *argv], log).start()
        self._processes.append(process)
        return process

    def _wait(self) -> None:
        def answers() -> bool:
            assert self._processes[0].alive(), self.log.read_text(errors="replace")[-4000:]
            return self.ssh("systemctl is-system-running --wait", check=False).stdout.strip() == "running"

        wait_for(answers, "the server", timeout=300)


def _removed(group: Path) -> bool:
    """Remove a control group with those inside it; it goes when its last process has gone."""
    if group.is_dir():
        children = [child for child in group.rglob("*") if child.is_dir()]
        for child in sorted(children, key=lambda path: len(path.parts), reverse=True):
            child.rmdir()
        group.rmdir()
    return True
