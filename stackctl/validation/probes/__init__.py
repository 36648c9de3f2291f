"""What runs on a server during validation: standard library only, shipped as a program on standard input."""
