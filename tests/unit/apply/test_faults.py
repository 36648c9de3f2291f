"""Real messages of ssh, sudo, apt and Ansible (2.19, with and without mitogen) become one clear error."""

from collections.abc import Callable

import pytest

from stackctl.apply.events import CENSORED, TaskEnded
from stackctl.apply.faults import exit_code, fault_of_task, fault_of_text, is_known
from stackctl.errors import ExitCode

Make = Callable[..., TaskEnded]

_SSH = 'Task failed: Data could not be sent to remote host "h". Make sure this host can be reached over ssh: '
_EOF = "Task failed: EOF on stream; last 100 lines received:\n"
_CHANGED = (
    "@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@@@@@@@@@\r\n"
    "Host key for [127.0.0.1]:42677 has changed and you have requested strict checking.\r\n"
    "Host key verification failed."
)
_UNKNOWN = (
    "No ED25519 host key is known for [a]:22 and you have requested strict checking.\r\nHost key verification failed."
)
_DENIED = "root@127.0.0.1: Permission denied (publickey,password,keyboard-interactive)."

UNREACHABLE = [
    (_SSH + "ssh: connect to host 127.0.0.1 port 1: Connection refused", "nothing answers SSH at 127.0.0.1 port 1"),
    (_EOF + "ssh: connect to host 127.0.0.1 port 1: Connection refused", "nothing answers SSH at 127.0.0.1 port 1"),
    (_SSH + "ssh: connect to host 203.0.113.9 port 22: Network is unreachable", "no way to 203.0.113.9 port 22"),
    (_EOF + "ssh: connect to host 203.0.113.9 port 22: No route to host", "no way to 203.0.113.9 port 22"),
    (_SSH + "ssh: connect to host 203.0.113.9 port 22: Connection timed out", "does not answer SSH in time"),
    (
        _SSH + "Connection timed out during banner exchange\r\nConnection to h port 22 timed out",
        "not answer SSH in time",
    ),
    ("Task failed: Connection timed out.", "does not answer SSH in time"),
    (
        _SSH + "ssh: Could not resolve hostname nosuch.invalid: Name or service not known",
        "name nosuch.invalid cannot",
    ),
    (_EOF + "ssh: Could not resolve hostname metal-1.lab-is-down.invalid: Name or service", "lab machine is not up"),
    (_SSH + _CHANGED, "host key is not the one that is known"),
    (_SSH + _UNKNOWN, "host key is not known"),
    (
        "Task failed: Host key checking is enabled, and SSH reported an unrecognized or mismatching host key.",
        "host key",
    ),
    (_SSH + _DENIED, "none of our SSH keys"),
    (_SSH + "no such identity: /absent: No such file or directory\r\n" + _DENIED, "none of our SSH keys"),
    ("Task failed: SSH password was requested, but none specified", "none of our SSH keys"),
    (_EOF + "bash: line 1: /usr/bin/python3: No such file or directory", "no Python at /usr/bin/python3"),
]


@pytest.mark.parametrize(("message", "expected"), UNREACHABLE)
def test_a_server_that_cannot_be_reached(message: str, expected: str, ended: Make) -> None:
    fault = fault_of_task(ended("unreachable", msg=message))
    assert expected in fault.message
    assert fault.hint
    assert (fault.code, fault.host, fault.where) == (ExitCode.FAILED, "metal-1", "")


@pytest.mark.parametrize(
    "message",
    [
        "Task failed: Data could not be sent to remote host 'h'. Make sure it can be reached: [Errno 32] Broken pipe",
        "Task failed: Mitogen was disconnected from the remote environment while a call was in-progress.",
        _SSH,
        "Shared connection to 127.0.0.1 closed.",
    ],
)
def test_a_connection_that_breaks_is_told_with_its_task(message: str, ended: Make) -> None:
    fault = fault_of_task(ended("unreachable", msg=message))
    assert fault.message == "the connection to the server broke"
    assert fault.where == "database / Install the server"


RIGHTS = [
    (
        {
            "msg": "Module result deserialization failed: No start of json char found",
            "rc": 127,
            "module_stderr": "/bin/sh: 1: sudo: not found\n",
        },
        "sudo is not installed",
    ),
    (
        {
            "msg": "Task failed: error occurred on host h: Child start failed: "
            "[Errno 2] No such file or directory: 'sudo'. Command was: sudo -p mitogen-sudo-prompt: -u root"
        },
        "sudo is not installed",
    ),
    ({"msg": "Task failed: Missing sudo password"}, "sudo wants a password"),
    ({"msg": "Task failed: error occurred on host h: sudo password is required"}, "sudo wants a password"),
    ({"msg": "MODULE FAILURE", "module_stderr": "ops is not in the sudoers file."}, "may not become root"),
    (
        {
            "msg": "The module interpreter '/usr/bin/python3' was not found.",
            "module_stdout": "",
            "rc": 127,
            "module_stderr": "/bin/sh: 1: /usr/bin/python3: not found\n",
        },
        "no Python at /usr/bin/python3",
    ),
]


@pytest.mark.parametrize(("result", "expected"), RIGHTS)
def test_rights_and_programs_on_the_server(result: dict[str, str], expected: str, ended: Make) -> None:
    fault = fault_of_task(ended("failed", **result))
    assert expected in fault.message
    assert (fault.code, fault.where) == (ExitCode.FAILED, "")


TASKS = [
    ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (unattended-upgr)", "lock"),
    (
        "[Errno 28] No space left on device: b'/root/.ansible/tmp/x' -> b'/srv/small/f'",
        "file system on the server is full",
    ),
    ("E: You don't have enough free space in /var/cache/apt/archives/.", "file system on the server is full"),
    (
        "E: Failed to fetch http://mirror.invalid/pool/a.deb  Temporary failure resolving 'mirror.invalid'",
        "mirror.invalid",
    ),
    ("E: Unable to connect to mirror.invalid:http:", "cannot fetch packages from mirror.invalid"),
]


@pytest.mark.parametrize(("message", "expected"), TASKS)
def test_packages_and_space(message: str, expected: str, ended: Make) -> None:
    fault = fault_of_task(ended("failed", msg="apt failed", stderr=message))
    assert expected in fault.message
    assert (fault.code, fault.host, fault.where) == (ExitCode.FAILED, "metal-1", "database / Install the server")


def test_a_timeout_of_apt_is_no_timeout_of_ssh(ended: Make) -> None:
    stderr = (
        "E: Failed to fetch http://mirror.invalid/x  Could not connect to mirror.invalid:80, connection timed out"
    )
    assert "mirror.invalid" in fault_of_task(ended("failed", msg="apt failed", stderr=stderr)).message


def test_an_undefined_variable_is_named_with_its_place(ended: Make) -> None:
    fault = fault_of_task(
        ended(
            "failed",
            msg="Task failed: Finalization of task args for 'ansible.builtin.ping' failed: Error while resolving "
            "value for 'data': 'nosuch_thing' is undefined",
            text="[ERROR]: Task failed\nOrigin: /srv/roles/a/tasks/main.yml:5:5\n\n<<< caused by >>>\n\n"
            "'nosuch_thing' is undefined\nOrigin: /srv/site/group_vars/all.yml:1:4\n\n1 a: x",
        )
    )
    assert fault.message == "the variable nosuch_thing is used but set nowhere (/srv/site/group_vars/all.yml:1)"
    assert fault.code is ExitCode.USAGE


def test_a_wrong_role_variable_is_wrong_input(ended: Make) -> None:
    fault = fault_of_task(
        ended("failed", msg="Validation of arguments failed:\nmissing required arguments: specced_port")
    )
    assert "missing required arguments: specced_port" in fault.message
    assert fault.code is ExitCode.USAGE


TEXTS = [
    ("[ERROR]: Decryption failed (no vault secrets were found that could decrypt).", "vault password does not fit"),
    ("[ERROR]: Attempting to decrypt but no vault secrets found.", "no password for it is known"),
    ("[ERROR]: YAML parsing failed: While parsing a flow sequence did", "cannot be read"),
    ("[ERROR]: the role 'nosuch' was not found in /a\nOrigin: /srv/play.yml:3:11\n", "nosuch (/srv/play.yml:3)"),
    ("[ERROR]: couldn't resolve module/action 'nosuch'. This often", "no Ansible module nosuch"),
    ("[ERROR]: Specified inventory and/or --limit leaves us with no hosts to target.", "limit matches no"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_what_stops_ansible_before_it_begins_is_wrong_input(text: str, expected: str) -> None:
    fault = fault_of_text(text)
    assert expected in fault.message
    assert fault.code is ExitCode.USAGE


def test_what_is_not_known_is_shown_as_it_is() -> None:
    fault = fault_of_text("chatter\n[ERROR]: Something new\nmore")
    assert (fault.message, fault.code) == ("Ansible could not begin: Something new", ExitCode.FAILED)
    assert "printed nothing" in fault_of_text("").message


def test_a_module_of_ours_speaks_for_itself(ended: Make) -> None:
    fault = fault_of_task(
        ended(
            "failed",
            msg="disk LAB-1 holds ext4: No space left on device",
            stackctl_exit=3,
            stackctl_hint="--wipe LAB-1",
        )
    )
    assert (fault.message, fault.hint) == ("disk LAB-1 holds ext4: No space left on device", "--wipe LAB-1")
    assert fault.code is ExitCode.REFUSED
    assert fault_of_task(ended("failed", msg="x", stackctl_hint="y")).code is ExitCode.FAILED
    assert fault_of_task(ended("failed", msg="x", stackctl_exit="nonsense")).code is ExitCode.FAILED


def test_a_lookup_of_ours_speaks_for_itself(ended: Make) -> None:
    message = (
        "Task failed: Finalization of task args failed: The lookup plugin 'stackctl_secret' failed: "
        "the vault password does not open secrets.yml\n  hint: put the right one into vault-password"
    )
    fault = fault_of_task(ended("failed", msg=message))
    assert fault.message == "the vault password does not open secrets.yml"
    assert (fault.hint, fault.code) == ("put the right one into vault-password", ExitCode.USAGE)


def test_the_first_item_that_failed_speaks_for_a_loop(ended: Make) -> None:
    items = [
        {"msg": "fine"},
        {"failed": True, "msg": "Task failed: Module failed: the second broke", "stderr": "why"},
    ]
    fault = fault_of_task(ended("failed", msg="One or more items failed", results=items))
    assert fault.message == "the second broke\n  why"


def test_a_hidden_failure_tells_nothing(ended: Make) -> None:
    fault = fault_of_task(ended("failed", **{CENSORED: "the output has been hidden"}))
    assert "hidden" in fault.message
    assert fault.where == "database / Install the server"


def test_which_failures_are_known(ended: Make) -> None:
    assert is_known(ended("unreachable", msg="Task failed: SSH password was requested, but none specified"))
    assert is_known(ended("failed", msg="x", stackctl_hint="y"))
    assert not is_known(ended("failed", msg="mitogen.core.CallError: builtins.AttributeError: no such thing"))


def test_the_text_of_a_fault_says_where_what_and_how_to_mend(ended: Make) -> None:
    fault = fault_of_task(ended("failed", msg="it broke", stackctl_hint="mend it"))
    assert str(fault) == "metal-1: database / Install the server: it broke\n  hint: mend it"


def test_exit_codes_of_several_faults(ended: Make) -> None:
    refused = fault_of_task(ended("failed", msg="x", stackctl_exit=3))
    failed = fault_of_task(ended("failed", msg="x"))
    assert exit_code([]) is ExitCode.DONE
    assert exit_code([refused, refused]) is ExitCode.REFUSED
    assert exit_code([refused, failed]) is ExitCode.FAILED
