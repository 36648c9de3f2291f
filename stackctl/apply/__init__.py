"""Runs playbooks on a site: progress while they work, a record that can be read afterwards, clear faults."""
