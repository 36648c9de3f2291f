"""Virtual bare metal for trials and tests: QEMU machines that stand in for a site's servers."""
