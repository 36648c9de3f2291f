"""Checks that ship with the tool: testinfra suites, one a role, run over SSH against the inventory."""
