"""The ladder of a rule: templates that are tried where the base does not meet the objective."""
