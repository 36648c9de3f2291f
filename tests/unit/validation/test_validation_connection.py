"""The way to a server: which ssh is started, and how its failures read."""

from collections.abc import Callable
from typing import Any

import pytest

from stackctl.process import RecordingRunner, Result
from stackctl.validation.connection import Node, ProbeError, UnreachableError
from stackctl.validation.inventory import Target
from stackctl.validation.probes import cache

LAB = {
    "ansible_host": "127.0.0.1",
    "ansible_port": 40022,
    "ansible_user": "root",
    "ansible_ssh_private_key_file": "/keys/id",
    "ansible_ssh_common_args": "-o UserKnownHostsFile=/keys/known -o StrictHostKeyChecking=no -o IdentitiesOnly=yes",
}


def node(answer: Callable[[tuple[str, ...]], Result] | None = None, **variables: Any) -> tuple[Node, RecordingRunner]:
    runner = RecordingRunner(answer or (lambda argv: Result(argv, 0, "[1, 2]\n")))
    return Node(Target("metal-1", frozenset(), variables), runner), runner


def options(argv: tuple[str, ...]) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv[:-1]) if word == "-o"]


def test_a_lab_machine_is_reached_with_its_own_key_and_known_hosts() -> None:
    server, runner = node(**LAB)
    assert server.ask(cache.value, host="127.0.0.1", port=11211) == [1, 2]
    (argv,) = runner.calls
    assert argv[0] == "ssh"
    assert argv[-2:] == ("127.0.0.1", "/usr/bin/python3 -IS -")
    assert argv[argv.index("-i") + 1] == "/keys/id"
    assert {"User=root", "Port=40022", "UserKnownHostsFile=/keys/known", "IdentitiesOnly=yes"} <= set(options(argv))


def test_nothing_can_loosen_the_check_of_host_keys() -> None:
    # ssh keeps the first value that it is given
    server, runner = node(**LAB)
    server.ask(cache.value)
    words = [word for word in options(runner.calls[0]) if word.startswith("StrictHostKeyChecking")]
    assert words[0] == "StrictHostKeyChecking=yes"
    assert "BatchMode=yes" in options(runner.calls[0])


def test_the_request_travels_on_standard_input_only() -> None:
    server, runner = node(**LAB)
    server.ask(cache.value, host="a-very-secret-word")
    assert runner.inputs[0] is not None
    assert all("a-very-secret-word" not in word for word in runner.calls[0])


def test_a_user_becomes_root_by_sudo_that_asks_nothing() -> None:
    server, runner = node(ansible_host="server.example", ansible_user="admin", ansible_become=True)
    server.ask(cache.value)
    assert runner.calls[0][-1] == "sudo -n /bin/sh -c '/usr/bin/python3 -IS -'"


def test_an_ipv6_address_is_an_address() -> None:
    server, runner = node(ansible_host="2001:db8::7", ansible_port=2222)
    server.ask(cache.value)
    assert runner.calls[0][-2] == "2001:db8::7"
    assert "Port=2222" in options(runner.calls[0])


def test_testinfra_itself_goes_through_the_same_launcher() -> None:
    server, runner = node(lambda argv: Result(argv, 0, "naïve 🦀\n"), **LAB)
    assert server.host.run("cat %s", "/etc/motd").stdout == "naïve 🦀\n"
    assert runner.calls[0][-1] == "cat /etc/motd"
    assert runner.calls[0][0] == "ssh"
    assert "StrictHostKeyChecking=yes" in options(runner.calls[0])


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        (255, "ssh: connect to host 127.0.0.1 port 40022: Connection refused", "cannot be reached by SSH"),
        (255, "Host key verification failed.", "cannot be reached by SSH"),
        (1, "sudo: a password is required", "root is not to be had there"),
        (127, "sh: 1: sudo: not found", "root is not to be had there"),
        (127, "sh: 1: /usr/bin/python3: not found", "Python does not start there"),
    ],
)
def test_a_server_that_cannot_be_checked_says_why(code: int, said: str, words: str) -> None:
    server, _ = node(lambda argv: Result(argv, code, "", f"banner\n{said}\n"), **LAB)
    with pytest.raises(UnreachableError) as caught:
        server.ask(cache.value)
    assert caught.value.message == f"metal-1: {words}: {said}"
    assert caught.value.hint


def test_a_lab_that_is_down_is_told_how_to_come_up() -> None:
    def refuse(argv: tuple[str, ...]) -> Result:
        return Result(argv, 255, "", "ssh: Could not resolve hostname metal-1.lab-is-down.invalid: no such name\n")

    server, _ = node(refuse, ansible_host="metal-1.lab-is-down.invalid")
    with pytest.raises(UnreachableError, match="metal-1: the lab machine is not up") as caught:
        server.ask(cache.value)
    assert caught.value.hint == "stackctl lab up"


def test_a_server_that_goes_away_is_unreachable_to_testinfra_too() -> None:
    server, _ = node(lambda argv: Result(argv, 255, "", "Connection reset by peer\n"), **LAB)
    with pytest.raises(UnreachableError, match="cannot be reached by SSH: Connection reset by peer"):
        server.host.run("true")


def test_a_program_that_fails_there_is_no_lost_server() -> None:
    server, _ = node(lambda argv: Result(argv, 1, "", "Traceback ...\nValueError: no such thing\n"), **LAB)
    with pytest.raises(ProbeError, match="metal-1: cache failed on the server: ValueError: no such thing"):
        server.ask(cache.value)


def test_a_server_validates_itself() -> None:
    server = Node(
        Target("here", frozenset(), {"ansible_connection": "local", "ansible_python_interpreter": "python3"})
    )
    assert server.ask(cache.value, host="127.0.0.1", port=1)["udp"] is False
    assert server.host.run("printf %s", "naïve 🦀").stdout == "naïve 🦀"
