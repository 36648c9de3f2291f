"""The ssh that leads to a server's own port."""

from pathlib import Path

from stackctl.database.tunnel import argv

VARIABLES = {
    "ansible_host": "203.0.113.11",
    "ansible_port": 2222,
    "ansible_user": "root",
    "ansible_ssh_private_key_file": "/keys/id",
    "ansible_ssh_common_args": "-o StrictHostKeyChecking=no",
}


def test_a_private_socket_leads_there() -> None:
    words = argv(VARIABLES, Path("/tmp/x/socket"), "127.0.0.1", 3306)
    assert words[words.index("-L") + 1] == "/tmp/x/socket:127.0.0.1:3306"
    assert "StreamLocalBindMask=0177" in words
    assert "ExitOnForwardFailure=yes" in words
    assert "-N" not in words  # it reads our end of a pipe, and so ends with us, however we end


def test_an_ipv6_address_stands_in_brackets() -> None:
    words = argv(VARIABLES, Path("/tmp/x/socket"), "::1", 3306)
    assert words[words.index("-L") + 1] == "/tmp/x/socket:[::1]:3306"


def test_host_keys_are_checked_whatever_the_site_says() -> None:
    text = " ".join(argv(VARIABLES, Path("/tmp/x/socket"), "127.0.0.1", 3306))
    assert text.index("StrictHostKeyChecking=yes") < text.index("StrictHostKeyChecking=no")  # ssh takes the first
    assert "BatchMode=yes" in text
