"""Power is lost before, in the middle of and after every write: the next apply finishes."""

import pytest
from layouts import apply, plan_for, wrong_with
from twin import PowerCut, blank_server


def writes_of_a_whole_run(folder):
    server = blank_server(folder)
    apply(server)
    return len(server.writes), server


def test_blank_disks_become_the_layout(tmp_path):
    count, server = writes_of_a_whole_run(tmp_path)
    assert count == 40
    assert wrong_with(server) == []
    assert plan_for(server).steps == ()


CUTS = [(number, moment) for number in range(40) for moment in ("before", "middle", "after")]


def test_every_cut_is_listed(tmp_path):
    count, _ = writes_of_a_whole_run(tmp_path)
    assert count == len({number for number, _ in CUTS})


def converges(folder, number, moment):
    server = blank_server(folder)
    canary = server.snapshot()[-1]
    server.cut, server.moment = number, moment
    with pytest.raises(PowerCut):
        apply(server)
    server.reboot()
    apply(server)
    assert wrong_with(server) == [], (number, moment)
    assert plan_for(server).steps == ()
    assert server.snapshot()[-1] == canary


def test_any_cut_is_followed_by_an_apply_that_finishes(tmp_path, sample):
    for number, moment in sample(CUTS, 12):
        converges(tmp_path / f"{number}-{moment}", number, moment)


def test_two_cuts_in_a_row(tmp_path, sample):
    pairs = [(first, second, moment) for first in range(38) for second in range(6) for moment in ("middle", "after")]
    for first, second, moment in sample(pairs, 6):
        server = blank_server(tmp_path / f"{first}-{second}-{moment}")
        server.cut, server.moment = first, moment
        with pytest.raises(PowerCut):
            apply(server)
        server.reboot()
        server.writes.clear()
        server.cut, server.moment = second, moment
        try:
            apply(server)
        except PowerCut:
            server.reboot()
            apply(server)
        assert wrong_with(server) == [], (first, second, moment)
        assert plan_for(server).steps == ()
