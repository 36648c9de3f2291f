"""The command line: parse, call one function, print."""

import sys
from collections.abc import Sequence
from typing import Any

import typer

from stackctl import __version__, console
from stackctl.errors import ExitCode, StackctlError

app = typer.Typer(
    name="stackctl",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        console.say(f"stackctl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and end."
    ),
) -> None:
    """From bare disks to a validated stack, from one description of a site."""


# typer carries a click of its own, or uses the one that is installed; this is its error either way.
_UsageError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with the right code; no traceback reaches a user."""
    try:
        status = app(args=argv, prog_name="stackctl", standalone_mode=False)
        code = int(status) if isinstance(status, int) else int(ExitCode.DONE)
        if code == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
    except StackctlError as failure:
        console.error(str(failure))
        code = failure.code
    except _UsageError as failure:
        failure.show()
        code = ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        console.error("interrupted; run the same command again to go on")
        code = ExitCode.INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        code = ExitCode.DONE
    except OSError as failure:
        where = f"{failure.filename}: " if failure.filename else ""
        console.error(f"{where}{failure.strerror or failure}")
        code = ExitCode.FAILED
    sys.exit(code)


# The commands, in the order and under the headings that --help shows.
from stackctl.cli import apply, check, db, disks, doctor, explain, init, inspect, lab, plan, runs, validate  # noqa: E402

_SITE, _WORK, _LAB = "The site", "The work", "The lab"
app.command(rich_help_panel=_SITE)(init.init)
app.command(rich_help_panel=_SITE)(check.check)
app.command(rich_help_panel=_SITE)(explain.explain)
app.command(rich_help_panel=_SITE)(explain.schema)
app.command(rich_help_panel=_SITE)(doctor.doctor)
app.command(rich_help_panel=_WORK)(inspect.inspect)
app.command(rich_help_panel=_WORK)(plan.plan)
app.command(rich_help_panel=_WORK)(apply.apply)
app.command(rich_help_panel=_WORK)(validate.validate)
app.add_typer(db.app, name="db", rich_help_panel=_WORK)
app.add_typer(disks.app, name="disks", rich_help_panel=_WORK)
app.add_typer(runs.app, name="runs", rich_help_panel=_WORK)
app.add_typer(lab.app, name="lab", rich_help_panel=_LAB)
