"""An OAI gNB in SA with UEs through the RF simulator, and the core network of these tests."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sojourn_demo import DemoError
from sojourn_demo.load.commands import BY_LINES, ENDS_WITH_PARENT
from sojourn_demo.oai.build import GNB, SETTINGS, UE, Oai
from sojourn_demo.oai.cell import LOG, NOT_REAL_TIME
from sojourn_demo.oai.network import UE_TUN, UeNamespace
from sojourn_demo.programs import Program, Programs
from split import Split, cu_settings, du_settings, start_relay

HERE: Final = Path(__file__).parent
PRELOAD: Final = Path(sys.prefix) / "lib/libflexric_sctp_over_tcp.so"
GNB_ADDRESS, CORE_ADDRESS = "127.0.0.1", "127.0.0.2"
KEY, OPC = "fec86ba6eb707ed08905757b1bb44b8f", "C42449363BBAD02B66D16BC975D77CC1"
FIRST_IMSI: Final = 208990100001100
CELLS: Final = {
    106: (
        "gnb.sa.band78.106prb.rfsim.conf",
        ("-r", "106", "--numerology", "1", "--band", "78", "-C", "3319680000"),
    ),
    24: (
        "gnb.sa.band78.24prb.rfsim.conf",
        ("-r", "24", "--ssb", "24", "--numerology", "1", "--band", "78", "-C", "3604800000"),
    ),
}
"""Settings of the gNB among those of OAI's own tests, and the UE's options, by PRBs."""
ATTACH_S: Final = 120.0
UE_TELNET_PORT: Final = 9090
HANDLES_SIGNALS: Final = "Entering ITTI signals handler"
"""A line of OAI's UE, about 2 s after its start."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What the RF simulator of a UE does to the downlink: OAI's AWGN model, whose gain and noise
    telnet sets while it runs, where OAI was built with ``-DENABLE_TELNETSRV=ON``.

    OAI's types TDL_A to TDL_E end gNB and UE if they are in the settings: they are made before the
    random numbers that they need.
    """

    noise_db: float
    """Amplitude over 256, in steps of 10 dB for a factor of ten."""
    gain_db: float = 0.0
    forget: float = 0.0

    def settings(self) -> str:
        """Lines of the UE's settings."""
        common = f"ploss_dB = {self.gain_db}; noise_power_dB = {self.noise_db};"
        common += f" forgetfact = {self.forget}; offset = 0; ds_tdl = 0;"
        models = ", ".join(
            f'{{ model_name = "rfsimu_channel_{end}"; type = "AWGN"; {common} }}'
            for end in ("enB0", "ue0")
        )
        listed = "modellist_rfsimu_1"
        return (
            f'channelmod = {{ max_chan = 10; modellist = "{listed}"; {listed} = ({models}); }};\n'
        )


@dataclass(slots=True)
class StandaloneUe:
    """A UE in a namespace of its own; `addresses` are those of its PDU sessions."""

    number: int
    namespace: UeNamespace
    sessions: int
    program: Program | None = None
    addresses: list[str] = field(default_factory=list)

    @property
    def imsi(self) -> str:
        """IMSI, made of its number."""
        return str(FIRST_IMSI + self.number)

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words before a command that run it in its namespace and end it with this program."""
        return (*self.namespace.prefix, *ENDS_WITH_PARENT)


@dataclass(slots=True)
class Standalone:
    """Core network, gNB and UEs of one run, in an existing `folder`. `gnb` may be a CU."""

    oai: Oai
    programs: Programs
    folder: Path
    prbs: int
    core: Program
    gnb: Program
    prefix: Sequence[str]
    f1u: Program | None = None
    du: Program | None = None
    ues: list[StandaloneUe] = field(default_factory=list)

    @classmethod
    async def start(
        cls,
        programs: Programs,
        folder: Path,
        *,
        settings: Mapping[str, str],
        prbs: int = 106,
        rlc_um: bool = False,
        e2: tuple[str, str] | None = None,
        preloaded: Sequence[str] = (),
        real_time: bool = False,
        ues: int = 4,
        flows: Sequence[str] = ("1:9",),
        telnet: int | None = None,
        split: Split | None = None,
    ) -> Standalone:
        """Starts core network and gNB, and waits for their NG Setup.

        Args:
            settings: ``SOJOURN_…`` variables of the gNB.
            rlc_um: Whether DRBs have RLC-UM; RLC-AM otherwise.
            e2, preloaded: As in `Cell.start`.
            real_time: Whether OAI may take real-time priority.
            ues: Subscribers of the core network.
            flows: QoS flows of each PDU session, as the core network's option.
            telnet: Port of OAI's telnet server with the commands of its own tests, if it was built
                (``-DENABLE_TELNETSRV=ON``).
            split: CU and DU in processes of their own; `settings` are the CU's.

        Raises:
            DemoError: Something does not start.
        """
        oai = Oai.found(os.environ)
        prefix = (*ENDS_WITH_PARENT, *(() if real_time else NOT_REAL_TIME), *BY_LINES)
        core = programs.spawn(
            (
                *(*ENDS_WITH_PARENT, sys.executable, "-m", "core", "--address", CORE_ADDRESS),
                *("--log", str(folder / "core.jsonl")),
                *(w for n in range(ues) for w in ("--subscriber", f"{FIRST_IMSI + n}:{KEY}:{OPC}")),
                *(word for flow in flows for word in ("--flow", flow)),
            ),
            name="core",
            environment={**os.environ, "PYTHONPATH": str(HERE)},
            has_ready_line=False,
        )
        await programs.wait_until(core, (folder / "core.jsonl").exists)
        # The log is opened before the listener.
        await programs.wait_until(core, _listens)
        interfaces = "--gNBs.[0].NETWORK_INTERFACES.GNB_IPV4_ADDRESS_FOR_"
        options = [
            *("--gNBs.[0].amf_ip_address.[0].ipv4", CORE_ADDRESS),
            *(f"{interfaces}NG_AMF", GNB_ADDRESS, f"{interfaces}NGU", GNB_ADDRESS),
        ]
        if rlc_um:
            options += ["--gNBs.[0].um_on_default_drb", "1"]
        if telnet is not None:
            options += ["--telnetsrv", "--telnetsrv.shrmod", "ci"]
            options += ["--telnetsrv.listenaddr", GNB_ADDRESS]
            options += ["--telnetsrv.listenport", str(telnet)]
        inherited = os.environ.get("LD_PRELOAD", "").split()
        libraries = dict.fromkeys([*inherited, *preloaded, str(PRELOAD)])
        conf = _conf(oai, CELLS[prbs][0])

        def spawn(name: str, conf: Path, models: str | None, *words: str, **more: str) -> Program:
            with_e2: list[str] = []
            if e2 is not None and models is not None:
                with_e2 = ["--e2_agent.near_ric_ip_addr", e2[0], "--e2_agent.sm_dir", models]
            return programs.spawn(
                (
                    *(*prefix, str(oai.build / GNB), "-O", str(conf)),
                    *("--rfsim", *words, *with_e2, *LOG),
                ),
                name=name,
                environment=oai.environment(
                    SOJOURN_PACE="1", LD_PRELOAD=" ".join(libraries), **more
                ),
                folder=folder,
                has_ready_line=False,
            )

        shown = {"SOJOURN_STATUS_FILE": str(folder / "status.json"), "SOJOURN_STATUS_MS": "100"}
        models = None if e2 is None else e2[1]
        relay = None
        if split is None:
            gnb = spawn(GNB, conf, models, *options, **shown, **settings)
        else:
            relay = await start_relay(programs, split.delay_ms, real_time=real_time)
            (folder / "cu.conf").write_text(cu_settings(conf.read_text()))
            (folder / "du.conf").write_text(du_settings(conf.read_text()))
            gnb = spawn("cu", folder / "cu.conf", split.cu_models, *options, **shown, **settings)
        made = cls(oai, programs, folder, prbs, core, gnb, prefix, relay)
        await programs.wait_until(gnb, lambda: "ng_setup" in made.happened())
        if split is not None:
            made.du = spawn("du", folder / "du.conf", models, SOJOURN_OFF="1")
        return made

    async def attach(
        self, number: int, sessions: int = 1, channel: Channel | None = None
    ) -> StandaloneUe:
        """Starts UE `number` and waits for its PDU sessions. With a `channel` its telnet server
        listens at `UE_TELNET_PORT` in its namespace.

        Raises:
            DemoError: It does not get them.
        """
        ue = next((each for each in self.ues if each.number == number), None)
        if ue is None:
            namespace = await UeNamespace.make(self.programs, number)
            ue = StandaloneUe(number, namespace, sessions)
            self.ues.append(ue)
        conf = self.folder / f"ue{number}.conf"
        wanted = ", ".join(
            f'{{ id = {each}; dnn = "oai"; nssai_sst = 1; }}' for each in range(1, sessions + 1)
        )
        conf.write_text(
            f'uicc0 = {{ imsi = "{ue.imsi}"; key = "{KEY}"; opc = "{OPC}";'
            f" pdu_sessions = ({wanted}); }}\n"
            'thread-pool = "-1,-1,-1,-1";\n'
            f'rfsimulator = ({{ serveraddr = "{ue.namespace.gnb_radio}";'
            f" options = ({'' if channel is None else chr(34) + 'chanmod' + chr(34)}); }});\n"
            + ("" if channel is None else channel.settings())
        )
        telnet = ("--telnetsrv", "--telnetsrv.listenport", str(UE_TELNET_PORT))
        before = len(self.sessions_of(ue))
        ue.program = self.programs.spawn(
            (
                *(*ue.namespace.prefix, *self.prefix, str(self.oai.build / UE), "-O", str(conf)),
                *("--rfsim", *CELLS[self.prbs][1], *LOG),
                *(telnet if channel is not None else ()),
            ),
            name=f"ue{number}",
            environment=self.oai.environment(),
            folder=self.folder,
            has_ready_line=False,
        )
        await self.programs.wait_until(
            ue.program, lambda: len(self.sessions_of(ue)) >= before + sessions, ATTACH_S
        )
        ue.addresses = self.sessions_of(ue)[-sessions:]
        return ue

    async def detach(self, ue: StandaloneUe) -> None:
        """Ends a UE as its user does: it deregisters."""
        if ue.program is not None:
            log = ue.program.log
            # Before that line SIGTERM ends it at once.
            await self.programs.wait_until(ue.program, lambda: HANDLES_SIGNALS in log.read_text())
            await self.programs.stop(ue.program)
            ue.program = None

    def sessions_of(self, ue: StandaloneUe) -> list[str]:
        """Addresses of all PDU sessions that a UE has got."""
        return [
            each["address"]
            for each in self.events()
            if each["what"] == "session" and each["imsi"] == ue.imsi
        ]

    def events(self) -> list[dict[str, Any]]:
        """What the core network logged."""
        try:
            lines = (self.folder / "core.jsonl").read_text().splitlines()
        except OSError:
            return []
        # The last line may be half written.
        return [json.loads(line) for line in lines if line.endswith("}")]

    def happened(self) -> list[str]:
        """Kinds of events, in their order."""
        return [each["what"] for each in self.events()]

    def status(self) -> dict[str, Any]:
        """The gNB's status file, or empty before there is one."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        except (OSError, ValueError):
            return {}
        return found

    def bearers(self) -> list[dict[str, Any]]:
        """Bearers that the MAC knows."""
        return [each for each in self.status().get("bearers", []) if each["rnti"] is not None]

    def out_of_tunnel(self, ue: StandaloneUe) -> int:
        """Packets that a UE's tunnel has handed to its kernel."""
        found = ue.namespace.packets(UE_TUN, "rx")
        if found is None:
            raise DemoError(f"UE {ue.number} has no {UE_TUN}")
        return found


def _conf(oai: Oai, name: str) -> Path:
    for folder in (oai.gnb_settings.parent, *(each / SETTINGS for each in oai.build.parents)):
        if (found := folder / name).is_file():
            return found
    raise DemoError(f"no {SETTINGS / name} beside {oai.gnb_settings}")


def _listens() -> bool:
    """Whether the core network listens: port 38412 in /proc/net/tcp."""
    return ":960C " in Path("/proc/net/tcp").read_text()
