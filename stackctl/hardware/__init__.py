"""What was found on a server: the Machine, and the readers of what its tools and its kernel say."""
