"""stack.yml, read, checked and frozen: the one description that everything else follows."""
