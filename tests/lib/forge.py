"""Small real programs and shared libraries, made by the C compiler, and archives of them."""

import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

PLUGINS = "lib/drizzle7"
"""Where the trees made here have their plugins."""


class Forge:
    """Makes ELF files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def program(self, path: str, source: str = "int main(void) { return 0; }", *links: Path) -> Path:
        """A program that needs the libraries ``links``."""
        return self._compile(path, source, [], links)

    def library(
        self, path: str, source: str = "int nothing(void) { return 0; }", *links: Path, soname: str = ""
    ) -> Path:
        """A shared library of this soname (its file's name without one)."""
        return self._compile(path, source, ["-shared", "-fPIC", f"-Wl,-soname,{soname or Path(path).name}"], links)

    def versioned(self, path: str, symbol: str, version: str) -> Path:
        """A shared library that gives ``symbol`` in a symbol version, as glibc does."""
        script = self._place(f"{path}.map")
        script.write_text(f"{version} {{ global: {symbol}; }};\n")
        words = ["-shared", "-fPIC", f"-Wl,-soname,{Path(path).name}", f"-Wl,--version-script={script}"]
        library = self._compile(path, f"int {symbol}(void) {{ return 0; }}", words, ())
        script.unlink()
        return library

    def _compile(self, path: str, source: str, words: list[str], links: tuple[Path, ...]) -> Path:
        target = self._place(path)
        argv = ["gcc", "-x", "c", "-", "-o", str(target), *words, "-x", "none", "-Wl,--no-as-needed"]
        argv += [*map(str, links), "-Wl,--allow-shlib-undefined"]
        subprocess.run(argv, input=source, text=True, check=True, capture_output=True)
        return target

    def _place(self, path: str) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def tree(self) -> Path:
        """A tree laid out as Drizzle's is; nothing in it serves anything."""
        own = self.library("lib/libdrizzle.so.9.0.0", soname="libdrizzle.so.9")
        (own.parent / "libdrizzle.so.9").symlink_to(own.name)
        self.server()
        first = self.library(f"{PLUGINS}/libauth_file_plugin.so")
        for name in ("gearman_udf", "md5", "crc32"):
            shutil.copy(first, first.with_name(f"lib{name}_plugin.so"))
        (self.folder / "share").mkdir()
        return self.folder

    def server(self, *links: Path) -> Path:
        """The tree's program; it needs the tree's own library and those of ``links``.

        It names, as Drizzle's does, the plugins that it would load by itself (crc32, md5), and one that is compiled
        in (syslog) and shown to the loader.
        """
        source = (
            'const char *list = "crc32,md5";\nint _drizzled_syslog_plugin_;\nint main(void) { return list == 0; }\n'
        )
        return self._compile("sbin/drizzled", source, ["-rdynamic"], (self.folder / "lib/libdrizzle.so.9", *links))


def pack(folder: Path, file: Path, *, top: str = "drizzle-7.2") -> str:
    """Pack a folder, below one folder ``top``; gives the archive's SHA-256."""
    mode = {".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}.get(file.suffix, "w")
    with tarfile.open(file, mode) as tar:
        tar.add(folder, arcname=top)
    return hashlib.sha256(file.read_bytes()).hexdigest()
