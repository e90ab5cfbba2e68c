"""What the reports of a node say of its bearers."""
