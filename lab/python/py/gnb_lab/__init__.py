"""The lab from Python: an emulated gNB with UEs and traffic on virtual time, and its results.

`World` is the world that `gnb-lab serve` paces to the wall clock, stepped by hand: an xApp's core
runs in lockstep with it, and `fork` answers what-if questions. `read` returns what `gnb-lab run`,
`gnb-lab sweep` and `World.record` recorded as a table; `sweep` runs a scenario over values and
seeds, also on a Dask cluster.
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
    scenario_schema,
)
from gnb_lab.program import SweepError
from gnb_lab.sweeps import sweep
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
    "read",
    "scenario_schema",
    "sweep",
]
