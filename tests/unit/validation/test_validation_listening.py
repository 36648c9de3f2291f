"""What may listen on a server: sockets as `ss` shows them, against what the site says."""

from typing import Any

import pytest

from stackctl.validation import listening
from stackctl.validation.inventory import Target
from stackctl.validation.system import Socket, System

SSH = Socket("tcp", "0.0.0.0", 22, ("sshd",))
DATABASE = Socket("tcp", "127.0.0.1", 3306, ("mariadbd",))
CACHE = Socket("tcp", "10.0.0.5", 11211, ("memcached",))
QUEUE = Socket("tcp", "127.0.0.1", 4730, ("gearmand",))
HTTP = Socket("tcp", "127.0.0.1", 4780, ("gearmand",))


def target(**more: Any) -> Target:
    variables = {
        "database_listen": "127.0.0.1",
        "database_port": 3306,
        "cache_listen": "10.0.0.5",
        "cache_port": 11211,
        "queue_listen": "127.0.0.1",
        "queue_port": 4730,
        "queue_http_port": 4780,
        "queue_loopback_port": 4731,
        "search_web_listen": "0.0.0.0",
        "search_web_port": 80,
        "search_index_listen": "127.0.0.1",
        "search_index_port": 9306,
    }
    return Target("h", frozenset({"database", "cache", "queue"}), variables | more)


def system(*sockets: Socket) -> System:
    return System({}, (), sockets, (), {}, {})


def test_a_server_as_the_site_says_is_right() -> None:
    found = system(SSH, DATABASE, CACHE, QUEUE, HTTP)
    assert listening.beyond(target(), found) == []
    for role in ("database", "cache", "queue"):
        assert listening.missing(role, target(), found) == []
        assert listening.astray(role, target(), found) == []


def test_what_does_not_listen_is_missing() -> None:
    assert listening.missing("queue", target(), system(QUEUE)) == [
        "nothing listens as the queue's HTTP protocol on 127.0.0.1:4780"
    ]
    assert listening.missing("queue", target(), system(HTTP)) == ["nothing listens as the queue on 127.0.0.1:4730"]


@pytest.mark.parametrize("address", ["0.0.0.0", "*", "::", "10.0.0.6"])
def test_another_address_is_missing_here_and_astray_there(address: str) -> None:
    elsewhere = system(Socket("tcp", address, 11211, ("memcached",)))
    assert listening.missing("cache", target(), elsewhere) == ["nothing listens as the cache on 10.0.0.5:11211"]
    (said,) = listening.astray("cache", target(), elsewhere)
    assert "memcached on tcp" in said
    assert listening.beyond(target(), elsewhere) == [said]


def test_a_port_taken_by_another_process_is_told_with_its_name() -> None:
    taken = system(Socket("tcp", "127.0.0.1", 3306, ("mysqld_safe", "socat")))
    assert listening.missing("database", target(), taken) == [
        "the place of the database on 127.0.0.1:3306 is taken by mysqld_safe and socat on tcp 127.0.0.1:3306"
    ]
    assert listening.beyond(target(), taken) == [
        "mysqld_safe and socat on tcp 127.0.0.1:3306 listens, and the site does not say so"
    ]


def test_a_queue_for_others_is_systemds_socket_before_gearmand() -> None:
    open_to_all = target(queue_listen="::")
    front = Socket("tcp", "*", 4730, ("systemd", "systemd-socket-"))
    behind = Socket("tcp", "127.0.0.1", 4731, ("gearmand",))
    assert listening.missing("queue", open_to_all, system(front, behind, HTTP)) == []
    assert listening.beyond(open_to_all, system(front, behind, HTTP, SSH)) == []
    assert listening.astray("queue", open_to_all, system(front, behind, HTTP, SSH)) == []
    alone = Socket("tcp", "*", 4730, ("gearmand",))
    assert listening.missing("queue", open_to_all, system(alone, behind, HTTP)) == [
        "the place of the queue on [::]:4730 is taken by gearmand on tcp *:4730"
    ]


def test_udp_is_never_what_the_site_says() -> None:
    udp = Socket("udp", "10.0.0.5", 11211, ("memcached",))
    assert len(listening.astray("cache", target(), system(CACHE, udp))) == 1


@pytest.mark.parametrize(
    ("socket", "allowed"),
    [
        (Socket("tcp", "*", 2222, ("sshd",)), True),
        (Socket("udp", "0.0.0.0", 68, ("dhclient",)), True),
        (Socket("udp", "fe80::1", 546, ("systemd-network",)), True),
        (Socket("udp", "127.0.0.1", 323, ("chronyd",)), True),
        (Socket("udp", "::1", 323, ("chronyd",)), True),
        (Socket("udp", "0.0.0.0", 323, ("chronyd",)), False),
        (Socket("udp", "127.0.0.53", 53, ("systemd-resolve",)), True),
        (Socket("tcp", "0.0.0.0", 5355, ("systemd-resolve",)), False),
        (Socket("tcp", "127.0.0.1", 8081, ("apache2",)), True),
        (Socket("tcp", "0.0.0.0", 8081, ("apache2",)), False),
        (Socket("tcp", "127.0.0.1", 25, ("exim4",)), False),
        (Socket("tcp", "127.0.0.1", 9999, ()), False),
    ],
)
def test_what_a_server_may_have_beside_the_site(socket: Socket, allowed: bool) -> None:
    declared = target(validation_listeners=[{"listen": "127.0.0.1", "port": 8081}])
    assert (listening.beyond(declared, system(socket)) == []) is allowed


def test_a_role_elsewhere_allows_nothing_here() -> None:
    bare = Target("h", frozenset({"cache"}), target().variables)
    assert len(listening.beyond(bare, system(CACHE, DATABASE))) == 1
