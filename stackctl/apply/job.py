"""The main job: look at the servers, plan their disks, ask, then bring everything to what the site says."""

from collections.abc import Callable
from dataclasses import dataclass

from stackctl import console
from stackctl.apply.playbook import private_folder
from stackctl.apply.recording import recorded
from stackctl.apply.records import Recorder, counts, find_run, read_tasks
from stackctl.apply.run import RunOutcome, run_playbook
from stackctl.apply.survey import Survey, survey
from stackctl.errors import InputError, RefusedError
from stackctl.lab.state import endpoint
from stackctl.site.load import OpenSite
from stackctl.site.values import ROLES
from stackctl.units import format_seconds

PARTS = ("storage", *ROLES)
"""The parts of the main job, which are the tags of its plays."""
_TAGS = frozenset({*PARTS, "all", "tagged", "untagged"})


@dataclass(frozen=True)
class Job:
    """What the operator asked for. ``wipe`` are serial numbers of disks that may lose what they hold."""

    wipe: frozenset[str] = frozenset()
    check: bool = False
    limit: str | None = None
    tags: str | None = None
    quiet: bool = False
    verbosity: int = 0

    def __post_init__(self) -> None:
        if unknown := self._words - _TAGS:
            raise InputError(
                f"--tags {', '.join(sorted(unknown))}: there is no such part",
                hint=f"the parts are {', '.join(PARTS)}",
            )

    @property
    def _words(self) -> frozenset[str]:
        return frozenset(word.strip() for word in (self.tags or "all").split(","))

    @property
    def touches_disks(self) -> bool:
        """False when the tags leave out what works on disks."""
        return bool(self._words & {"storage", "all", "tagged"})

    def options(self) -> dict[str, object]:
        """What the run record keeps of it."""
        return {"check": self.check, "limit": self.limit, "tags": self.tags, "wipe": sorted(self.wipe)}


@dataclass(frozen=True)
class Done:
    """What became of the job: the plans it began with, and the run."""

    survey: Survey
    outcome: RunOutcome


def apply(open_site: OpenSite, job: Job, *, show: Callable[[Survey], None], agree: Callable[[Survey], bool]) -> Done:
    """Do the whole job.

    ``show`` shows the plans; ``agree`` is asked once when there is anything to do on disks, after every server has
    been planned and before any is changed. Raises RefusedError when it does not agree or a planner refuses,
    RunError when a server cannot be looked at; later failures are in the outcome.
    """
    with recorded(open_site.site.site, "check" if job.check else "apply", options=job.options()) as recorder:
        _tell_resumed(recorder)
        plans = Survey({}, {})
        if job.touches_disks:
            plans = _plans(open_site, job, recorder)
            show(plans)
            plans.check()
            recorder.planned(plans.digests)
            if plans.pending and not job.check and not agree(plans):
                raise RefusedError("nothing was changed: the plan for the disks was not agreed to")
        with private_folder() as folder:
            plans.write(folder)
            outcome = run_playbook(
                open_site,
                extra_vars={
                    "storage_wipe": sorted(job.wipe),
                    "storage_expected_digests": plans.digests,
                    "storage_survey": str(folder),
                },
                check=job.check,
                limit=job.limit,
                tags=job.tags,
                quiet=job.quiet,
                verbosity=job.verbosity,
                recorder=recorder,
            )
    return Done(plans, outcome)


def _plans(open_site: OpenSite, job: Job, recorder: Recorder) -> Survey:
    """The plans of all servers; those that lack the tools to tell what is on their disks get them first."""

    def look() -> Survey:
        return survey(open_site, wipe=job.wipe, limit=job.limit, recorder=recorder, verbosity=job.verbosity)

    plans = look()
    if job.check or not plans.lacking:
        return plans
    run_playbook(
        open_site,
        "tools.yml",
        limit=",".join(plans.lacking),
        quiet=job.quiet,
        verbosity=job.verbosity,
        recorder=recorder,
    ).check()
    return look()


def search_pages(open_site: OpenSite) -> dict[str, str]:
    """The address of the search page on each host that carries it."""
    site = open_site.site
    port = site.services.web.port
    pages = {}
    for name in site.hosts_with("search"):
        host = site.hosts[name]
        lab = endpoint(site.site, name) if host.lab else None
        if lab is not None and port == 80:
            pages[name] = f"http://{lab.address}:{lab.web_port}/"
        elif host.address is not None:
            address = f"[{host.address}]" if ":" in host.address else host.address
            pages[name] = f"http://{address}/" if port == 80 else f"http://{address}:{port}/"
    return pages


def _tell_resumed(recorder: Recorder) -> None:
    if recorder.run.resumed_from is None:
        return
    before = find_run(recorder.run.resumed_from, recorder.run.site)
    tasks = read_tasks(before)
    done = counts(tasks)
    ended = done["ok"] + done["changed"]
    last = next((task for task in reversed(tasks) if task.outcome in ("ok", "changed")), None)
    where = f", the last of them {last.role or last.play} / {last.task}" if last else ""
    ago = format_seconds(max(recorder.run.began - before.began, 0))
    console.note(
        f"going on after {before.id}, begun {ago} ago and {before.status}: {ended} tasks were done "
        f"({done['changed']} changed something){where}; what is done is checked, not done again"
    )
