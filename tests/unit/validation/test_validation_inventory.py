"""The inventory as Ansible tells it: hosts, groups, overrides, templates."""

import json
from pathlib import Path

import pytest

from stackctl.errors import InputError, StackctlError
from stackctl.process import RecordingRunner, Result
from stackctl.validation import inventory
from stackctl.validation.inventory import Target

LISTING = {
    "_meta": {"hostvars": {"two": {"cache_port": 1}, "one": {"cache_port": 2}}},
    "all": {"children": ["ungrouped", "stack"]},
    "stack": {"children": ["cache", "queue"]},
    "cache": {"hosts": ["one", "two"]},
    "queue": {"hosts": ["one"]},
    "ungrouped": {"hosts": ["bare"]},
}


def test_hosts_stand_in_the_groups_of_their_groups() -> None:
    found = {target.name: target.groups for target in inventory.parse(LISTING)}
    assert found["one"] == {"all", "stack", "cache", "queue"}
    assert found["two"] == {"all", "stack", "cache"}


def test_hosts_keep_the_inventorys_order_and_those_without_variables_come_last() -> None:
    assert [target.name for target in inventory.parse(LISTING)] == ["two", "one", "bare"]


def test_hosts_know_the_others_of_their_groups() -> None:
    found = {target.name: target.peers for target in inventory.parse(LISTING)}
    assert found["one"] == {"all": ("bare", "two"), "stack": ("two",), "cache": ("two",), "queue": ()}


def test_groups_that_contain_each_other_end() -> None:
    listing = {"a": {"children": ["b"]}, "b": {"children": ["a"], "hosts": ["h"]}}
    assert [target.groups for target in inventory.parse(listing)] == [{"a", "b"}]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), ["two", "one", "bare"]),
        (("one",), ["one"]),
        (("cache",), ["two", "one"]),
        (("bare", "queue"), ["one", "bare"]),
    ],
)
def test_selection_takes_hosts_and_groups(names: tuple[str, ...], expected: list[str]) -> None:
    assert [target.name for target in inventory.select(inventory.parse(LISTING), names)] == expected


def test_selection_names_every_unknown_name_and_the_hosts_there_are() -> None:
    with pytest.raises(InputError, match="no host or group is called mars, venus") as caught:
        inventory.select(inventory.parse(LISTING), ["one", "mars", "venus"])
    assert caught.value.hint == "hosts of this site: two, one, bare"


def test_templates_are_evaluated_by_ansible() -> None:
    target = Target(
        "h",
        frozenset(),
        {"base": 11000, "port": "{{ base + 211 }}", "where": [{"at": "{{ port }}/{{ 'x' | upper }}"}]},
    )
    assert target["port"] == 11211
    assert target["where"] == [{"at": "11211/X"}]


def test_texts_that_ansible_calls_unsafe_stay_as_they_are() -> None:
    unsafe = {"__ansible_unsafe": "{{ base }}"}
    target = Target(
        "h", frozenset(), {"base": 1, "bare": unsafe, "in": [{"x": unsafe}], "mixed": ["{{ base }}", unsafe]}
    )
    assert target["bare"] == "{{ base }}"
    assert target["in"] == [{"x": "{{ base }}"}]
    assert target["mixed"] == [1, "{{ base }}"]


def test_a_template_that_lacks_its_variable_is_told_by_name() -> None:
    with pytest.raises(StackctlError, match="the variable port cannot be evaluated"):
        Target("h", frozenset(), {"port": "{{ nowhere }}"})["port"]


def test_a_missing_variable_is_told_with_its_host() -> None:
    with pytest.raises(StackctlError, match="h: the inventory gives no cache_port"):
        Target("h", frozenset(), {})["cache_port"]


def test_defaults_of_roles_stand_below_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "role_defaults", lambda role: {"a": role, "b": role} if role == "cache" else {})
    target = Target("h", frozenset({"cache", "queue"}), {"b": "said"})
    assert (target["a"], target["b"], target.get("c", "none")) == ("cache", "said", "none")


def test_a_target_survives_json() -> None:
    target = Target("h", frozenset({"a", "b"}), {"x": [1, {"y": None}]}, {"a": ("g",), "b": ()})
    assert Target.from_json(json.loads(json.dumps(target.to_json()))) == target


def test_an_unreadable_inventory_is_the_operators_error() -> None:
    said = "[WARNING]: noise\nERROR! Completely failed to parse inventory source stack.yml\n"
    runner = RecordingRunner(lambda argv: Result(argv, 1, "", said))
    with pytest.raises(InputError, match=r"Completely failed to parse inventory source stack.yml"):
        inventory.read(Path("stack.yml"), runner)


def test_group_vars_beside_the_inventory_count(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("cache: {hosts: {one: {}}, vars: {cache_port: 1}}\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "cache.yml").write_text("cache_port: 2\ncache_listen: '{{ x }}'\nx: 127.0.0.2\n")
    (one,) = inventory.read(tmp_path / "hosts.yml")
    assert (one.name, one["cache_port"], one["cache_listen"]) == ("one", 2, "127.0.0.2")
