"""fstab and mdadm.conf, changed as text."""

from stackctl.node import tables

ENTRY = tables.Entry("UUID=new", "/srv/database", "xfs", ("noatime", "x-stackctl"))
ROOT = "# the system\nLABEL=root / ext4 defaults 0 1\n"
LINE = "UUID=new /srv/database xfs noatime,x-stackctl 0 0\n"


class TestFstab:
    def test_gains_a_line_and_keeps_the_rest(self):
        assert tables.with_entry(ROOT, ENTRY, "x-stackctl") == ROOT + LINE

    def test_loses_our_older_lines_for_the_same_path_or_file_system(self):
        old = "UUID=old /srv/database xfs noatime,x-stackctl 0 0\nUUID=new /elsewhere xfs x-stackctl 0 0\n"
        assert tables.with_entry(ROOT + old, ENTRY, "x-stackctl") == ROOT + LINE

    def test_keeps_lines_that_are_not_ours(self):
        strange = "UUID=other /srv/database ext4 defaults 0 2\n#UUID=new /srv/database xfs x-stackctl\n"
        assert tables.with_entry(strange, ENTRY, "x-stackctl") == strange + LINE

    def test_has_an_entry_whatever_the_blanks_and_further_options(self):
        assert tables.has_entry("UUID=new\t/srv/database  xfs noatime,x-stackctl,logbufs=8 0 0", ENTRY)

    def test_has_none_when_an_option_is_missing_or_a_line_is_twice(self):
        assert not tables.has_entry("UUID=new /srv/database xfs noatime 0 0", ENTRY)
        assert not tables.has_entry(LINE + LINE, ENTRY)
        assert not tables.has_entry("", ENTRY)

    def test_spells_blanks_in_paths(self):
        spelled = tables.Entry("UUID=a", "/srv/my files", "xfs", ("noatime",))
        text = tables.with_entry("", spelled, "x-stackctl")
        assert text == "UUID=a /srv/my\\040files xfs noatime 0 0\n"
        assert tables.has_entry(text, spelled)


class TestMdadmConf:
    line = tables.array_line("/dev/md/data", "b66a7cff-8894-96ed-524c-797b35651958")

    def test_spells_the_uuid_as_mdadm_does(self):
        assert self.line == "ARRAY /dev/md/data metadata=1.2 UUID=b66a7cff:889496ed:524c797b:35651958"

    def test_gains_a_line_and_keeps_the_rest(self):
        text = "HOMEHOST <system>\nARRAY /dev/md/other UUID=1:2:3:4\n"
        assert tables.with_array(text, "/dev/md/data", self.line) == text + self.line + "\n"

    def test_loses_lines_for_the_same_path_or_array(self):
        old = (
            "ARRAY /dev/md/data\n   UUID=1:2:3:4\n"
            "ARRAY /dev/md127 metadata=1.2 uuid=b66a7cff:889496ed:524c797b:35651958 name=any:data\n"
        )
        assert tables.with_array(old, "/dev/md/data", self.line) == self.line + "\n"
