"""The door to ``stackctl.site.secrets``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from stackctl.errors import StackctlError
from stackctl.site.secrets import Secrets

DOCUMENTATION = r"""
name: stackctl_secret
short_description: A secret of the site
description:
  - Reads a secret from C(secrets.yml) beside the site's stack.yml, an ansible-vault file.
  - A secret that the site does not have yet is made and stored there; in check mode it is only made.
options:
  _terms:
    description: Names of secrets.
    required: true
"""

EXAMPLES = r"""
- name: Use a secret
  stackctl_database:
    password: "{{ lookup('stackctl_secret', 'database_stacksearch_password') }}"
  no_log: true
"""

RETURN = r"""
_raw:
  description: The secrets in plain text, in the order of their names; keep them out of logs with C(no_log).
  type: list
"""


class LookupModule(LookupBase):
    """Named secrets of the site."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """Return the secrets of these names."""
        variables = variables or {}
        directory = variables.get("stackctl_site_directory") or variables.get("inventory_dir")
        if not directory:
            raise AnsibleLookupError("stackctl_secret: no site; use an inventory with a stack.yml")
        given = getattr(getattr(self._loader, "_vault", None), "secrets", None) or []
        site_secrets = Secrets(Path(str(directory)), [(identity, secret) for identity, secret in given])
        create = not variables.get("ansible_check_mode", False)
        try:
            return [site_secrets.get(str(name), create=create).reveal() for name in terms]
        except StackctlError as failure:
            raise AnsibleLookupError(str(failure)) from None
