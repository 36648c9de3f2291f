"""The root file system: mmdebstrap's command line, and the files that make it a machine."""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackctl import console
from stackctl.errors import StackctlError
from stackctl.image import cage
from stackctl.image.definition import Definition, File
from stackctl.image.sources import Sources
from stackctl.process import PIPE, spawn

DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_INITRAMFS = "/usr/sbin/update-initramfs"
_CA = "/usr/local/share/ca-certificates/stackctl-site.crt"

# Packages rebuild the initramfs whenever one of them has something to add to it, 15 s each time: they talk to
# /bin/true until everything is there, then it is built once.
_DIVERT = f'chroot "$1" dpkg-divert --quiet --local --rename --add {_INITRAMFS} && ln -s /bin/true "$1{_INITRAMFS}"'
_RESTORE = f'rm "$1{_INITRAMFS}" && chroot "$1" dpkg-divert --quiet --local --rename --remove {_INITRAMFS}'
# What a package made for this one file system must not be shared by its copies.
_FORGET = 'rm -f "$1"/etc/ssh/ssh_host_*_key "$1"/etc/ssh/ssh_host_*_key.pub "$1"/etc/hostname'


@dataclass(frozen=True)
class FileSystems:
    """The identifiers that the disk and the files on it agree on."""

    disk: str
    root: str
    root_partition: str


def argv(definition: Definition, sources: Sources, skeleton: Path, target: Path) -> list[str]:
    """mmdebstrap's command line; the sources come on its standard input.

    In mode ``unshare`` it works in mount and process namespaces of its own, so that no mount of it is left behind.
    """
    words = ["mmdebstrap", "--mode=unshare", "--variant=minbase", "--format=directory", "--skip=output/mknod"]
    words.append(f"--architectures={definition.architecture}")
    words.append("--include=" + ",".join((definition.kernel, *definition.packages)))
    words += [f'--aptopt={name} "{value}"' for name, value in sources.options]
    if sources.ca:
        words.append(f'--aptopt=Acquire::https::CAInfo "{sources.ca}"')
    words.append(f"--essential-hook={_DIVERT}")
    words += [f"--customize-hook={hook}" for hook in _customize(definition, sources, skeleton)]
    return [*words, definition.suite, str(target), "-"]


def _customize(definition: Definition, sources: Sources, skeleton: Path) -> Iterator[str]:
    yield f"sync-in {skeleton} /"
    yield 'rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/0000*'
    if sources.ca:
        yield 'chroot "$1" update-ca-certificates'
    if definition.units.enable:
        yield f'chroot "$1" systemctl --quiet enable {" ".join(definition.units.enable)}'
    if definition.units.mask:
        yield f'chroot "$1" systemctl --quiet mask {" ".join(definition.units.mask)}'
    yield _RESTORE
    yield 'for kernel in "$1"/lib/modules/*; do chroot "$1" update-initramfs -c -k "${kernel##*/}"; done'
    yield _FORGET


def files(definition: Definition, sources: Sources, ids: FileSystems) -> dict[str, File]:
    """Every file that the tree gets beyond its packages, by path."""
    console_words = " ".join(f"console={name}" for name in definition.boot.console)
    kernel_words = " ".join((f"root=UUID={ids.root} ro", console_words, *definition.boot.options))
    made = {
        "/etc/fstab": f"UUID={ids.root} / ext4 errors=remount-ro 0 1\n",
        "/etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
        "/etc/default/locale": "LANG=C.UTF-8\n",
        "/boot/grub/grub.cfg": grub_configuration(kernel_words),
        "/etc/apt/sources.list.d/debian.list": "".join(f"{source.line()}\n" for source in sources.archives),
    }
    if sources.options:
        lines = (f'{name} "{value}";\n' for name, value in sources.options)
        made["/etc/apt/apt.conf.d/60stackctl"] = "".join(lines)
    if sources.ca:
        made[_CA] = sources.ca.read_text(encoding="ascii")
    return {**{path: File(content=text) for path, text in made.items()}, **definition.files}


def grub_configuration(kernel_words: str) -> str:
    """The boot loader's configuration; Debian keeps the links /vmlinuz and /initrd.img on the newest kernel."""
    return (
        "set timeout=0\n"
        "serial --unit=0 --speed=115200\n"
        "terminal_input serial console\n"
        "terminal_output serial console\n"
        f"linux /vmlinuz {kernel_words}\n"
        "initrd /initrd.img\n"
        "boot\n"
    )


def write_skeleton(contents: Mapping[str, File], sources: Sources, folder: Path) -> None:
    """Lay the files out under ``folder``, with the key rings that are not in Debian's own package."""
    for path, wanted in contents.items():
        file = folder / path.lstrip("/")
        file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        file.write_text(wanted.content, encoding="utf-8")
        file.chmod(int(wanted.mode, 8))
    for source in sources.archives:
        if source.keyring and source.keyring != DEBIAN_KEYRING:
            ring = folder / str(source.keyring).lstrip("/")
            ring.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            ring.write_bytes(source.keyring.read_bytes())
            ring.chmod(0o644)
    for directory in (folder, *(child for child in folder.rglob("*") if child.is_dir())):
        directory.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)


def make(definition: Definition, sources: Sources, ids: FileSystems, workshop: Path, lock: int) -> Path:
    """Build the tree in ``workshop`` and return its folder.

    mmdebstrap and all it starts die with this process, whatever ends it, and hold ``lock`` until they are gone.
    """
    skeleton, target, log = workshop / "skeleton", workshop / "tree", workshop / "mmdebstrap.log"
    write_skeleton(files(definition, sources, ids), sources, skeleton)
    listing = workshop / "sources.list"
    listing.write_text("".join(f"{source.line()}\n" for source in sources.archives), encoding="utf-8")
    words = cage.bound(argv(definition, sources, skeleton, target))
    with listing.open("rb") as stdin, log.open("wb") as kept:
        process = spawn(words, stdin=stdin, stdout=PIPE, pass_fds=(lock,))
        try:
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                if line.startswith(b"I: ") and not line.startswith(b"I: running --"):
                    console.note(line[3:].decode(errors="replace").strip())
            code = process.wait()
        finally:
            process.kill()
            process.wait()
    if code:
        raise failure(log.read_text(errors="replace"))
    return target


def failure(log: str) -> StackctlError:
    """The error that mmdebstrap's output speaks of."""
    lines = [line for line in log.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith(("E: ", "W: Failed"))] or lines
    hint = None
    if any(
        word in log for word in ("Could not resolve", "Could not connect", "Failed to fetch", "Unable to connect")
    ):
        hint = "the package archive does not answer; see this machine's apt sources, or mirrors: in stack.yml"
    elif "No space left on device" in log:
        hint = "free some space, or point XDG_CACHE_HOME to a larger disk"
    elif "Unable to locate package" in log:
        hint = "the image asks for a package that the archive does not have"
    return StackctlError("the root file system could not be made: " + "\n".join(said[-8:]), hint=hint)
