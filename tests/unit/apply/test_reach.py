"""ssh is asked why a server cannot be reached."""

from collections.abc import Callable

import pytest

from stackctl.apply.events import TaskEnded
from stackctl.apply.reach import is_vague, reason, ssh_argv
from stackctl.process import RecordingRunner, Result

VARIABLES = {
    "ansible_host": "127.0.0.1",
    "ansible_port": 2222,
    "ansible_user": "root",
    "ansible_ssh_private_key_file": "/keys/id",
    "ansible_ssh_common_args": "-o UserKnownHostsFile=/keys/known -o IdentitiesOnly=yes",
}


@pytest.mark.parametrize(
    ("message", "vague"),
    [
        ("Task failed: SSH password was requested, but none specified", True),
        ("Host key checking is enabled, and SSH reported an unrecognized or mismatching host key.", True),
        ("Data could not be sent to remote host 'h'. Make sure …: [Errno 32] Broken pipe", True),
        ("Task failed: EOF on stream; last 100 lines received:\n", True),
        ("EOF on stream; last 100 lines received:\nssh: connect to host a port 1: Connection refused", False),
    ],
)
def test_which_messages_tell_too_little(message: str, vague: bool, ended: Callable[..., TaskEnded]) -> None:
    assert is_vague(ended("unreachable", msg=message)) is vague
    assert not is_vague(ended("failed", msg=message))


def test_the_login_is_the_one_that_ansible_tries() -> None:
    argv = ssh_argv(VARIABLES)
    assert argv[0] == "ssh"
    assert argv[-2:] == ["127.0.0.1", "true"]
    words = " ".join(argv)
    for expected in ("-p 2222", "-l root", "-i /keys/id", "UserKnownHostsFile=/keys/known", "BatchMode=yes"):
        assert expected in words
    assert words.index("ControlPath=none") < words.index("ControlPath=/")  # ssh takes the first


def test_the_reason_is_what_ssh_says() -> None:
    runner = RecordingRunner(lambda argv: Result(argv, 255, "", "root@a: Permission denied (publickey)."))
    assert reason(VARIABLES, runner) == "root@a: Permission denied (publickey)."
    assert reason(VARIABLES, RecordingRunner()) == ""
