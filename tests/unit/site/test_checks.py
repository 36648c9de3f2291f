"""What a site says against itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.site.load import open_file

Errors = Callable[[str | bytes], list[str]]
Write = Callable[[str], Path]

HEAD = "plugin: stackctl\nsite: trial\n"
ALL = "[database, queue, cache, search]"
LAYOUT = """\
layouts:
  r:
    disks: {count: 4, size: ">= 1 GB"}
    volumes:
      a: {size: 50%, mount: /srv/database}
      b: {size: rest, mount: /srv/documents}
"""


def _warnings(write: Write, text: str) -> list[str]:
    return [str(warning).partition("stack.yml:")[2] for warning in open_file(write(text)).warnings]


class TestAddresses:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("address: 203.0.113.1", "address: 203.0.113.1"),
            ("address: Metal.example", "address: metal.EXAMPLE."),
            ("address: '2001:db8::1'", "address: '2001:0db8:0:0::0001'"),
            ("address: a, port: 2222", "address: a, port: 2222"),
        ],
    )
    def test_two_hosts_at_one(self, errors: Errors, first: str, second: str) -> None:
        (said,) = errors(f"{HEAD}hosts:\n  m1: {{{first}}}\n  m2: {{{second}}}\n")
        assert said.startswith("stack.yml:5: hosts.m2.address: ")
        assert said.endswith("is where m1 is reached; two hosts cannot share it")

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("address: 203.0.113.1", "address: 203.0.113.2"),
            ("address: a, port: 2222", "address: a, port: 2223"),
            ("lab: {}", "lab: {}"),
        ],
    )
    def test_two_hosts_apart(self, errors: Errors, first: str, second: str) -> None:
        assert errors(f"{HEAD}hosts:\n  m1: {{{first}}}\n  m2: {{{second}}}\n") == []

    def test_one_address_cannot_be_two_hosts(self, errors: Errors) -> None:
        text = (
            f"{HEAD}hosts:\n  m1: {{address: a, roles: [cache]}}\n  m2: {{address: b, roles: [cache]}}\n"
            "services: {cache: {listen: 10.0.0.1}}\n"
        )
        assert errors(text) == [
            "stack.yml:6: services.cache.listen: 10.0.0.1 is the address of one host, but m1, m2 carry the role cache"
        ]


class TestLabMachines:
    @pytest.mark.parametrize(
        ("disks", "expected"),
        [
            ("{count: 4}", []),
            (
                "{count: 2}",
                ["stack.yml:4: hosts.m.lab.disks.count: layout r takes 4 disks, the lab machine has 2: too few"],
            ),
            (
                "{count: 6}",
                [
                    "stack.yml:4: hosts.m.lab.disks.count: "
                    "layout r takes exactly 4 disks and cannot choose among the machine's 6"
                ],
            ),
            (
                "{size: 512 MiB}",
                ["stack.yml:4: hosts.m.lab.disks.size: layout r takes disks of >= 1 GB, the machine's have 512 MiB"],
            ),
        ],
    )
    def test_disks_and_layout(self, errors: Errors, disks: str, expected: list[str]) -> None:
        assert errors(f"{HEAD}hosts:\n  m: {{layout: r, lab: {{disks: {disks}}}}}\n{LAYOUT}") == expected

    def test_serials_choose_among_more(self, errors: Errors) -> None:
        layout = LAYOUT.replace("{count: 4,", "{count: 4, serial: [A, B, C, D],")
        assert errors(f"{HEAD}hosts:\n  m: {{layout: r, lab: {{disks: {{count: 6}}}}}}\n{layout}") == []


class TestListeners:
    def host(self, services: str, roles: str = ALL, more: str = "") -> str:
        return f"{HEAD}hosts: {{m: {{address: a, roles: {roles}{more}}}}}\nservices: {services}\n"

    def test_one_port_twice(self, errors: Errors) -> None:
        assert errors(self.host("{cache: {port: 3306}}")) == [
            "stack.yml:4: services.cache.port: "
            "the cache would listen on 127.0.0.1:3306, where the database listens on 127.0.0.1:3306 (host m)"
        ]

    def test_the_key_that_is_given_is_the_one_told(self, errors: Errors) -> None:
        (said,) = errors(self.host("{database: {port: 11211}}"))
        assert said.startswith("stack.yml:4: services.database.port: the database would listen on 127.0.0.1:11211")

    def test_the_queues_http_protocol_counts(self, errors: Errors) -> None:
        (said,) = errors(self.host("{queue: {http_port: 4730}}"))
        assert said.startswith("stack.yml:4: services.queue.http_port: the queue's HTTP protocol would listen on")

    @pytest.mark.parametrize(
        ("web", "index", "clash"),
        [
            ("0.0.0.0", "127.0.0.1", True),
            ("'::'", "127.0.0.1", True),
            ("'::'", "'::1'", True),
            ("'::1'", "'0:0:0:0:0:0:0:1'", True),
            ("'::1'", "127.0.0.1", False),
            ("0.0.0.0", "'::1'", False),
            ("127.0.0.2", "127.0.0.1", False),
        ],
    )
    def test_addresses_that_overlap(self, errors: Errors, web: str, index: str, clash: bool) -> None:
        said = errors(self.host(f"{{web: {{listen: {web}, port: 9306}}, search: {{listen: {index}}}}}"))
        assert bool(said) is clash

    def test_only_on_the_same_host(self, errors: Errors) -> None:
        text = (
            f"{HEAD}hosts: {{a: {{address: a, roles: [database]}}, b: {{address: b, roles: [cache]}}}}\n"
            "services: {cache: {port: 3306}}\n"
        )
        assert errors(text) == []

    def test_the_port_of_ssh(self, errors: Errors) -> None:
        assert errors(self.host("{web: {port: 22}}")) == [
            "stack.yml:4: services.web.port: the web front would listen on port 22, which is SSH's (host m)"
        ]
        assert errors(self.host("{web: {port: 22}}", more=", port: 2222")) == []


class TestNeeds:
    def test_a_role_that_nobody_carries(self, errors: Errors) -> None:
        assert errors(f"{HEAD}hosts: {{m: {{address: a, roles: [database, cache, search]}}}}\n") == [
            "stack.yml:3: hosts.m.roles: the role search needs the role queue, which no host carries"
        ]

    def test_a_service_out_of_reach(self, errors: Errors) -> None:
        text = (
            f"{HEAD}hosts:\n  db: {{address: a, roles: [database]}}\n"
            "  app: {address: b, roles: [queue, cache, search]}\n"
        )
        (said,) = errors(text)
        assert said == (
            "stack.yml:1: services.database.listen: "
            "search on app needs database on db, which listens on loopback only"
        )
        assert errors(f"{text}services: {{database: {{listen: 0.0.0.0}}}}\n") == []


class TestWarnings:
    def test_an_unused_layout(self, write: Write) -> None:
        text = f"{HEAD}hosts: {{m: {{address: a, roles: [cache]}}}}\n{LAYOUT}"
        assert _warnings(write, text) == ["5: layouts.r: no host has this layout"]

    def test_a_host_with_nothing_to_do(self, write: Write) -> None:
        assert _warnings(write, f"{HEAD}hosts: {{m: {{address: a}}}}\n") == [
            "3: hosts.m: has neither a layout nor a role: nothing will be done here"
        ]

    def test_data_beside_the_volumes(self, write: Write) -> None:
        layout = LAYOUT.replace("/srv/database", "/srv/db")
        assert _warnings(write, f"{HEAD}hosts: {{m: {{address: a, layout: r, roles: [database]}}}}\n{layout}") == [
            "3: hosts.m.layout: r mounts nothing at /srv/database: the data of database will be on the system disk"
        ]

    @pytest.mark.parametrize(
        ("listen", "warned"), [("0.0.0.0", True), ("'::'", True), ("8.8.8.8", True), ("10.0.0.1", False)]
    )
    def test_services_that_ask_for_no_password(self, write: Write, listen: str, warned: bool) -> None:
        text = f"{HEAD}hosts: {{m: {{address: a, roles: [queue]}}}}\nservices: {{queue: {{listen: {listen}}}}}\n"
        said = _warnings(write, text)
        assert said == (
            [f"4: services.queue.listen: listens on {listen.strip(chr(39))}: anyone who reaches it can submit jobs"]
            if warned
            else []
        )

    def test_nothing_is_concluded_from_what_was_taken_out(self, errors: Errors) -> None:
        host = "m: {address: a, roles: [database, cache, search], layout: r}"
        assert errors(
            f"{HEAD}hosts:\n  {host}\n  q: {{roles: [queue]}}\n" + LAYOUT.replace("count: 4", "count: 5")
        ) == [
            "stack.yml:5: hosts.q.address: a host needs an address, unless it is a lab machine (`lab: {}`)",
            "stack.yml:8: layouts.r.disks.count: RAID10 needs an even number of disks, at least 4, not 5",
        ]
