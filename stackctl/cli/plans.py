"""How plans for disks are shown."""

from stackctl import console
from stackctl.apply.survey import Survey
from stackctl.storage.plan import Plan
from stackctl.units import format_size


def show(survey: Survey) -> None:
    """The plans of all servers, on stdout: disks, steps, alignment."""
    for host, plan in survey.plans.items():
        _show(host, plan)


def _show(host: str, plan: Plan) -> None:
    console.say(f"{host}: {_verdict(plan)}", style="bold")
    console.print_table(
        ["DISK", "SIZE", "HOLDS", "WHAT HAPPENS"],
        [(disk.title, format_size(disk.size), "; ".join(disk.holds) or "nothing", disk.fate) for disk in plan.disks],
    )
    if plan.steps:
        console.say("")
        console.print_table(
            ["STEP", "WHAT", "DESTROYS"],
            [(number, step.title, step.destroys or "nothing") for number, step in enumerate(plan.steps, 1)],
        )
    if plan.more:
        console.say("what is left after these steps is planned then: they only bring to light what is there")
    console.say("")
    console.print_table(
        ["LAYER", "SUBJECT", "VALUE", "MULTIPLE OF", "WHY", "ALIGNED"],
        [
            (
                link.layer,
                link.subject,
                link.value,
                link.multiple_of,
                link.why,
                "yes" if link.aligned else f"off by {link.off}",
            )
            for link in plan.alignment
        ],
    )
    for text in plan.notes:
        console.say(f"note: {text}")
    console.say("")


def _verdict(plan: Plan) -> str:
    if not plan.steps:
        return "nothing to do on its disks"
    count = f"{len(plan.steps)} step{'' if len(plan.steps) == 1 else 's'} on its disks"
    lost = len(plan.destroys)
    return f"{count}, {lost} of which destroy something" if lost else f"{count}, nothing is destroyed"
