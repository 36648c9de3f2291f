"""fstab and mdadm.conf, as people write them."""

from stackctl.hardware.tables import ArrayEntry, FstabEntry, fstab, mdadm_conf, plain_uuid


def test_fstab_without_comments_and_with_blanks_in_paths():
    text = (
        "# UUID=x /old ext4\n\nLABEL=root / ext4 defaults 0 1\nUUID=y\t/srv/my\\040files\txfs noatime,x-a 0 0\nproc\n"
    )
    assert fstab(text) == (
        FstabEntry("LABEL=root", "/", "ext4", ("defaults",)),
        FstabEntry("UUID=y", "/srv/my files", "xfs", ("noatime", "x-a")),
    )


def test_mdadm_conf_with_continued_lines_and_any_spelling():
    text = (
        "HOMEHOST <system>\n#ARRAY /dev/md/no UUID=1:2:3:4\n"
        "array /dev/md/a metadata=1.2\n   uuid=b66a7cff:889496ed:524c797b:35651958 name=any:a\n"
        "ARRAY /dev/md/b UUID=B66A7CFF-8894-96ED-524C-797B35651959 # mine\nARRAY <ignore> UUID=x\n"
    )
    assert mdadm_conf(text) == (
        ArrayEntry("/dev/md/a", "b66a7cff-8894-96ed-524c-797b35651958"),
        ArrayEntry("/dev/md/b", "b66a7cff-8894-96ed-524c-797b35651959"),
        ArrayEntry("<ignore>", "x"),
    )


def test_a_uuid_in_mdadm_s_spelling_is_the_kernel_s():
    assert plain_uuid("b66a7cff:889496ed:524c797b:35651958") == "b66a7cff-8894-96ed-524c-797b35651958"
