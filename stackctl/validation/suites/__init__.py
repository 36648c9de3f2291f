"""The suites: a module a role. Run by `stackctl validate`, or by pytest itself."""
