"""Which addresses may be fetched; the values are those of the RFCs named beside them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacksearch.addresses import BlockedAddressError, Policy, is_public, parse_allowed

CLOSED = [
    "0.0.0.0",  # RFC 791
    "0.1.2.3",
    "10.0.0.1",  # RFC 1918
    "100.64.0.1",  # RFC 6598
    "100.100.100.200",  # Alibaba's metadata
    "127.0.0.1",  # RFC 1122
    "127.255.255.254",
    "168.63.129.16",  # Azure's platform services
    "169.254.169.254",  # metadata of EC2, GCP, Azure, OpenStack
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",  # Oracle's metadata
    "192.0.2.1",  # RFC 5737
    "192.88.99.1",  # RFC 7526
    "192.168.1.1",
    "198.18.0.1",  # RFC 2544
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",  # RFC 5771
    "239.255.255.255",
    "240.0.0.1",  # RFC 1112
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",  # RFC 4291, IPv4-compatible
    "::ffff:127.0.0.1",  # RFC 4291, IPv4-mapped
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",  # RFC 6052, NAT64
    "64:ff9b:1::1",  # RFC 8215
    "100::1",  # RFC 6666
    "2001::1",  # RFC 4380, Teredo
    "2001:10::1",  # RFC 4843
    "2001:db8::1",  # RFC 3849
    "2002:7f00:1::",  # RFC 3056, 6to4 of 127.0.0.1
    "3fff::1",  # RFC 9637
    "4000::1",  # not assigned by IANA
    "5f00::1",  # RFC 9602
    "fc00::1",  # RFC 4193
    "fd00:ec2::254",  # EC2's metadata
    "fe80::1",  # RFC 4291
    "fec0::1",  # RFC 3879
    "ff02::1",  # RFC 4291
]
OPEN = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.1", "168.63.129.15", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1",
    "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1", "2001:200::1",
    "::ffff:8.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("address", CLOSED)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(BlockedAddressError, match="not allowed"):
        Policy().check(address, 80)


@pytest.mark.parametrize("address", OPEN)
def test_what_is_public_may_be_fetched(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
    Policy().check(address, 443)


@given(st.ip_addresses(v=4))
def test_python_calls_no_open_address_private(address: ipaddress.IPv4Address) -> None:
    assert not is_public(address) or address.is_global


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_the_address_within(address: ipaddress.IPv4Address) -> None:
    assert is_public(ipaddress.IPv6Address(f"::ffff:{address}")) == is_public(address)


def test_scoped_addresses_and_names_are_refused() -> None:
    for host in ("fe80::1%lo", "localhost", "", "127.1"):
        with pytest.raises(BlockedAddressError):
            Policy().check(host, 80)


def test_only_the_ports_that_are_named_may_be_fetched_from_public_addresses() -> None:
    policy = Policy(ports=(80, 443))
    with pytest.raises(BlockedAddressError, match="port 25"):
        policy.check("1.1.1.1", 25)


@pytest.mark.parametrize(
    ("text", "address", "port", "allowed"),
    [
        ("127.0.0.1:8081", "127.0.0.1", 8081, True),
        ("127.0.0.1:8081", "127.0.0.1", 8082, False),
        ("127.0.0.1:8081", "127.0.0.2", 8081, False),
        ("10.0.0.0/8", "10.255.0.1", 25, True),
        ("10.0.0.0/8", "11.0.0.1", 80, True),  # public anyway
        ("10.0.0.0/8", "172.16.0.1", 80, False),
        ("[::1]:80", "::1", 80, True),
        ("[::1]:80", "::1", 81, False),
        ("fd00::/8", "fd12::1", 8080, True),
        ("[fd00::/8]:80", "fd12::1", 80, True),
        ("127.0.0.1", "::ffff:127.0.0.1", 80, True),
    ],
)
def test_the_operator_may_allow_networks(text: str, address: str, port: int, allowed: bool) -> None:
    policy = Policy([parse_allowed(text)], ports=(80,))
    assert (policy.refusal(address, port) is None) == allowed


@pytest.mark.parametrize(
    "text", ["", "localhost", "10.0.0.1/8", "10.0.0.0/33", "1.2.3.4:0", "1.2.3.4:99999", "[::1", "::g"]
)
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_allowed(text)
