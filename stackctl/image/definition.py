"""What an image is made of: images/NAME.yml, read and frozen."""

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from stackctl import paths
from stackctl.errors import InputError
from stackctl.site.models import Model, Size
from stackctl.units import MIB, format_size

MIN_DISK = 1024 * MIB

PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
UnitName = Annotated[str, Field(pattern=r"^[A-Za-z0-9@._:-]+\.(service|timer|socket|target|mount|path)$")]


def _absolute(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] != "/" or ".." in parts or len(parts) < 2:
        raise ValueError(f"{path!r} is not an absolute path of a file")
    return path


def _file(value: object) -> object:
    return {"content": value} if isinstance(value, str) else value


FilePath = Annotated[str, AfterValidator(_absolute)]


class File(Model):
    """A file that the image gets, owned by root."""

    content: str
    mode: Annotated[str, Field(pattern=r"^0[0-7]{3}$")] = "0644"
    """Permissions, octal, quoted."""


class Units(Model):
    """Which systemd units start, and which never do."""

    enable: tuple[UnitName, ...] = ()
    mask: tuple[UnitName, ...] = ()

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "Units":
        if both := set(self.enable) & set(self.mask):
            raise ValueError(f"both enabled and masked: {', '.join(sorted(both))}")
        return self


class Disk(Model):
    """The disk: a BIOS boot partition, then the root, which is last so that it can grow."""

    size: Size = 8 * 1024 * MIB
    """The size of the whole disk; the root file system takes what the boot partition leaves."""
    file_system: Literal["ext4"] = "ext4"
    """GRUB reads it, whatever its features."""
    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,16}$")] = "root"

    @model_validator(mode="after")
    def _holds_a_system(self) -> "Disk":
        if self.size < MIN_DISK or self.size % MIB:
            raise ValueError(f"size: {format_size(self.size)} is not a whole number of MiB of at least 1 GiB")
        return self


class Boot(Model):
    """How the kernel is started."""

    console: tuple[str, ...] = ("tty0", "ttyS0,115200")
    """Kernel consoles; the last one is /dev/console."""
    options: tuple[str, ...] = ()
    """More words of the kernel's command line."""


class Definition(Model):
    """An image, described."""

    description: str
    suite: Literal["bookworm", "trixie"]
    """The Debian release."""
    architecture: Literal["amd64"] = "amd64"
    kernel: PackageName
    """The package that brings the kernel."""
    packages: tuple[PackageName, ...] = ()
    """What is installed beside the essential system."""
    units: Units = Units()
    files: dict[FilePath, Annotated[File, BeforeValidator(_file)]] = Field(default={})
    """Files by path: the content, or content and mode."""
    disk: Disk = Disk()
    boot: Boot = Boot()


def names() -> tuple[str, ...]:
    """The names of the images that ship."""
    return tuple(sorted(file.stem for file in paths.data("images").glob("*.yml")))


def load(name: str) -> Definition:
    """The definition called ``name``. Raises InputError with everything that is wrong with it."""
    if name not in names():
        raise InputError(f"there is no image {name!r}", hint=f"there are: {', '.join(names()) or 'none'}")
    return read(paths.data("images", f"{name}.yml"))


def read(file: Path) -> Definition:
    """The definition in ``file``. Raises InputError with everything that is wrong with it."""
    try:
        words = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as failure:
        raise InputError(f"{file}: not YAML: {failure}") from None
    try:
        return Definition.model_validate(words)
    except ValidationError as failure:
        lines = [f"{file}: {'.'.join(map(str, e['loc'])) or 'image'}: {e['msg']}" for e in failure.errors()]
        raise InputError("\n".join(lines)) from None
