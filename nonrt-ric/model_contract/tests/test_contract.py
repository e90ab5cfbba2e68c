"""Model directories are read as written, or refused with the place of the fault."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from onnx import helper
from rlc_model import (
    FEATURES,
    ContractError,
    Manifest,
    Quantity,
    read_contract,
    spans_us,
    write_contract,
)
from rlc_model.cli import main, manifest_schema
from rlc_model.contract import Tensor
from rlc_model.manifest import ExporterCheck, Horizon, Scaler, TrainingData, parse_manifest
from rlc_model.signature import read_trusted_keys, sign, verify_signature

SCHEMA = Path(__file__).parents[1] / "manifest.schema.json"


def manifest() -> Manifest:
    return Manifest(
        model_name="tiny",
        model_version="1.2.0",
        features=list(FEATURES),
        scaler=Scaler(minimum=[0.0] * len(FEATURES), maximum=[100.0] * len(FEATURES)),
        quantities=[Quantity.OCCUPANCY],
        target="residual",
        horizon=Horizon(points_us=(11_000, 12_000, 14_000, 30_000)),
        quantiles=[0.1, 0.5, 0.9],
        state_size=8,
        training_data=TrainingData(description="made here", sha256="0" * 64),
        exporter_check=ExporterCheck(steps=100, max_abs_difference=1e-7),
    )


def test_a_directory_is_read_as_written(tmp_path: Path) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    contract = read_contract(tmp_path)
    assert contract.manifest == manifest()
    assert contract.onnx == b"graph"
    assert contract.manifest.name == "tiny:1.2.0"


def test_the_identity_uses_the_names_of_the_aiml_framework(tmp_path: Path) -> None:
    document = json.loads(manifest().to_json())
    names = "modelName modelVersion artifactVersion inputDataType targetEnvironment"
    assert set(names.split()) <= document.keys()


@pytest.mark.parametrize("name", ["model.onnx", "manifest.json"])
def test_an_altered_file_is_refused(tmp_path: Path, name: str) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    path = tmp_path / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ContractError, match=rf"^{name}: has SHA-256 .*; SHA256SUMS has"):
        read_contract(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "manifest.json", "SHA256SUMS"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    (tmp_path / name).unlink()
    with pytest.raises(
        ContractError, match=rf"{name}: (No such file|is missing; expected a model directory)"
    ):
        read_contract(tmp_path)


def test_a_huge_model_is_not_read(tmp_path: Path) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    with (tmp_path / "model.onnx").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(ContractError, match=r"model.onnx: has more than 67108864 bytes; expected "):
        read_contract(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": [*reversed(FEATURES)]}, r"manifest.json: .*features: got .* in this order"),
        ({"quantiles": [0.5, 0.1]}, r"quantiles: \[0.5, 0.1\] must increase strictly"),
        ({"quantiles": [0.0, 0.5]}, r"must increase strictly within \(0, 1\)"),
        ({"horizon": {"pointsUs": []}}, r"manifest.json: horizon.pointsUs: .*at least 1"),
        ({"horizon": {"pointsUs": [*range(1, 66)]}}, r"horizon.pointsUs: .*at most 64"),
        ({"horizon": {"pointsUs": [0]}}, r"manifest.json: horizon.pointsUs.0: .*equal to 1"),
        ({"horizon": {"pointsUs": [1_000_001]}}, r"horizon.pointsUs.0: .*equal to 1000000"),
        (
            {"horizon": {"pointsUs": [2_000, 3_000, 3_000]}},
            r"horizon: pointsUs\[2\] is 3000, after 3000; expected increasing times",
        ),
        (
            {"horizon": {"startUs": 11_000, "stepUs": 1_000, "points": 20}},
            r"horizon: startUs, stepUs and points are of an older format; expected pointsUs, .*"
            r"renew SHA256SUMS .*, or train the model again",
        ),
        ({"schemaVersion": 2}, r"manifest.json: schemaVersion: Input should be 1"),
        ({"units": "bytes"}, r"manifest.json: units: Extra inputs are not permitted"),
        ({"scaler": {"minimum": [0.0], "maximum": [1.0]}}, r"scaler.minimum: 1 values, 9 features"),
        (
            {"scaler": {"minimum": [0.0] * 9, "maximum": [1.0] * 8 + [0.0]}},
            r"scaler.maximum\[8\]: 0.0 is not above minimum 0.0",
        ),
        ({"scaler": {"minimum": [0.0] * 9, "maximum": ["NaN"] * 9}}, r"scaler.maximum.0: .*finite"),
    ],
)
def test_a_wrong_manifest_names_the_field(change: dict[str, object], message: str) -> None:
    document = json.loads(manifest().to_json()) | change
    with pytest.raises(ContractError, match=message):
        parse_manifest(json.dumps(document).encode())


def test_a_key_that_a_manifest_has_twice_is_refused() -> None:
    text = manifest().to_json().decode()
    twice = text.replace("{", '{"modelVersion": "2",', 1)
    with pytest.raises(ContractError, match=r"manifest.json: key 'modelVersion' given twice"):
        parse_manifest(twice.encode())


def test_a_point_stands_for_the_time_since_the_one_before() -> None:
    assert spans_us((11_000, 12_000, 14_000, 30_000), 1_000) == (1_000, 1_000, 2_000, 16_000)
    assert spans_us((20_000, 40_000), 1_000) == (20_000, 20_000), "the first as the second"
    assert spans_us((11_000,), 1_000) == (1_000,), "a single one: a sample period"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe"])
def test_invalid_manifests_are_refused(data: bytes) -> None:
    with pytest.raises(ContractError, match=r"^manifest.json"):
        parse_manifest(data)


def test_a_graph_must_have_the_promised_signature(tmp_path: Path) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    contract = read_contract(tmp_path)
    inputs, outputs = contract.inputs(), contract.outputs()
    contract.check_signature(inputs[::-1], outputs)
    wide = Tensor("sample", "tensor(float)", (None, 7))
    with pytest.raises(ContractError, match=r"input sample: is .*7\).*; expected .*9\)"):
        contract.check_signature((wide, inputs[1]), outputs)
    with pytest.raises(ContractError, match="has outputs forecast; expected forecast, next_state"):
        contract.check_signature(inputs, outputs[:1])


def test_a_graph_may_have_a_scale_for_each_quantity_and_point(tmp_path: Path) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    contract = read_contract(tmp_path)
    outputs = contract.outputs(scaled=True)
    assert [t.name for t in outputs] == ["forecast", "scale", "next_state"]
    contract.check_signature(contract.inputs(), outputs)
    wide = Tensor("scale", "tensor(float)", (None, 1, 7))
    with pytest.raises(ContractError, match=r"output scale: is .*1, 7\).*; expected .*1, 4\)"):
        contract.check_signature(contract.inputs(), (outputs[0], wide, outputs[2]))


def test_the_committed_schema_matches_the_code() -> None:
    assert SCHEMA.read_text() == manifest_schema(), "run: rlc-model schema > manifest.schema.json"


def test_the_command_prints_the_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "SHA256SUMS: is missing; expected a model directory" in capsys.readouterr().err
    write_contract(tmp_path, manifest(), b"graph")
    assert main(["check", str(tmp_path)]) == 2
    assert "model.onnx: is not an ONNX model" in capsys.readouterr().err
    graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "step", [], [])
    write_contract(tmp_path, manifest(), helper.make_model(graph).SerializeToString())
    assert main(["check", str(tmp_path)]) == 0
    assert "tiny:1.2.0: occupancy_bytes at 4 points" in capsys.readouterr().out


def run_openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_signatures_are_those_of_openssl(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, trusted, other = (tmp_path / name for name in ("key.pem", "trusted.pem", "other.pem"))
    for pair in ((key, trusted), (tmp_path / "another.pem", other)):
        run_openssl("genpkey", "-algorithm", "ed25519", "-out", str(pair[0]))
        run_openssl("pkey", "-in", str(pair[0]), "-pubout", "-out", str(pair[1]))
    model = tmp_path / "model"
    write_contract(model, manifest(), b"graph")
    sums, signature = model / "SHA256SUMS", model / "SHA256SUMS.sig"
    assert main(["sign", str(model), "--key", str(key)]) == 0
    run_openssl("pkeyutl", "-verify", "-pubin", "-inkey", str(trusted), "-rawin", "-in", str(sums),
                "-sigfile", str(signature))  # fmt: skip
    ours = signature.read_bytes()
    run_openssl("pkeyutl", "-sign", "-inkey", str(key), "-rawin", "-in", str(sums), "-out",
                str(signature))  # fmt: skip
    assert signature.read_bytes() == ours
    keys = read_trusted_keys(trusted)
    verify_signature(model, keys)
    other.write_bytes(other.read_bytes() + trusted.read_bytes())
    assert len(read_trusted_keys(other)) == 2
    verify_signature(model, read_trusted_keys(other))
    with pytest.raises(ContractError, match="no signature of SHA256SUMS by any of 1 trusted keys"):
        verify_signature(model, read_trusted_keys(other)[:1])
    signature.write_bytes(b"x" * 65)
    with pytest.raises(ContractError, match="more than 64 bytes"):
        verify_signature(model, keys)
    assert main(["check", str(model), "--trusted-keys", str(trusted)]) == 2
    assert "SHA256SUMS.sig" in capsys.readouterr().err
    for wrong in (key, trusted.parent, tmp_path / "none"):
        with pytest.raises(ContractError):
            read_trusted_keys(wrong)
    with pytest.raises(ContractError, match="expected an Ed25519 private key"):
        sign(model, trusted)


def test_only_regular_files_of_a_model_are_read(tmp_path: Path) -> None:
    write_contract(tmp_path, manifest(), b"graph")
    (tmp_path / "model.onnx").unlink()
    os.mkfifo(tmp_path / "model.onnx")
    with pytest.raises(ContractError, match=r"model\.onnx: is no regular file; expected one"):
        read_contract(tmp_path)
    (tmp_path / "model.onnx").unlink()
    (tmp_path / "model.onnx").symlink_to("/dev/zero")
    with pytest.raises(ContractError, match=r"model\.onnx: is no regular file; expected one"):
        read_contract(tmp_path)
