"""One E2 node with its bearers, and what is wrong with it."""
