"""How plans and reports of moves between databases are shown."""

from stackctl import console
from stackctl.database.move import Report
from stackctl.database.plan import MovePlan
from stackctl.units import format_seconds, format_size


def show(plan: MovePlan) -> None:
    """A plan, on stdout: the tables, what changes on the way."""
    console.say(f"from {plan.source} to {plan.target}", style="bold")
    console.print_table(
        ["TABLE", "WHAT HAPPENS", "ROWS", "THERE", "SIZE"],
        [(table.name, table.fate, table.rows, table.done, format_size(table.size)) for table in plan.tables],
    )
    if plan.changes:
        console.say("")
        console.print_table(
            ["AT", "BEFORE", "AFTER", "TO KNOW"],
            [(change.where, change.before, change.after, change.warning) for change in plan.changes],
        )
    console.say("")


def conclude(report: Report) -> None:
    """What became of a move."""
    if not report.verdicts:
        console.note("nothing stands in the way of this move; nothing was written", style="green")
        return
    console.print_table(
        ["TABLE", "ROWS", "CHECKSUM"],
        [(verdict.table, verdict.moved.rows, verdict.moved.digits[:16]) for verdict in report.verdicts],
    )
    if any(verdict.fault for verdict in report.verdicts):
        return
    rows = sum(verdict.moved.rows for verdict in report.verdicts)
    what = f"{rows} rows in {len(report.verdicts)} tables are the same at both ends"
    console.note(f"{what}; took {format_seconds(report.seconds)}", style="green")
