"""What is sent to a node, when, and by which of several controllers."""
