"""The code that runs on a server: standard library only, shipped as Ansible module_utils."""
