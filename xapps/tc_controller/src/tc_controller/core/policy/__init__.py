"""What the operator states: the policy file and what it compiles to."""
