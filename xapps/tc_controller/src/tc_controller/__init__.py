"""tc_controller: the xApp that keeps bearers within their sojourn objective.

`core` decides; `app` connects it to the E2 gateway (`nodes`, `reports`, `actuator`); `cli` is the
program. `policy_file` and `policy_source` read the policy; `decision_log` and `explain` record and
explain decisions, `log_server` sends the log to the `explain_command` of whoever asks; `states`
prints the life of a bearer; `latency` and `metrics` measure the loop. `mode_source`, `mode_server`
and `mode_command` switch it; `peers` and `peer_client` ask other controllers. `mode_client` is
loaded in a tenth of a second, and so this package imports nothing.
"""
