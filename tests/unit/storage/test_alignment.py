"""The arithmetic of the chain: known numbers, and what holds for every chunk and number of disks."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stackctl.hardware.disk import Disk, Limits, Striping
from stackctl.site.models import Raid
from stackctl.storage import alignment
from stackctl.storage.chain import Member, Numbers, Stripes, links
from stackctl.storage.levels import level_of

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
RAID10 = level_of(Raid())


def limits(physical=512, optimal=0, logical=512):
    return Limits(logical, physical, 0, optimal, True)


def disk(size, given_limits=None, offset=0):
    own = given_limits or limits()
    return Disk("sda", "S", "", "", "", "", size, False, False, offset, own, "", (), (), (), (), None, (), "")


class TestTheReferenceServer:
    """Four disks of 4 GiB under RAID10 with a chunk of 64 KiB."""

    def setup_method(self):
        self.found = alignment.geometry([disk(4 * GIB)] * 4, RAID10, 64 * KIB)

    def test_the_stripe_is_two_chunks_wide(self):
        assert self.found.width == 128 * KIB

    def test_the_partition_leaves_a_mebibyte_at_either_end(self):
        assert self.found.partition_start == MIB
        assert self.found.partition_size == 4094 * MIB

    def test_md_leaves_a_thousandth_before_its_data(self):
        assert self.found.data_offset == 2 * MIB

    def test_half_of_what_is_left_is_the_array(self):
        assert self.found.array_size == 2 * (4094 - 2) * MIB

    def test_lvm_begins_at_its_usual_place(self):
        assert (self.found.group_start, self.found.extent_size) == (MIB, 4 * MIB)

    def test_whole_extents_are_counted(self):
        assert self.found.extents == 2045


def test_six_disks_make_a_width_that_is_no_power_of_two():
    found = alignment.geometry([disk(TIB)] * 6, RAID10, 64 * KIB)
    assert found.width == 192 * KIB
    assert found.group_start == 1152 * KIB
    assert found.extent_size == 4224 * KIB  # eleven times 384 KiB, which vgcreate takes as a multiple of 128 KiB


def test_a_large_disk_leaves_room_for_a_reshape():
    assert alignment.data_offset(4 * TIB, 64 * KIB) == 128 * MIB


def test_a_disk_that_is_too_small_has_no_extents():
    assert alignment.geometry([disk(3 * MIB)] * 4, RAID10, 64 * KIB).extents == 0


class TestOptimalSizeIsBelieved:
    def test_when_it_is_a_stripe_of_whole_pages(self):
        assert alignment.believed_optimal_io(limits(optimal=384 * KIB), 64 * KIB) == 384 * KIB

    def test_when_md_or_the_controller_confirms_it(self):
        assert alignment.believed_optimal_io(limits(optimal=1536), 64 * KIB, confirmed=True) == 1536

    def test_never_when_it_counts_as_far_as_the_field_goes(self):
        assert alignment.believed_optimal_io(limits(optimal=33553920), 64 * KIB) == 1
        assert alignment.believed_optimal_io(limits(4096, 65535 * 4096, 4096), 64 * KIB) == 1

    def test_never_when_it_cuts_physical_blocks(self):
        assert alignment.believed_optimal_io(limits(4096, 6 * KIB), 64 * KIB) == 1

    def test_never_when_no_stripe_is_so_wide(self):
        assert alignment.believed_optimal_io(limits(optimal=1024 * MIB), 64 * KIB) == 1

    def test_never_when_it_says_nothing(self):
        assert alignment.believed_optimal_io(limits(), 64 * KIB) == 1


def geometry_of(*disks):
    return alignment.geometry(disks * 4, RAID10, 64 * KIB)


def test_a_virtual_disk_s_stripe_moves_the_first_partition():
    assert geometry_of(disk(TIB, limits(optimal=384 * KIB))).partition_start == 1152 * KIB


def test_a_liar_does_not():
    assert geometry_of(disk(TIB, limits(4096, 33553920))).partition_start == MIB


def test_a_disk_whose_blocks_begin_elsewhere_is_followed():
    odd, even = disk(TIB, limits(4096), offset=3584), disk(TIB, limits(4096))
    found = geometry_of(odd, even)
    assert [found.start_on(item) for item in (odd, even)] == [MIB + 3584, MIB]


def test_the_log_takes_the_chunk_up_to_256_kib():
    assert [alignment.log_stripe_unit(size * KIB) // KIB for size in (4, 64, 256, 512)] == [4, 64, 256, 32]


class TestALink:
    def test_says_by_how_much_it_is_off(self):
        crooked = alignment.Link("partition", "S", 63 * 512, 64 * KIB, "chunk")
        assert (crooked.off, crooked.aligned) == (32256, False)

    def test_that_was_never_given_is_not_aligned(self):
        assert not alignment.Link("XFS stripe unit", "v", 0, 64 * KIB, "chunk").aligned


chunks = st.integers(12, 24).map(lambda power: 1 << power)
counts = st.integers(2, 12).map(lambda half: 2 * half)
sizes = st.integers(8 * GIB, 24 * TIB)
blocks = st.sampled_from([(512, 512), (512, 4096), (4096, 4096)])
optimals = st.sampled_from([0, 33553920, 65535 * 4096, 64 * KIB, 256 * KIB, 384 * KIB, MIB])


@given(chunks, counts, st.lists(sizes, min_size=1, max_size=3), blocks, optimals)
def test_every_link_is_aligned_for_any_chunk_and_number_of_disks(chunk, count, disk_sizes, block, optimal):
    logical, physical = block
    own = limits(physical, optimal, logical)
    disks = [disk(disk_sizes[at % len(disk_sizes)] // 4096 * 4096, own) for at in range(count)]
    found = alignment.geometry(disks, RAID10, chunk)
    grain = alignment.grain(disks[0].limits, chunk)
    starts = {"a": found.group_start, "b": found.group_start + 77 * found.extent_size}
    stripes = Stripes("XFS", chunk, found.width, alignment.log_stripe_unit(chunk))
    chain = links(
        Numbers(
            members=[Member("S", grain, 0, found.partition_start, found.data_offset)],
            chunk=chunk,
            width=found.width,
            group="g",
            group_start=found.group_start,
            extent_size=found.extent_size,
            volumes=starts,
            filesystems={"a": stripes},
        )
    )
    assert all(link.aligned for link in chain), [link for link in chain if not link.aligned]
    assert found.partition_start + found.partition_size <= min(item.size for item in disks) - MIB + 1
    assert found.partition_start % logical == found.partition_size % logical == 0
    assert found.extent_size & (found.extent_size - 1) == 0 or found.extent_size % (128 * KIB) == 0
    assert found.group_start + found.extents * found.extent_size <= found.array_size


class TestAControllerTellsItsStripe:
    """RAID50 of 24 in three spans, strip 256 KiB: 21 strips of data, 5376 KiB."""

    def setup_method(self):
        self.disk = replace(disk(20 * TIB, limits(4096, 33553920)), striping=Striping(256 * KIB, 21, parity=1))

    def test_it_is_the_grain_whatever_the_disk_reports(self):
        assert alignment.grain_of(self.disk, 64 * KIB) == 5376 * KIB

    def test_the_first_partition_begins_on_a_stripe(self):
        found = geometry_of(self.disk)
        assert found.partition_start == 5376 * KIB
        assert found.data_offset % (5376 * KIB) == 0

    def test_physical_blocks_count_too(self):
        odd = replace(self.disk, striping=Striping(8 * KIB, 3), limits=limits(16 * KIB))
        assert alignment.grain_of(odd, 64 * KIB) == 48 * KIB

    def test_without_it_the_disk_s_own_word_is_weighed(self):
        assert alignment.grain_of(replace(self.disk, striping=None), 64 * KIB) == 4096

    def test_the_chain_says_why(self):
        member = Member("S", 5376 * KIB, 0, MIB, 21 * MIB, striped=True)
        partition, data, _ = links(Numbers(members=[member], chunk=64 * KIB, width=128 * KIB))
        assert (partition.why, partition.aligned) == ("physical block and the controller's stripe", False)
        assert (data.multiple_of, data.off) == (5376 * KIB, (22 * MIB) % (5376 * KIB))
