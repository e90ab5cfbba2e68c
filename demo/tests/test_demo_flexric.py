"""The demo through FlexRIC: missing files are named; configuration and links are made."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from sojourn_demo import DemoError, flexric, programs
from sojourn_demo.cli import main
from sojourn_demo.flexric import FlexRic

MODELS = ("gtp", "kpm", "mac", "pdcp", "rc", "rlc", "slice", "tc")
KERNEL_WITH_SCTP = "sojourn_demo.flexric.kernel_has_sctp"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build tree with the expected files."""
    tree = tmp_path / "build"
    for file in (
        "examples/ric/nearRT-RIC",
        *(f"src/sm/{model}_sm/lib{model}_sm.so" for model in MODELS),
    ):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).touch()
    return tree


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs in place of this environment's, with those for FlexRIC."""
    folder = tmp_path / "bin"
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    library = tmp_path / "lib" / flexric.LEVEL_TRIGGERED
    for made in (folder / "flexric-node", folder / "flexric-bridge", library):
        made.parent.mkdir(exist_ok=True)
        made.touch()
    return folder


def test_without_flexric_the_demo_names_the_missing_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FLEXRIC_BUILD", raising=False)
    base = tmp_path / "base.yaml"
    base.write_text("ues: [{rnti: 17}]\n")
    arguments = ["--through", "flexric", "--scenario", str(base), "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "sojourn-demo: FLEXRIC_BUILD is not set; expected the build tree of FlexRIC\n"
    )


def test_an_invalid_build_tree_is_named(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"has no examples/ric/nearRT-RIC"):
        FlexRic.found({"FLEXRIC_BUILD": str(tmp_path)})


def test_a_kernel_without_sctp_needs_an_emulation(
    build: Path, bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KERNEL_WITH_SCTP, lambda: False)
    variables = {"FLEXRIC_BUILD": str(build)}
    with pytest.raises(DemoError, match=r"no SCTP, .*is missing; run `make flexric-bridge`"):
        FlexRic.found(variables)
    emulation = bin_folder.parent / "lib" / flexric.SCTP_OVER_TCP
    emulation.touch()
    assert FlexRic.found(variables).shim == emulation
    shim = bin_folder / "shim.so"
    variables["SCTP_SHIM"] = str(shim)
    with pytest.raises(DemoError, match=r"shim.so: no such file"):
        FlexRic.found(variables)
    shim.touch()
    found = FlexRic.found(variables)
    assert found.environment()["LD_PRELOAD"].split() == [str(found.level_triggered), str(shim)]


def test_programs_that_are_not_built_are_named_with_their_target(
    build: Path, bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KERNEL_WITH_SCTP, lambda: True)
    found = FlexRic.found({"FLEXRIC_BUILD": str(build)})
    assert found.environment()["LD_PRELOAD"] == str(found.level_triggered)
    found.level_triggered.unlink()
    with pytest.raises(DemoError, match=r"triggered.so: no such file; run `make flexric-bridge`"):
        FlexRic.found({"FLEXRIC_BUILD": str(build)})
    (bin_folder / "flexric-node").unlink()
    with pytest.raises(DemoError, match=r"flexric-node: no such program; run `make flexric-node`"):
        FlexRic.found({"FLEXRIC_BUILD": str(build)})


@pytest.mark.parametrize("own", [False, True])
def test_service_models_are_linked_into_one_folder(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    model = tmp_path / flexric.TC_V1_MODEL
    model.touch()
    monkeypatch.setattr(flexric, "tc_v1_model", lambda: model if own else None)
    ric = FlexRic(build, tmp_path / flexric.LEVEL_TRIGGERED, None)
    for _ in range(2):
        folder = ric.link_service_models(tmp_path / "models")
    assert folder.endswith("/models/")
    names = sorted(path.name for path in Path(folder).iterdir())
    models = (*MODELS, "sojourn_tc") if own else MODELS
    assert names == sorted(f"lib{name}_sm.so" for name in models)
    (build / "src/sm/tc_sm/libtc_sm.so").unlink()
    with pytest.raises(DemoError, match=r"no libtc_sm.so"):
        ric.link_service_models(tmp_path / "again")


def test_the_configuration_has_the_address(tmp_path: Path) -> None:
    path = flexric.configuration(tmp_path, "127.64.0.1")
    assert "NEAR_RIC_IP = 127.64.0.1\n" in path.read_text()


def test_processes_have_different_loopback_addresses() -> None:
    addresses = [flexric.loopback_address(process) for process in range(1, 100_000)]
    assert len(set(addresses)) == len(addresses)
    for address in (addresses[0], addresses[-1], flexric.loopback_address(2**22)):
        with socket.socket() as bound:
            bound.bind((address, 0))


def test_a_listening_port_is_found_without_connecting() -> None:
    address = flexric.loopback_address(os.getpid())
    with socket.socket() as server:
        server.bind((address, 0))
        port = server.getsockname()[1]
        assert not flexric.is_open(address, port)
        server.listen()
        assert flexric.is_open(address, port)
    assert not flexric.is_open(address, port)


def test_sctp_endpoints_are_parsed() -> None:
    lines = [
        " 0 0 2 10 37 36422 0 4711 127.64.0.1 ",
        " 0 0 2 10 38 5000 0 4712 10.0.0.9 127.0.0.1 ",
    ]
    assert flexric.sctp_listens(lines, "127.64.0.1", 36422)
    assert flexric.sctp_listens(lines, "127.0.0.1", 5000)
    assert not flexric.sctp_listens(lines, "127.0.0.1", 36422)
    assert not flexric.sctp_listens([], "127.64.0.1", 36422)


async def test_a_foreign_program_is_ready_by_its_effect_and_prints_to_its_log(
    tmp_path: Path,
) -> None:
    program = tmp_path / "ric"
    program.write_text("#!/bin/sh\necho hello\ntouch ready\nexec sleep 60\n")
    program.chmod(0o755)
    folder = tmp_path / "scratch"
    folder.mkdir()
    async with programs.Programs(tmp_path) as running:
        started = await running.start_foreign(
            program,
            environment=os.environ,
            folder=folder,
            is_ready=(folder / "ready").exists,
        )
        assert started.log.read_text() == "hello\n"
    assert not started.alive


async def test_a_foreign_program_that_dies_is_named(tmp_path: Path) -> None:
    program = tmp_path / "ric"
    program.write_text("#!/bin/sh\necho no such file >&2\nexit 3\n")
    program.chmod(0o755)
    async with programs.Programs(tmp_path) as running:
        with pytest.raises(DemoError, match=r"ric ended with status 3: no such file"):
            await running.start_foreign(
                program, environment=os.environ, folder=tmp_path, is_ready=lambda: False
            )
