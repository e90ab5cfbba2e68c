"""The lab from Python: an emulated gNB with UEs and traffic on virtual time, and its results.

`World` is the world that `gnb-lab serve` paces to the wall clock, stepped by hand: an xApp's core
runs in lockstep with it, and `fork` answers what-if questions. `read` returns what `gnb-lab run`,
`gnb-lab sweep` and `World.record` recorded as a table; `sweep` runs a scenario over values and
seeds, also on a Dask cluster.

A download fills the RLC buffer of a cell within seconds, and a pipeline keeps it short:

>>> import gnb_lab
>>> scenario = {
...     "duration_s": 3,
...     "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30},
...     "ues": [{"rnti": 1, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
...     "flows": [{"name": "bulk", "kind": "tcp"}],
... }
>>> queued_bytes = {}
>>> for pipeline in ("transparent", "low_latency"):
...     world = gnb_lab.World(scenario, overrides={"ues[0].drbs[0].pipeline": pipeline})
...     _ = world.step_until(3_000_000)
...     queued_bytes[pipeline] = world.bearers()[0]["rlc_occupancy_bytes"]
>>> queued_bytes["transparent"] > 1_000_000 > 100_000 > queued_bytes["low_latency"]
True
"""

from gnb_lab._native import (
    KPM_OID,
    MAC_OID,
    RLC_OID,
    TC_V0_OID,
    TC_V1_OID,
    E2Error,
    Indication,
    ScenarioError,
    World,
    __version__,
    block_error_rate,
    scenario_schema,
)
from gnb_lab.results import SweepError
from gnb_lab.sweeps.sweep import sweep
from gnb_lab.tables import TableError, read

__all__ = [
    "KPM_OID",
    "MAC_OID",
    "RLC_OID",
    "TC_V0_OID",
    "TC_V1_OID",
    "E2Error",
    "Indication",
    "ScenarioError",
    "SweepError",
    "TableError",
    "World",
    "__version__",
    "block_error_rate",
    "read",
    "scenario_schema",
    "sweep",
]
