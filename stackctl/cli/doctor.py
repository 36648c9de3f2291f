"""`stackctl doctor`: is this machine fit to be the controller?"""

from stackctl import console
from stackctl.cli.options import Inventory, Json
from stackctl.errors import FaultError
from stackctl.site.doctor import examine
from stackctl.site.load import open_site


def doctor(inventory: Inventory = None, json: Json = False) -> None:
    """Look at this machine: the programs, packages and folders that stackctl needs.

    Example: stackctl doctor
    """
    verdicts = list(examine(open_site(inventory)))
    if json:
        console.print_json([verdict.as_json() for verdict in verdicts])
    else:
        console.print_table(
            ["WHAT", "STATE", "FOUND", "TO MEND"], [(v.subject, v.state, v.detail, v.mend) for v in verdicts]
        )
    faults = [verdict.subject for verdict in verdicts if verdict.state == "fault"]
    if faults:
        raise FaultError(f"{len(faults)} of {len(verdicts)} are not as they must be: {', '.join(faults)}")
