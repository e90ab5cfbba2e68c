"""`ric doctor`: examine a deployment from where an xApp runs.

- `ric_doctor.probe` collects facts: it opens connections, subscribes for a few seconds and sends a
  dry-run control. It changes nothing and leaves nothing behind.
- `ric_doctor.facts`: what was measured.
- `ric_doctor.judge`: facts in, findings out; no I/O, so each finding is tested with constructed
  facts.
- `ric_doctor.finding`, `ric_doctor.text`: a finding, and its form as text and JSON.
- `ric_doctor.command`: the subcommand of `ric`, found by the entry-point group `ric.commands`.
"""
