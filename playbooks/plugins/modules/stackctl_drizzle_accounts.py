#!/usr/bin/python
"""The door to ``stackctl.node.drizzle_accounts``."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import drizzle_accounts, drizzle_wire, errors

DOCUMENTATION = r"""
module: stackctl_drizzle_accounts
short_description: The databases of Drizzle's accounts
description:
  - Logs in as each account over TCP, which shows that its password is right, and makes its database.
  - Drizzle has no GRANT; the accounts themselves stand in the file that auth_file reads.
options:
  accounts:
    description: The accounts.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The user's name.
        type: str
        required: true
      database:
        description: The database that the user works in.
        type: str
        required: true
      host:
        description: Not for Drizzle, which cannot tell hosts apart; the role refuses it.
        type: str
  passwords:
    description: The passwords, by user name.
    type: dict
    required: true
  address:
    description: Where the server is reached from itself.
    type: str
    default: 127.0.0.1
  port:
    description: Its port for the MySQL protocol.
    type: int
    default: 3306
"""

EXAMPLES = r"""
- name: Make the databases
  stackctl_drizzle_accounts:
    accounts:
      - {name: stacksearch, database: stacksearch}
    passwords:
      stacksearch: "{{ lookup('stackctl_secret', 'database_stacksearch_password') }}"
"""

RETURN = r"""
done: {description: What was done; one line each., type: list, returned: success}
"""


def main() -> None:
    """Read the arguments, call one function, report."""
    account = {
        "name": {"type": "str", "required": True},
        "database": {"type": "str", "required": True},
        "host": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            "accounts": {"type": "list", "elements": "dict", "required": True, "options": account},
            "passwords": {"type": "dict", "required": True, "no_log": True},
            "address": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 3306},
        },
        supports_check_mode=True,
    )
    asked = module.params
    passwords = asked["passwords"]
    if absent := [words["name"] for words in asked["accounts"] if not passwords.get(words["name"])]:
        module.fail_json(msg=f"no password is given for {', '.join(absent)}")
    accounts = [(words["name"], words["database"], passwords[words["name"]]) for words in asked["accounts"]]
    try:
        done = drizzle_accounts.ensure(asked["address"], asked["port"], accounts, check=module.check_mode)
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    module.exit_json(changed=bool(done), done=done, diff={"before": "", "after": "".join(f"{x}\n" for x in done)})


if __name__ == "__main__":
    main()
