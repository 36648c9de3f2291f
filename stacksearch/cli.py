"""The command line: parse, call one function, print."""

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from stacksearch import config, schema, service, status
from stacksearch.audit import Audit
from stacksearch.config import Config
from stacksearch.errors import ExitCode, StacksearchError
from stacksearch.forget import forget
from stacksearch.search import Question, Searcher
from stacksearch.service import Parts
from stacksearch.submission import submit

Command = Callable[[Config, argparse.Namespace], int | None]


def _worker(settings: Config, arguments: argparse.Namespace) -> None:
    {"fetch": service.run_fetch, "document": service.run_document, "search": service.run_search}[arguments.kind](
        settings
    )


def _sweeper(settings: Config, arguments: argparse.Namespace) -> None:
    service.run_sweeper(settings, once=arguments.once)


def _web(settings: Config, _: argparse.Namespace) -> None:
    from stacksearch.web.app import run

    run(settings)


def _migrate(settings: Config, arguments: argparse.Namespace) -> None:
    applied = schema.migrate(Parts.of(settings).database)
    if arguments.json:
        _print_json({"applied": applied, "version": schema.LATEST})
    else:
        print(f"applied {', '.join(map(str, applied))}" if applied else f"unchanged: version {schema.LATEST}")


def _submit(settings: Config, arguments: argparse.Namespace) -> None:
    parts = Parts.of(settings)
    urls = submit(settings, parts.database, parts.client, arguments.urls, arguments.depth)
    if arguments.json:
        _print_json([asdict(url) for url in urls])
    else:
        for url in urls:
            print(f"{url.id}  {url.state}  {url.address}")


def _forget(settings: Config, arguments: argparse.Namespace) -> None:
    parts = Parts.of(settings)
    known = forget(parts.database, parts.cache, parts.index, arguments.urls)
    if arguments.json:
        _print_json({"forgotten": known})
    else:
        print(f"forgot {known} of {len(arguments.urls)} URLs")


def _status(settings: Config, arguments: argparse.Namespace) -> int:
    parts = Parts.of(settings)
    found = status.read(parts.database)
    began = time.monotonic()
    while arguments.wait and found.open:
        if time.monotonic() - began > arguments.timeout:
            raise StacksearchError(
                f"{found.open} URLs are still open after {arguments.timeout:g} s", hint="stacksearch check"
            )
        print(f"{_summary(found)}", file=sys.stderr, flush=True)
        time.sleep(min(2.0, 0.2 + (time.monotonic() - began) / 10))
        found = status.read(parts.database)
    if arguments.json:
        _print_json(found.to_json())
    else:
        print(_summary(found))
        for each in found.failures:
            print(f"  failed  {each.url}  {each.reason}")
    return ExitCode.DONE


def _summary(found: status.Status) -> str:
    counts = "  ".join(f"{count} {state}" for state, count in found.queue.items())
    return f"{counts}  {found.documents} documents  {found.pages_per_second} pages/s"


def _search(settings: Config, arguments: argparse.Namespace) -> None:
    parts = Parts.of(settings)
    question = Question(" ".join(arguments.words), arguments.page, arguments.limit or settings.web.results)
    answer = Searcher(parts.database, parts.cache, parts.index).answer(question)
    if arguments.json:
        _print_json(answer.to_json())
        return
    print(f"{answer.total} results in {answer.seconds:.3f} s")
    for hit in answer.hits:
        print(f"\n{hit.title}\n  {hit.url}")


def _rebuild_index(settings: Config, _: argparse.Namespace) -> None:
    parts = Parts.of(settings)
    audit = Audit(parts.database, parts.index, parts.indexing, settings.sweep.audit_interval)
    indexed, dropped = audit.rebuild(lambda count: print(f"{count} documents", file=sys.stderr))
    print(f"indexed {indexed} documents, dropped {dropped} that are no more")


def _check(settings: Config, arguments: argparse.Namespace) -> int:
    parts = Parts.of(settings)
    checks = status.check(settings, parts.database, parts.cache, parts.index)
    if arguments.json:
        _print_json([asdict(each) for each in checks])
    else:
        for each in checks:
            print(f"{'ok  ' if each.good else 'FAIL'}  {each.name:<9} {each.said} ({each.milliseconds} ms)")
    return ExitCode.DONE if all(each.good for each in checks) else ExitCode.FAULT


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stacksearch", description="The search app: URLs are queued, fetched, cached, indexed and found."
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE",
        help=f"the configuration; without it ${config.PATH_VARIABLE}, else {config.DEFAULT_PATH}",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="log more")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, run: Command, summary: str, example: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name, help=summary, description=summary, epilog=f"example: stacksearch {example}"
        )
        command.set_defaults(run=run)
        return command

    worker = add("worker", _worker, "Run a worker until it is told to stop.", "worker fetch")
    worker.add_argument("kind", choices=("fetch", "document", "search"))
    sweeper = add("sweeper", _sweeper, "Find lost work and set it going again, until told to stop.", "sweeper --once")
    sweeper.add_argument("--once", action="store_true", help="one round, then end")
    add("web", _web, "Serve the pages and the API until told to stop.", "web")
    migrate = add("migrate", _migrate, "Bring the tables to this release's version.", "migrate --json")
    submitted = add("submit", _submit, "Queue URLs to be crawled.", "submit --depth 3 https://example.org/")
    submitted.add_argument("urls", nargs="+", metavar="URL")
    submitted.add_argument("--depth", type=int, help="how many links to follow from there")
    forgotten = add(
        "forget", _forget, "Take pages out of the queue, the database, the cache and the index.",
        "forget https://example.org/",
    )  # fmt: skip
    forgotten.add_argument("urls", nargs="+", metavar="URL")
    standing = add("status", _status, "Show how the crawl stands.", "status --wait --timeout 600")
    standing.add_argument("--wait", action="store_true", help="until every URL has come to its end")
    standing.add_argument("--timeout", type=float, default=3600.0, help="seconds to wait at most (%(default)g)")
    found = add("search", _search, "Search, without Gearman.", 'search "access control"')
    found.add_argument("words", nargs="+", metavar="WORD")
    found.add_argument("--page", type=int, default=1, help="the page of results (%(default)d)")
    found.add_argument("--limit", type=int, metavar="N", help="results on a page")
    add("rebuild-index", _rebuild_index, "Index every document of the database again.", "rebuild-index")
    check = add("check", _check, "Look at every service behind the app; ends with 4 when one is amiss.", "check")
    for command in (migrate, submitted, forgotten, standing, found, check):
        command.add_argument("--json", action="store_true", help="print JSON on stdout")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with the right code; no traceback reaches a user."""
    arguments = _parser().parse_args(argv)
    service.set_up_logging(arguments.verbose)
    if arguments.run not in (_worker, _sweeper, _web):
        logging.getLogger().setLevel(logging.DEBUG if arguments.verbose else logging.WARNING)
    try:
        code = arguments.run(config.load(arguments.config), arguments) or ExitCode.DONE
    except StacksearchError as failure:
        print(f"error: {failure}", file=sys.stderr)
        code = failure.code
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        code = ExitCode.DONE
    sys.exit(code)


if __name__ == "__main__":
    main()
