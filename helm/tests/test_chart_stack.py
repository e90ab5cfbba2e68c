"""Values for OAI's charts beside ours: keys that those charts have, and names that fit each other.

OAI's charts are not here: `KEYS` are what was read in their values.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from build_images import STACK
from chart_readme import CHART
from chart_tools import REGISTRY, template
from dist import ROOT, workspace_version

FOLDER = CHART / "examples/stack"
IMAGE = {"nfimage.repository", "nfimage.version"}
KEYS = {
    "oai-flexric": IMAGE | {"containerImage.repository", "containerImage.tag"},
    "oai-gnb": IMAGE
    | {f"config.{key}" for key in ("enableE2", "ricHost", "flexrichost", "useAdditionalOptions")},
    "oai-nr-ue": IMAGE | {"config.rfSimServer"},
}


def values(name: str) -> dict[str, Any]:
    """The values file of a release, flat: `config.ricHost`."""
    given = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return {f"{section}.{key}": v for section, of in given.items() for key, v in of.items()}


@pytest.mark.parametrize("chart", KEYS)
def test_overlays_set_what_the_charts_of_oai_have(chart: str) -> None:
    assert values(chart).keys() <= KEYS[chart]


def test_the_releases_run_the_images_of_the_stack_and_find_each_other() -> None:
    for chart, image in (("oai-flexric", "nearrt-ric"), ("oai-gnb", "oai-gnb")):
        assert image in STACK
        assert values(chart)["nfimage.repository"] == f"{REGISTRY}/sojourn/{image}"
        assert values(chart)["nfimage.version"] == workspace_version()
    # Where the image has its service models.
    build = (ROOT / "deploy/images/stack.Containerfile").read_text()
    options = values("oai-gnb")["config.useAdditionalOptions"].split()
    folder = options[options.index("--e2_agent.sm_dir") + 1]
    assert f"COPY --from=oai {folder.rstrip('/')} {folder.rstrip('/')}\n" in build
    ours = template("--values", FOLDER / "sojourn.yaml")
    (settings,) = [
        each["data"]["settings.yaml"]
        for each in ours
        if each["kind"] == "ConfigMap" and "bridge-settings" in each["metadata"]["name"]
    ]
    ric = yaml.safe_load(settings)["ric"]["address"]
    assert {values("oai-gnb")[key] for key in ("config.ricHost", "config.flexrichost")} == {ric}
