"""Prometheus, Alertmanager and, where installed, Grafana: found on PATH, set up for one run."""

from __future__ import annotations

import json
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sojourn_demo import DemoError
from sojourn_demo.programs import Program, Programs, free_address

Names = tuple[str, ...]
PROMETHEUS: Final[Names] = ("prometheus",)
ALERTMANAGER: Final[Names] = ("alertmanager", "prometheus-alertmanager")
"""Names of the binary: of the project's releases, of Debian's package."""
GRAFANA: Final[Names] = ("grafana-server", "grafana")
HOW_TO_GET: Final[Mapping[Names, str]] = {
    PROMETHEUS: "Debian: apt install prometheus; or a release of github.com/prometheus/prometheus",
    ALERTMANAGER: "Debian: apt install prometheus-alertmanager; or a release of"
    " github.com/prometheus/alertmanager",
}
SITE: Final[Mapping[str, str]] = {"cluster": "local", "namespace": "demo", "release": "demo"}
"""Labels of every target: they name the site, as those that the chart sets."""
INTERVAL: Final = "2s"
"""Interval of scrapes and rule evaluation: short, so that a run shows each step soon."""
TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Tools:
    """Paths of the binaries."""

    prometheus: Path
    alertmanager: Path
    grafana: Path | None

    @classmethod
    def found(cls) -> Tools:
        """Those on PATH; raises `DemoError` that names all that are missing and how to get them."""
        paths = {names: _on_path(names) for names in (PROMETHEUS, ALERTMANAGER, GRAFANA)}
        missing = [
            f"{names[0]} is not on PATH ({how})"
            for names, how in HOW_TO_GET.items()
            if paths[names] is None
        ]
        prometheus, alertmanager = paths[PROMETHEUS], paths[ALERTMANAGER]
        if prometheus is None or alertmanager is None:
            raise DemoError("; ".join(missing))
        return cls(prometheus, alertmanager, paths[GRAFANA])


class Prometheus:
    """A running Prometheus, asked over its HTTP API."""

    def __init__(self, address: str) -> None:
        self.address = address

    def query(self, expression: str, at_s: float | None = None) -> list[dict[str, Any]]:
        """The samples of an instant query: `metric` (labels) and `value` (time, text).

        Raises:
            DemoError: The expression is refused; the message is Prometheus's.
        """
        fields = {"query": expression} | ({} if at_s is None else {"time": str(at_s)})
        found: list[dict[str, Any]] = self._get("query", fields)["result"]
        return found

    def alerts(self) -> list[dict[str, Any]]:
        """Alerts that are pending or firing: `labels`, `annotations`, `state`, `activeAt`."""
        found: list[dict[str, Any]] = self._get("alerts", {})["alerts"]
        return found

    def rules(self) -> list[dict[str, Any]]:
        """All rules: `name`, `type`, `query`, `health`, `lastError`."""
        return [rule for group in self._get("rules", {})["groups"] for rule in group["rules"]]

    def _get(self, what: str, fields: Mapping[str, str]) -> dict[str, Any]:
        url = f"http://{self.address}/api/v1/{what}?{urllib.parse.urlencode(fields)}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                data: dict[str, Any] = json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            raise DemoError(f"Prometheus: {fields.get('query', what)}: {text}") from error
        return data


async def start_prometheus(
    programs: Programs,
    binary: Path,
    folder: Path,
    *,
    targets: Mapping[str, str],
    rules: Sequence[Path] = (),
    alertmanager: str | None = None,
    interval: str = INTERVAL,
    scrape: Mapping[str, Any] | None = None,
) -> Prometheus:
    """Starts Prometheus with its data in `folder`.

    Args:
        targets: Address of the metrics of each job.
        rules: Rule files.
        alertmanager: Its address.
        scrape: More of each scrape configuration, such as `authorization`.

    Raises:
        DemoError: It ended or is late, for instance because a rule file is wrong.
    """
    address = free_address()
    configuration: dict[str, Any] = {
        "global": {
            "scrape_interval": interval,
            "scrape_timeout": interval,
            "evaluation_interval": interval,
        },
        "rule_files": [str(path.resolve()) for path in rules],
        "scrape_configs": [
            {
                "job_name": job,
                "static_configs": [{"targets": [target], "labels": dict(SITE)}],
                **(scrape or {}),
            }
            for job, target in targets.items()
        ],
    }
    if alertmanager:
        managers = [{"static_configs": [{"targets": [alertmanager]}]}]
        configuration["alerting"] = {"alertmanagers": managers}
    await _start(
        programs,
        binary,
        *(f"--config.file={_write(folder / 'prometheus.yml', configuration)}",),
        *(f"--storage.tsdb.path={folder / 'prometheus'}", f"--web.listen-address={address}"),
        # Alertmanager drops an alert that is not sent again before its `endsAt`.
        "--rules.alert.resend-delay=10s",
        folder=folder,
        ready=f"http://{address}/-/ready",
    )
    return Prometheus(address)


async def start_alertmanager(
    programs: Programs, binary: Path, folder: Path, webhook: str, shipped: Path
) -> tuple[Program, str]:
    """Starts Alertmanager, which posts every notification to `webhook`; its address.

    Args:
        shipped: `dashboards/alertmanager.yaml`: grouping and inhibitions. Its waits are left out.

    Raises:
        DemoError: `shipped` cannot be read, or Alertmanager ended or is late.
    """
    address = free_address()
    ours = _loaded(shipped)
    configuration = {
        "route": ours["route"] | {"receiver": "noc", "group_wait": "0s", "group_interval": "1s"},
        "inhibit_rules": ours["inhibit_rules"],
        "receivers": [
            {"name": "noc", "webhook_configs": [{"url": webhook, "send_resolved": True}]}
        ],
    }
    program = await _start(
        programs,
        binary,
        f"--config.file={_write(folder / 'alertmanager.yml', configuration)}",
        *(f"--storage.path={folder / 'alertmanager'}", f"--web.listen-address={address}"),
        "--cluster.listen-address=",
        folder=folder,
        ready=f"http://{address}/-/ready",
    )
    return program, address


def _loaded(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise DemoError(f"{path}: {error}") from error


async def start_grafana(
    programs: Programs, binary: Path, folder: Path, prometheus: str, dashboards: Path
) -> str:
    """Starts Grafana with the dashboards and Prometheus provisioned, readable by anybody on
    loopback; its address."""
    address = free_address()
    await _start(
        programs,
        binary,
        *_grafana_arguments(binary),
        folder=folder,
        ready=f"http://{address}/api/health",
        environment=_provision_grafana(folder, address, prometheus, dashboards),
    )
    return address


def _grafana_arguments(binary: Path) -> list[str]:
    home = Path("/usr/share/grafana")
    return [
        *(["server"] if binary.name == "grafana" else []),
        *(["--homepath", str(home)] if home.is_dir() else []),
    ]


def _provision_grafana(
    folder: Path, address: str, prometheus: str, dashboards: Path
) -> dict[str, str]:
    """Writes the provisioning files; the settings as environment variables."""
    provisioning = folder / "provisioning"
    source = {"name": "Prometheus", "type": "prometheus", "url": f"http://{prometheus}"}
    _write(
        provisioning / "datasources" / "prometheus.yaml",
        {"apiVersion": 1, "datasources": [source | {"access": "proxy", "isDefault": True}]},
    )
    provider = {"name": "Sojourn", "folder": "Sojourn", "type": "file"}
    _write(
        provisioning / "dashboards" / "sojourn.yaml",
        {
            "apiVersion": 1,
            "providers": [provider | {"options": {"path": str(dashboards.resolve())}}],
        },
    )
    host, port = address.rsplit(":", 1)
    settings = {
        "SERVER_HTTP_ADDR": host,
        "SERVER_HTTP_PORT": port,
        "PATHS_DATA": str(folder / "grafana"),
        "PATHS_PROVISIONING": str(provisioning.resolve()),
        "AUTH_ANONYMOUS_ENABLED": "true",
        "ANALYTICS_REPORTING_ENABLED": "false",
        "ANALYTICS_CHECK_FOR_UPDATES": "false",
    }
    return {f"GF_{name}": value for name, value in settings.items()}


def _on_path(names: Sequence[str]) -> Path | None:
    found = next(filter(None, map(shutil.which, names)), None)
    return Path(found) if found else None


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(content), sort_keys=False))
    return path


async def _start(
    programs: Programs,
    binary: Path,
    *arguments: str,
    folder: Path,
    ready: str,
    environment: Mapping[str, str] | None = None,
) -> Program:
    def is_ready() -> bool:
        try:
            with urllib.request.urlopen(ready, timeout=1.0) as answer:  # noqa: S310 - http
                return bool(answer.status == 200)
        except OSError:
            return False

    return await programs.start_foreign(
        binary,
        *arguments,
        environment={**os.environ, **(environment or {})},
        folder=folder,
        is_ready=is_ready,
    )
