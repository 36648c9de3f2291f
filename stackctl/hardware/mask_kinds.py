"""How a text of each kind is taken apart into words, and put together again from their masks."""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping

from stackctl.hardware.kinds import Kind
from stackctl.hardware.mask_words import Pool, Words

_HEX = "[0-9a-fA-F]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}|{_HEX}{{8}}(?::{_HEX}{{8}}){{3}}|{_HEX}{{32}}"
_LVM = r"[A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}"
_WWN = rf"0x{_HEX}{{16}}(?:{_HEX}{{16}})?"
_ADDRESS = (
    rf"(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}|(?:\d{{1,3}}\.){{3}}\d{{1,3}}"
    rf"|(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|(?:{_HEX}{{1,4}}:){{1,6}}:(?:{_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,5}})?"
)
_LIKE_WWN = re.compile(rf"0x{_HEX}{{16,32}}|(eui|nvme|uuid|naa|t10)\..+")
_IDENTITY = re.compile(rf"(?<![A-Za-z0-9])(?:{_UUID}|{_LVM})(?![A-Za-z0-9])")
_SHORT_ID = re.compile(rf"(0x)?({_HEX}{{8}})(-{_HEX}{{2}})?")
"""The identity of a DOS table, and that of a partition in it."""
_MAPPED = re.compile(r"((?:[^-]|--)+)-((?:[^-]|--)+)(-[a-z0-9_]+)?")
"""Group, volume, layer: hyphens within the names are doubled."""
_HIDDEN = re.compile(
    r"(\[?)(.+?)((?:_(?:[rm]image|rmeta|[tc](?:data|meta)|[v]?origin|corig|wcorig|iorig|imeta|mlog|pmspare|cpool|cvol|"
    r"vdata)(?:_\d+)?)*)(\]?)"
)
"""A logical volume's name, with what LVM puts behind the names of hidden ones."""
_OCTAL = re.compile(r"\\(\d{3})")
_PLAIN_OPTIONS = frozenset({"errors", "data", "compress", "pri", "mode", "discard", "commit", "barrier"})
"""Mount options whose value is a word of the file system."""
_PSEUDO = frozenset({"proc", "sysfs", "tmpfs", "devpts", "devtmpfs", "debugfs", "hugetlbfs", "none"})
"""File systems without a device: their source is a word that says nothing."""
_CONF_LINES = frozenset({"ARRAY", "DEVICE", "HOMEHOST", "CREATE", "AUTO", "POLICY", "CONTAINERS"})
"""The lines of mdadm.conf that say something of arrays."""

Known = Mapping[str, tuple[Pool, str, str]]
"""Spellings of words in links and messages: the pool and the word, and what stands before it in this spelling."""


class Rewriter:
    """Rewrites texts of every kind; ``known`` are the words of one server that its links and messages may hold."""

    def __init__(self, words: Words, known: Known) -> None:
        self._words = words
        self._known = known
        identities = [spelled for spelled, (pool, _, _) in known.items() if pool not in (Pool.NAME, Pool.HOST)]
        self._in_links = _any_of(identities, _WWN, _UUID)
        self._in_texts = _any_of(known, _WWN, _UUID, _LVM, _ADDRESS)

    def __call__(self, kind: Kind, text: str) -> str:
        """The text with its words masked (or noted); what is empty stays so."""
        return _KINDS[kind](self, text) if text else text

    def serial(self, text: str) -> str:
        """A serial number, or the WWN that stands for one where a disk has none."""
        return self._words.swap(Pool.WWN if _LIKE_WWN.fullmatch(text) else Pool.SERIAL, text)

    def wwn(self, text: str) -> str:
        return self._words.swap(Pool.WWN, text)

    def uuid(self, text: str) -> str:
        if short := _SHORT_ID.fullmatch(text):
            return f"{short[1] or ''}{self._words.swap(Pool.UUID, short[2].lower())}{short[3] or ''}"
        plain = re.sub("[-:]", "", text)
        if not plain.strip("0"):
            return text
        masked = iter(self._words.swap(Pool.UUID, plain.lower() if re.fullmatch(f"{_HEX}{{32}}", plain) else plain))
        return "".join(letter if letter in "-:" else next(masked) for letter in text)

    def word(self, text: str) -> str:
        """A name that people gave, or an identity that stands for one."""
        if _IDENTITY.search(text):
            return _IDENTITY.sub(lambda match: self.uuid(match[0]), text)
        return self._words.swap(Pool.NAME, text) if text else text

    def name(self, text: str) -> str:
        opened, base, hidden, closed = _HIDDEN.fullmatch(text).groups()  # type: ignore[union-attr]
        return f"{opened}{self.word(base)}{hidden}{closed}"

    def label(self, text: str) -> str:
        return self._words.label(text) or ":".join(map(self.word, text.split(":")))

    def tags(self, text: str) -> str:
        return ",".join(tag if tag.startswith("stackctl") else self.word(tag) for tag in text.split(","))

    def device(self, text: str) -> str:
        return f"md_{self.word(text[3:])}" if text.startswith("md_") else text

    def mapped_name(self, text: str) -> str:
        parts = None if _IDENTITY.search(text) else _MAPPED.fullmatch(text)
        if parts is None:
            return self.word(text)
        names = (self.name(part.replace("--", "-")).replace("-", "--") for part in parts.group(1, 2))
        return "-".join(names) + (parts[3] or "")

    def mapped_uuid(self, text: str) -> str:
        if found := re.fullmatch(r"LVM-(.{32})(.{32})(.*)", text):
            return f"LVM-{self.uuid(found[1])}{self.uuid(found[2])}{found[3]}"
        if found := re.fullmatch(rf"(CRYPT-[A-Z0-9]+-)({_HEX}{{32}})?(-?)(.*)", text):
            return f"{found[1]}{self.uuid(found[2] or '')}{found[3]}{self.word(found[4])}"
        if found := re.fullmatch(r"((?:part\d+-)?mpath-)(.*)", text):
            return found[1] + self._wwid(found[2])
        head, hyphen, rest = text.partition("-")
        return f"{head}{hyphen}{self.word(rest)}" if hyphen else self.word(text)

    def extents(self, text: str) -> str:
        runs = (run.rpartition(":") for run in text.split())
        return " ".join(f"{(self.path if where[:1] == '/' else self.name)(where)}:{run}" for where, _, run in runs)

    def path(self, text: str) -> str:
        if not text.startswith("/"):
            return text if text.startswith("[") else self.word(text)
        for start, rewrite in _PLACES.items():
            if text.startswith(start):
                return start + rewrite(self, text[len(start) :])
        if text.startswith("/dev/") and text.count("/") == 2:
            return "/dev/" + self.device(text[5:])
        return "/".join(map(self.word, text.split("/")))

    def link(self, text: str) -> str:
        return self.path(text) if text.startswith("/dev/disk/") else self.word(text)

    def by_id(self, text: str) -> str:
        name, part = re.fullmatch(r"(.*?)(-part\d+)?", text).groups()  # type: ignore[union-attr]
        for start, rewrite in _IDENTITIES.items():
            if name.startswith(start):
                return start + rewrite(self, name[len(start) :]) + (part or "")
        head, hyphen, rest = name.partition("-")
        return f"{head}{hyphen}{self._wwid(rest)}{part or ''}"

    def by_path(self, text: str) -> str:
        if text.startswith("ip-") or "iqn." in text or "eui." in text:
            return f"{text[:3]}{self.serial(text[3:])}"
        return re.sub(rf"0x{_HEX}{{8,32}}", lambda match: self.wwn(match[0]), text)

    def _wwid(self, text: str) -> str:
        """What udev puts into a link of a disk: what is known in it is masked, else it is masked as a whole."""
        masked, count = self._in_links.subn(self._loose, text)
        return masked if count else self.serial(text)

    def options(self, text: str) -> str:
        return ",".join(map(self._option, text.split(",")))

    def _option(self, option: str) -> str:
        key, equals, value = option.partition("=")
        if not equals or key in _PLAIN_OPTIONS or re.fullmatch(r"[\d.]+[kKmMgG]?", value):
            return option
        return f"{key}={self.path(value)}"

    def fstab(self, text: str) -> str:
        lines = (
            [_plain(field) for field in line.split()] for line in text.splitlines() if "#" not in line.strip()[:1]
        )
        return "".join(f"{' '.join(self._entry(fields))}\n" for fields in lines if len(fields) >= 3)

    def _entry(self, fields: list[str]) -> list[str]:
        source, path, kind, *rest = fields
        key, equals, value = source.partition("=")
        rewrite = _SOURCES.get(key) if equals else None
        if rewrite:
            source = f"{key}={rewrite(self, value)}"
        elif source.startswith("/"):
            source = self.path(source)
        elif kind not in _PSEUDO:
            source = self.word(source)
        return [source, self.path(path), kind, *map(self.options, rest[:1]), *rest[1:]]

    def mdadm_conf(self, text: str) -> str:
        lines = (line.split("#", 1)[0].split() for line in re.sub(r"\n[ \t]+", " ", text).splitlines())
        return "".join(
            f"{' '.join([words[0], *map(self._conf_word, words[1:])])}\n"
            for words in lines
            if words and words[0].upper() in _CONF_LINES
        )

    def _conf_word(self, text: str) -> str:
        key, equals, value = text.partition("=")
        if not equals:
            return self.path(text) if text.startswith("/") else self.label(text)
        rewrite = _CONF_WORDS.get(key.lower())
        return f"{key}={rewrite(self, value)}" if rewrite else text

    def text(self, text: str) -> str:
        return self._in_texts.sub(self._loose, text)

    def _loose(self, match: re.Match[str]) -> str:
        spelled = match[0]
        if spelled in self._known:
            pool, word, before = self._known[spelled]
            masked = self._words.swap(pool, word)
            return before + (masked.removeprefix("0x") if not spelled.startswith("0x") else masked)
        if re.fullmatch(_WWN, spelled):
            return self.wwn(spelled)
        if re.fullmatch(f"{_UUID}|{_LVM}", spelled):
            return self.uuid(spelled)
        return self._words.swap(Pool.ADDRESS, spelled)

    def md(self, text: str) -> str:
        """struct mdp_superblock_1 (linux/raid/md_p.h): the array's UUID and name, the device's own UUID."""
        return self._superblock(text, uuids=(16, 168), name=slice(32, 64))

    def xfs(self, text: str) -> str:
        """The superblock of XFS: its UUID and label, and the UUID that its metadata carries."""
        return self._superblock(text, uuids=(32, 248), name=slice(108, 120))

    def ext4(self, text: str) -> str:
        """The superblock of ext4: its UUID, its journal's and its label; where it was last mounted is left out."""
        masked = bytearray.fromhex(self._superblock(text, uuids=(104, 208), name=slice(120, 136)))
        masked[136:200] = bytes(len(masked[136:200]))
        return masked.hex()

    def swap(self, text: str) -> str:
        """The header of swap space: its UUID and label."""
        return self._superblock(text, uuids=(12,), name=slice(28, 44))

    def _superblock(self, text: str, *, uuids: Iterable[int], name: slice) -> str:
        raw = bytearray.fromhex(text)
        for at in uuids:
            if len(raw) >= at + 16:
                raw[at : at + 16] = uuid.UUID(self.uuid(str(uuid.UUID(bytes=bytes(raw[at : at + 16]))))).bytes
        field = bytes(raw[name])
        label = field.split(b"\0", 1)[0].decode(errors="replace")
        raw[name] = self(Kind.LABEL, label).encode()[: len(field)].ljust(len(field), b"\0")
        return raw.hex()


def known_words(found: Iterable[tuple[Pool, str]]) -> Known:
    """How links and messages may spell the words of a server."""
    known: dict[str, tuple[Pool, str, str]] = {}
    for pool, word in found:
        if pool is Pool.WWN and word.startswith("0x"):
            # scsi_id writes the type of the name before it: 3 for NAA
            known |= {word[2:]: (pool, word, ""), f"3{word[2:]}": (pool, word, "3")}
        known[word] = (pool, word, "")
    # udev writes underscores for blanks; a serial number may well be the WWN without its 0x
    known |= {re.sub(r"\s+", "_", word): (pool, word, "") for pool, word in found if pool is Pool.SERIAL}
    return {spelled: entry for spelled, entry in known.items() if len(spelled) > 2}


def _any_of(words: Iterable[str], *patterns: str) -> re.Pattern[str]:
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join([*longest_first, *patterns])})(?![A-Za-z0-9])")


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


Rewrite = Callable[[Rewriter, str], str]

_KINDS: Mapping[Kind, Rewrite] = {
    Kind.DEVICE: Rewriter.device,
    Kind.SERIAL: Rewriter.serial,
    Kind.WWN: Rewriter.wwn,
    Kind.UUID: Rewriter.uuid,
    Kind.NAME: Rewriter.name,
    Kind.LABEL: Rewriter.label,
    Kind.TAGS: Rewriter.tags,
    Kind.MAPPED_NAME: Rewriter.mapped_name,
    Kind.MAPPED_UUID: Rewriter.mapped_uuid,
    Kind.EXTENTS: Rewriter.extents,
    Kind.PATH: Rewriter.path,
    Kind.LINK: Rewriter.link,
    Kind.OPTIONS: Rewriter.options,
    Kind.FSTAB: Rewriter.fstab,
    Kind.MDADM_CONF: Rewriter.mdadm_conf,
    Kind.MD: Rewriter.md,
    Kind.XFS: Rewriter.xfs,
    Kind.EXT4: Rewriter.ext4,
    Kind.SWAP: Rewriter.swap,
    Kind.TEXT: Rewriter.text,
}
_PLACES: Mapping[str, Rewrite] = {
    "/dev/mapper/": Rewriter.mapped_name,
    "/dev/md/": Rewriter.label,
    "/dev/disk/by-id/": Rewriter.by_id,
    "/dev/disk/by-path/": Rewriter.by_path,
    "/dev/disk/by-uuid/": Rewriter.uuid,
    "/dev/disk/by-partuuid/": Rewriter.uuid,
    "/dev/disk/by-label/": Rewriter.label,
    "/dev/disk/by-partlabel/": Rewriter.label,
}
_IDENTITIES: Mapping[str, Rewrite] = {
    "dm-name-": Rewriter.mapped_name,
    "dm-uuid-": Rewriter.mapped_uuid,
    "md-name-": Rewriter.label,
    "md-uuid-": Rewriter.uuid,
    "lvm-pv-uuid-": Rewriter.uuid,
}
"""Links under by-id that are no disk's, by how they begin."""
_SOURCES: Mapping[str, Rewrite] = {
    "UUID": Rewriter.uuid,
    "PARTUUID": Rewriter.uuid,
    "LABEL": Rewriter.label,
    "PARTLABEL": Rewriter.label,
    "ID": Rewriter.by_id,
}
"""How fstab names a device; fstab(5)."""
_CONF_WORDS: Mapping[str, Rewrite] = {
    "uuid": Rewriter.uuid,
    "name": Rewriter.label,
    "names": Rewriter.label,
    "container": Rewriter._conf_word,
    "bitmap": Rewriter.path,
    "path": Rewriter.by_path,
}
"""The words of mdadm.conf that name something; mdadm.conf(5)."""
