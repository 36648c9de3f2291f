"""What the failures of ssh, sudo, apt and Ansible look like, and what to tell the operator instead."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from stackctl.errors import ExitCode
from stackctl.site.variables import LAB_IS_DOWN

Kind = Literal["way", "rights", "task", "site", "link"]
"""What a rule is about: the way to a server, rights and programs there, a task's work, the site's own files,
a connection that broke for no better reason."""


@dataclass(frozen=True)
class Rule:
    """What a failure looks like, and what to say; named groups of the pattern stand in message and hint."""

    kind: Kind
    pattern: re.Pattern[str]
    message: str
    hint: str

    @property
    def code(self) -> ExitCode:
        """The site's own files are the operator's input; the rest is a failure."""
        return ExitCode.USAGE if self.kind == "site" else ExitCode.FAILED

    @property
    def of_server(self) -> bool:
        """True where the server as a whole is at fault, so that the task does not matter."""
        return self.kind in ("way", "rights")


def _rule(kind: Kind, pattern: str, message: str, hint: str) -> Rule:
    return Rule(kind, re.compile(pattern, re.IGNORECASE | re.DOTALL), message, hint)


_IS_IT_UP = "is the server up, and are `address` and `port` in stack.yml right? (the lab: `stackctl lab status`)"
_VAULT_HINT = (
    "name the file that holds the password in ANSIBLE_VAULT_PASSWORD_FILE; "
    "`ansible-vault view FILE` shows whether it is the right one"
)

RULES: tuple[Rule, ...] = (
    # the way to the server
    _rule(
        "way",
        r"Could not resolve hostname (?P<name>\S+)" + re.escape(LAB_IS_DOWN),
        "this lab machine is not up",
        "`stackctl lab up` starts it",
    ),
    _rule(
        "way",
        r"connect to host (?P<address>\S+) port (?P<port>\d+): Connection refused",
        "nothing answers SSH at {address} port {port} (connection refused)",
        _IS_IT_UP,
    ),
    _rule(
        "way",
        r"connect to host (?P<address>\S+) port (?P<port>\d+): (?P<why>(?:No route|Network is|Host is)[^\n\r]*)",
        "there is no way to {address} port {port} ({why})",
        _IS_IT_UP,
    ),
    _rule(
        "way",
        r"Could not resolve hostname (?P<name>[^\s:]+)",
        "the name {name} cannot be resolved",
        "correct `address` in stack.yml, or give an IP address there",
    ),
    _rule(
        "way",
        r"timed out during banner exchange|Connection timed out|Operation timed out|"
        r"Timeout, server \S+ not responding|timeout \(\d+s\) waiting for privilege",
        "the server does not answer SSH in time",
        _IS_IT_UP,
    ),
    _rule(
        "way",
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for \S+ has changed",
        "the server's host key is not the one that is known: it is another machine, was set up anew, "
        "or someone stands in between",
        "when you know why it changed, forget the old key with `ssh-keygen -R ADDRESS` and log in once by hand",
    ),
    _rule(
        "way",
        r"host key is known for \S+ and you have requested strict|Host key verification failed|"
        r"unrecognized or mismatching host key",
        "the server's host key is not known",
        "log in once by hand with `ssh ADDRESS` and compare the fingerprint with the server's console",
    ),
    _rule(
        "way",
        r"Permission denied \([a-z,-]*|SSH password was requested, but none|"
        r"SSH authentication is incorrect|Too many authentication failures",
        "the server takes none of our SSH keys",
        "put your public key into ~/.ssh/authorized_keys of the `user` that stack.yml names, "
        "or load the right key with `ssh-add`",
    ),
    _rule(
        "way",
        r"Bad owner or permissions on (?P<file>\S+)|UNPROTECTED PRIVATE KEY FILE",
        "ssh refuses a file that others could read or change",
        "chmod 600 on the key, and on what ~/.ssh/config names",
    ),
    # rights and programs on the server
    _rule(
        "rights",
        r"sudo: (?:command )?not found|No such file or directory: '[^']*sudo'|/sudo: (?:not found|No such file)",
        "sudo is not installed on the server, and the SSH user is not root",
        "install sudo there, or let stack.yml log in as root (`user: root`)",
    ),
    _rule(
        "rights",
        r"Missing sudo password|sudo: a password is required|sudo password is required|"
        r"sudo: a terminal is required|Incorrect sudo password",
        "sudo wants a password on the server",
        "allow the SSH user to become root without one (NOPASSWD in /etc/sudoers.d), or log in as root",
    ),
    _rule(
        "rights",
        r"is not in the sudoers file|is not allowed to (?:execute|run)",
        "the SSH user may not become root with sudo",
        "add it to the group sudo with NOPASSWD, or log in as root",
    ),
    _rule(
        "rights",
        r"module interpreter '(?P<python>[^']+)' was not found|"
        r"(?P<python2>/\S*python3\S*): (?:not found|No such file or directory)",
        "there is no Python at {python}{python2} on the server",
        "install python3 there (Debian: apt-get install python3), or set ansible_python_interpreter in host_vars",
    ),
    # packages and space
    _rule(
        "task",
        r"Could not get lock|dpkg frontend lock|is locked by|lock-frontend",
        "another program holds the package manager's lock",
        "often it is unattended-upgrades: wait until it ends, then run the same command again",
    ),
    _rule(
        "task",
        r"No space left on device|don't have enough free space|disk quota exceeded",
        "a file system on the server is full",
        "`df -h` there shows which; make room, then run the same command again",
    ),
    _rule(
        "task",
        r"Temporary failure resolving '(?P<mirror>[^']+)'|Could not resolve '(?P<mirror2>[^']+)'|"
        r"Could not connect to (?P<mirror3>\S+)|Unable to connect to (?P<mirror4>\S+)|"
        r"Failed to fetch (?P<mirror5>\S+)",
        "the server cannot fetch packages from {mirror}{mirror2}{mirror3}{mirror4}{mirror5}",
        "give a mirror that the server reaches in `mirrors:` of stack.yml, or mend the server's network",
    ),
    # the site's own files
    _rule(
        "site",
        r"Attempting to decrypt but no vault secrets found",
        "a file of the site is encrypted with ansible-vault, and no password for it is known",
        _VAULT_HINT,
    ),
    _rule(
        "site",
        r"Decryption failed|no vault secrets were found that could decrypt",
        "the vault password does not fit a file of the site",
        _VAULT_HINT,
    ),
    _rule(
        "site",
        r"YAML parsing failed: (?P<why>[^\n]+)|(?P<why2>Syntax Error while loading YAML)",
        "a YAML file cannot be read: {why}{why2}",
        "mend the file; `stackctl check` reads those of the site",
    ),
    _rule(
        "site",
        r"Validation of arguments failed:\s*(?P<why>.+)",
        "a variable of the role is missing or has a wrong value: {why}",
        "the role's README and meta/argument_specs.yml list them; they are set in group_vars or host_vars",
    ),
    _rule(
        "site",
        r"'(?P<name>[A-Za-z_]\w*)' is undefined",
        "the variable {name} is used but set nowhere",
        "set it in group_vars or host_vars beside stack.yml, or correct the name where it is used",
    ),
    _rule(
        "site",
        r"the role '(?P<role>[^']+)' was not found",
        "there is no role {role}",
        "correct its name in the playbook; the roles that ship lie in playbooks/roles",
    ),
    _rule(
        "site",
        r"couldn't resolve module/action '(?P<module>[^']+)'",
        "there is no Ansible module {module}",
        "check the playbook; collections must be installed beside ansible-core",
    ),
    _rule(
        "site",
        r"--limit leaves us with no hosts|Could not match supplied host pattern",
        "the limit matches no host of the site",
        "`stackctl check` names the hosts; groups are the roles, storage and lab",
    ),
    # what is left
    _rule(
        "link",
        r"EOF on stream|Shared connection to \S+ closed|Connection (?:reset|closed) by|mux_client_\w+|"
        r"Broken pipe|client_loop: send disconnect|kex_exchange_identification|"
        r"Mitogen was disconnected|Context has disconnected|can be reached over ssh:\s*$",
        "the connection to the server broke",
        "run the same command again: it goes on where it stopped. If it stays so, look at the server's console",
    ),
)


def matching(text: str, kinds: Sequence[Kind]) -> Iterator[tuple[Rule, re.Match[str]]]:
    """The rules that fit the text, those of the first kind first, each kind in the order of the table."""
    for kind in kinds:
        for rule in RULES:
            found = rule.pattern.search(text) if rule.kind == kind else None
            if found:
                yield rule, found


def fill(template: str, found: re.Match[str]) -> str:
    """A message or a hint with the named groups of the match in it."""
    values = {name: (value or "").strip().strip("'\"") for name, value in found.groupdict().items()}
    return template.format(**values)
