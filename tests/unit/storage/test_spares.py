"""Spares wait in the array; the bitmap is what the site says, also of an array that has none any more."""

import pytest
from layouts import apply, layout, machine_of, plan_for, wrong_with
from pydantic import ValidationError
from twin import PowerCut, blank_server

from stackctl.errors import RefusedError
from stackctl.site.models import Layout
from stackctl.storage.audit import audit

FIVE = layout(disks={"count": 5}, raid={"spares": 1})
ONE_PARITY = layout(disks={"count": 5}, raid={"level": 5, "spares": 2})


@pytest.fixture
def made(tmp_path):
    server = blank_server(tmp_path, count=5)
    apply(server, wanted=FIVE)
    return server


def create(server, wanted):
    plan = plan_for(server, wanted=wanted)
    return next(" ".join(c.argv) for step in plan.steps for c in step.commands if "--create" in c.argv), plan


def test_the_last_disks_are_the_spares(tmp_path):
    said, plan = create(blank_server(tmp_path, count=5), FIVE)
    assert "--raid-devices=4 --spare-devices=1" in said
    assert said.endswith("{partition:LAB-4} {partition:LAB-5}")
    (title,) = [step.title for step in plan.steps if step.kind == "array"]
    assert title.endswith("over LAB-1, LAB-2, LAB-3, LAB-4; spare: LAB-5")
    widths = {link.multiple_of for link in plan.alignment if link.layer == "LV"}
    assert widths == {2 * 65536}


def test_parity_over_those_that_are_active(tmp_path):
    said, plan = create(blank_server(tmp_path, count=5), ONE_PARITY)
    assert "--raid-devices=3 --spare-devices=2" in said
    assert {link.multiple_of for link in plan.alignment if link.layer == "LV"} == {2 * 65536}


@pytest.mark.parametrize("wanted", [FIVE, ONE_PARITY], ids=["raid10", "raid5"])
def test_it_is_there_and_stays(tmp_path, wanted):
    server = blank_server(tmp_path, count=5)
    apply(server, wanted=wanted)
    for _ in range(2):
        assert wrong_with(server, wanted) == []
        assert plan_for(server, wanted=wanted).steps == ()
        server.reboot()
    assert audit(machine_of(server)).faults == ()


def test_a_spare_that_has_gone_is_told(made):
    (name,) = [name for name, slot in made.arrays[0].members.items() if slot is None]
    del made.arrays[0].members[name]
    made.part(name).member = None
    assert "array data, spares: 0, expected 1" in [str(finding) for finding in wrong_with(made, FIVE)]


def test_a_spare_that_is_to_be_active_is_another_array(tmp_path):
    """That is a reshape, which nobody has asked for in as many words."""
    server = blank_server(tmp_path, count=5)
    apply(server, wanted=ONE_PARITY)
    with pytest.raises(RefusedError, match="its array is made of 3 disks; the site says 4"):
        plan_for(server, wanted=layout(disks={"count": 5}, raid={"level": 5, "spares": 1}))


class TestBitmap:
    def test_without_one(self, tmp_path):
        wanted = layout(raid={"bitmap": "none"})
        server = blank_server(tmp_path)
        said, _ = create(server, wanted)
        assert "--bitmap=none" in said
        apply(server, wanted=wanted)
        assert wrong_with(server, wanted) == []
        assert plan_for(server, wanted=wanted).steps == ()

    @pytest.fixture
    def bare(self, tmp_path):
        server = blank_server(tmp_path)
        apply(server, wanted=layout(raid={"bitmap": "none"}))
        server.arrays[0].sync = "idle"
        return server

    def test_it_is_given_to_an_array_that_has_none(self, bare):
        assert [str(finding) for finding in wrong_with(bare)] == ["array data, bitmap: none, expected internal"]
        assert [step.id for step in plan_for(bare).steps] == ["bitmap:data"]
        apply(bare)
        assert wrong_with(bare) == []
        assert plan_for(bare).steps == ()

    def test_not_while_it_resyncs(self, bare):
        """mdadm would fail, and a resync may take days."""
        bare.arrays[0].sync = "resync"
        assert plan_for(bare).steps == ()

    def test_the_power_goes_meanwhile(self, bare):
        bare.cut, bare.moment, bare.writes[:] = 0, "middle", []
        with pytest.raises(PowerCut):
            apply(bare)
        bare.reboot()
        bare.arrays[0].sync = "idle"
        apply(bare)
        assert wrong_with(bare) == []


def test_any_cut_is_followed_by_an_apply_that_finishes(tmp_path, sample):
    whole = blank_server(tmp_path / "whole", count=5)
    apply(whole, wanted=FIVE)
    cuts = [(number, moment) for number in range(len(whole.writes)) for moment in ("before", "middle", "after")]
    for number, moment in sample(cuts, 8):
        server = blank_server(tmp_path / f"{number}-{moment}", count=5)
        server.cut, server.moment = number, moment
        with pytest.raises(PowerCut):
            apply(server, wanted=FIVE)
        server.reboot()
        apply(server, wanted=FIVE)
        assert wrong_with(server, FIVE) == [], (number, moment)


@pytest.mark.parametrize(
    ("count", "raid"),
    [
        (4, {"spares": 1}),
        (3, {"level": 5, "spares": 1}),
        (3, {"level": 0, "spares": 1}),
        (2, {"level": 0, "bitmap": "internal"}),
        (4, {"spares": -1}),
    ],
)
def test_what_does_not_add_up(count, raid):
    with pytest.raises(ValidationError):
        Layout.model_validate(
            {"disks": {"count": count}, "raid": raid, "volumes": {"a": {"size": "rest", "mount": "/srv/a"}}}
        )
