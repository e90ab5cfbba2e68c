"""What the operator states: the policy file, what it compiles to, and what contradicts itself."""
