"""`ric doctor`: what is wrong with a deployment, seen from where an xApp stands.

Two halves that meet in `ric.doctor.facts`:

- `ric.doctor.probe` asks: it opens connections, subscribes for a few seconds, tries a control that
  changes nothing, and leaves nothing behind. It judges nothing.
- `ric.doctor.judge` answers: facts in, findings out. It does no I/O, so each finding is tested from
  constructed facts.

`ric.doctor.finding` is what a finding is, `ric.doctor.text` how people and machines read it.
"""
