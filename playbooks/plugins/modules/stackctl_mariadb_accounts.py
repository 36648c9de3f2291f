#!/usr/bin/python
"""The door to ``stackctl.node.mariadb.Server``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, mariadb, process, running

DOCUMENTATION = r"""
module: stackctl_mariadb_accounts
short_description: MariaDB's accounts and databases
description:
  - Makes each account with its database, and puts a password right only when it is wrong.
  - Takes away what nobody should have; nameless users, root from elsewhere, an empty database C(test).
  - Speaks to the server as root over its socket; SQL goes in by stdin, passwords as digests.
options:
  accounts:
    description: The accounts; others are left alone.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The user's name.
        type: str
        required: true
      database:
        description: The database that the user owns.
        type: str
        required: true
      host:
        description: From where the user may come, in MariaDB's words.
        type: str
        default: "%"
  passwords:
    description: The passwords, by user name.
    type: dict
    required: true
  socket:
    description: The server's socket.
    type: path
    default: /run/mysqld/mysqld.sock
"""

EXAMPLES = r"""
- name: Make the accounts
  stackctl_mariadb_accounts:
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
        "host": {"type": "str", "default": "%"},
    }
    module = AnsibleModule(
        argument_spec={
            "accounts": {"type": "list", "elements": "dict", "required": True, "options": account},
            "passwords": {"type": "dict", "required": True, "no_log": True},
            "socket": {"type": "path", "default": "/run/mysqld/mysqld.sock"},
        },
        supports_check_mode=True,
    )
    passwords = module.params["passwords"]
    if absent := [words["name"] for words in module.params["accounts"] if not passwords.get(words["name"])]:
        module.fail_json(msg=f"no password is given for {', '.join(absent)}")
    accounts = [
        mariadb.Account(words["name"], words["database"], words["host"], passwords[words["name"]])
        for words in module.params["accounts"]
    ]
    server = mariadb.Server(process.SystemRunner(), Path(module.params["socket"]))
    try:
        done = server.ensure(accounts, check=module.check_mode)
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    module.exit_json(changed=bool(done), done=done, diff={"before": "", "after": "".join(f"{x}\n" for x in done)})


if __name__ == "__main__":
    main()
