#!/usr/bin/env python3
"""Our whole crawl (fetch, store, index) against Scrapy's fetch and parse, on the same site and machine.

Apache serves a manual on loopback (its own work is counted for neither). Ours counts every process of the app and of
MariaDB, gearmand, memcached and searchd. Scrapy runs in an environment of its own that is made when it is missing.

    .venv/bin/python bench/crawl.py [--site DIR] [--fetch-workers N] [--runs N] [--json]
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.lib.waiting import wait_for
from tests.stack import WORKERS, Process, Stack, free_port, listens, missing_programs

SPIDER = Path(__file__).with_name("spider.py")
MANUAL = Path("/usr/share/doc/apache2-doc/manual")
SCRAPY = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stackctl" / "bench-scrapy"


@contextlib.contextmanager
def site(folder: Path, root: Path) -> Iterator[str]:
    """Apache on a free port of loopback; gives the URL of its first page."""
    port = free_port()
    modules = Path("/usr/lib/apache2/modules")
    lines = [
        f"LoadModule {name}_module {modules}/mod_{name}.so" for name in ("mpm_event", "authz_core", "mime", "dir")
    ]
    user = ["User nobody", "Group nogroup"] if os.geteuid() == 0 else []
    lines += [
        *user, f"Listen 127.0.0.1:{port}", "ServerName localhost", f"PidFile {folder}/apache.pid",
        f"ErrorLog {folder}/apache.log", f"DocumentRoot {root}", "TypesConfig /etc/mime.types",
        "DirectoryIndex index.html",
        "AddCharset UTF-8 .html", f"<Directory {root}>", "Require all granted", "Options FollowSymLinks",
        "</Directory>",
        f"DefaultRuntimeDir {folder}", "KeepAlive On", "MaxKeepAliveRequests 0",
    ]  # fmt: skip
    config = folder / "apache.conf"
    config.write_text("\n".join(lines) + "\n")
    apache = Process(
        [shutil.which("apache2") or "/usr/sbin/apache2", "-f", str(config), "-D", "FOREGROUND"], folder / "out.log"
    )
    apache.start()
    try:
        wait_for(lambda: listens(port), "Apache")
        yield f"http://127.0.0.1:{port}/"
    finally:
        apache.stop()


def ours(folder: Path, start: str, fetch_workers: int) -> dict[str, float]:
    """Crawl and index; gives pages, documents, and seconds of wall and CPU."""
    stack = Stack(folder)
    stack.start()
    try:
        stack.clean("bench")
        host = start.split("/")[2]
        settings = stack.write_settings(fetch={"allow": [host], "concurrency": 16})
        run = [sys.executable, "-m", "stacksearch.cli", "--config", str(settings)]
        subprocess.run([*run, "migrate"], check=True, stdout=subprocess.DEVNULL)
        kinds = [("worker", "fetch")] * (fetch_workers - 1) + list(WORKERS)
        with stack.running(settings, *kinds) as workers:
            wait_for(lambda: subprocess.run([*run, "check"], stdout=subprocess.DEVNULL).returncode == 0, "workers")
            processes = [*workers, *stack.services.values()]
            before = {process: process.cpu_seconds() for process in processes}
            began = time.monotonic()
            subprocess.run([*run, "submit", start], check=True, stdout=subprocess.DEVNULL)

            def ended() -> bool:
                rows = stack.root(
                    lambda cursor: cursor.execute(
                        "SELECT COUNT(*) FROM bench.url WHERE state NOT IN ('done', 'failed')"
                    )
                )
                return bool(rows[0][0] == 0)

            wait_for(ended, "the crawl", timeout=1800)
            wall = time.monotonic() - began
            cpu = {process: process.cpu_seconds() - before[process] for process in processes}
            shares: dict[str, float] = {}
            for process, seconds in cpu.items():
                name = " ".join(process.argv[-2:]) if process in workers else Path(process.argv[0]).name
                shares[name.split("/")[-1]] = shares.get(name.split("/")[-1], 0.0) + seconds
            counts = dict(
                stack.root(lambda cursor: cursor.execute("SELECT state, COUNT(*) FROM bench.url GROUP BY state"))
            )
            documents = stack.sphinx("SHOW INDEX documents STATUS")
            indexed = next(int(value) for name, value in documents if name == "indexed_documents")
        return {
            "pages": counts.get("done", 0), "failed": counts.get("failed", 0), "documents": indexed,
            "wall": wall, "cpu": sum(cpu.values()), **{f"cpu {name}": value for name, value in shares.items()},
        }  # fmt: skip
    finally:
        stack.stop()


def scrapy(folder: Path, start: str) -> dict[str, float]:
    """The same pages fetched and parsed by Scrapy."""
    python = SCRAPY / "bin" / "python"
    if not (SCRAPY / "ready").exists():
        print("installing Scrapy", file=sys.stderr)
        venv.create(SCRAPY, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "scrapy"], check=True)
        (SCRAPY / "ready").touch()
    result = folder / "scrapy.json"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run([python, str(SPIDER), start, str(result)], check=True)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = json.loads(result.read_text())
    # What starting Python and Scrapy takes is not counted: the spider tells when it began and ended.
    return {
        "pages": found["pages"],
        "wall": found["wall"],
        "cpu": found["cpu"],
        "process wall": wall,
        "process cpu": cpu,
    }


def main() -> None:
    """Run both, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=MANUAL, help="the folder that is served (%(default)s)")
    parser.add_argument("--fetch-workers", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1, help="runs of each, taken in turns; medians are compared")
    parser.add_argument("--only", choices=("ours", "scrapy"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if missing := missing_programs():
        sys.exit(f"missing programs: {', '.join(missing)}")
    runs: dict[str, list[dict[str, float]]] = {"ours": [], "scrapy": []}
    with tempfile.TemporaryDirectory(prefix="crawl-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with site(folder, arguments.site) as start:
            for number in range(arguments.runs):
                if arguments.only != "scrapy":
                    runs["ours"].append(ours(folder / f"ours-{number}", start, arguments.fetch_workers))
                if arguments.only != "ours":
                    runs["scrapy"].append(scrapy(folder, start))
    report(runs, as_json=arguments.json)


def report(runs: dict[str, list[dict[str, float]]], *, as_json: bool) -> None:
    """Pages a second and milliseconds of CPU a page, of both, and how they compare."""
    rows = {}
    for name, found in runs.items():
        if found:
            rows[name] = {
                "pages": found[-1]["pages"],
                "pages_per_second": statistics.median(run["pages"] / run["wall"] for run in found),
                "cpu_ms_per_page": statistics.median(1000 * run["cpu"] / run["pages"] for run in found),
            }
    if len(rows) == 2:
        rows["ratio"] = {
            "wall": rows["ours"]["pages_per_second"] / rows["scrapy"]["pages_per_second"],
            "cpu": rows["scrapy"]["cpu_ms_per_page"] / rows["ours"]["cpu_ms_per_page"],
        }
    if as_json:
        print(json.dumps({"summary": rows, "runs": runs}, indent=2))
        return
    for name in ("ours", "scrapy"):
        if name in rows:
            row = rows[name]
            print(
                f"{name:<7} {row['pages']:>6.0f} pages  {row['pages_per_second']:>7.1f} pages/s"
                f"  {row['cpu_ms_per_page']:>6.2f} ms CPU/page"
            )
    for share, seconds in runs["ours"][-1].items() if runs["ours"] else ():
        if share.startswith("cpu "):
            print(f"          of which {share[4:]:<18} {1000 * seconds / runs['ours'][-1]['pages']:.2f} ms")
    if "ratio" in rows:
        print(
            f"ratio   {rows['ratio']['wall']:.2f} x pages/s, {rows['ratio']['cpu']:.2f} x by CPU (at least 2 wanted)"
        )


if __name__ == "__main__":
    main()
