"""The interfaces: they compile, are importable and typed, and change only with the snapshot."""

from __future__ import annotations

import json
import zipfile
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sojourn_interfaces
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FileDescriptor
from hatchling.builders.wheel import WheelBuilder
from sojourn_interfaces import e2_gateway_pb2, forecast_pb2
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayServicer, E2GatewayStub
from sojourn_interfaces.forecast_pb2_grpc import ForecasterServicer, ForecasterStub

ROOT = Path(__file__).resolve().parents[1]
SNAPSHOT = Path(__file__).with_name("field_numbers.json")

FILES = {"e2_gateway": e2_gateway_pb2.DESCRIPTOR, "forecast": forecast_pb2.DESCRIPTOR}


def build_hook() -> ModuleType:
    """`hatch_build.py`, which is outside every package."""
    spec = util.spec_from_file_location("interfaces_hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fields_of(message: Descriptor) -> dict[str, str]:
    """Field number → type and name."""
    found = {}
    for field in message.fields:
        repeated = "repeated " if field.is_repeated else ""
        found[str(field.number)] = f"{repeated}{field.type} {field.name}"
    return found


def walk(message: Descriptor) -> dict[str, Any]:
    found: dict[str, Any] = {message.full_name: fields_of(message)}
    for enum in message.enum_types:
        found[enum.full_name] = values_of(enum)
    for nested in message.nested_types:
        found |= walk(nested)
    return found


def values_of(enum: EnumDescriptor) -> dict[str, str]:
    return {str(value.number): value.name for value in enum.values}


def numbers_of(file: FileDescriptor) -> dict[str, Any]:
    """Numbers, types and names of a file."""
    found: dict[str, Any] = {}
    for message in file.message_types_by_name.values():
        found |= walk(message)
    for enum in file.enum_types_by_name.values():
        found[enum.full_name] = values_of(enum)
    for service in file.services_by_name.values():
        for method in service.methods:
            sent = "stream " if method.client_streaming else ""
            returned = "stream " if method.server_streaming else ""
            found[f"{service.full_name}/{method.name}"] = (
                f"{sent}{method.input_type.full_name} -> {returned}{method.output_type.full_name}"
            )
    return found


@pytest.mark.parametrize("name", FILES)
def test_field_numbers_are_those_of_the_snapshot(name: str) -> None:
    """An unintended change of the wire format fails here; see the last assertion for others."""
    now, then = numbers_of(FILES[name]), json.loads(SNAPSHOT.read_text())[name]
    for element, known in then.items():
        assert element in now, f"{element} is gone"
        if isinstance(known, dict):
            for number, meaning in known.items():
                assert now[element].get(number) == meaning, f"{element}: number {number}"
        else:
            assert now[element] == known, element
    assert now == then, "additions: add them to field_numbers.json"


@pytest.mark.parametrize(
    ("stub", "servicer"), [(E2GatewayStub, E2GatewayServicer), (ForecasterStub, ForecasterServicer)]
)
def test_every_procedure_can_be_called_and_served(stub: type, servicer: type) -> None:
    file = FILES["e2_gateway" if stub is E2GatewayStub else "forecast"]
    (service,) = file.services_by_name.values()
    assert {method.name for method in service.methods} <= set(dir(servicer))


def test_the_package_has_type_stubs() -> None:
    package = Path(sojourn_interfaces.__file__).parent
    for name in FILES:
        for suffix in ("_pb2.pyi", "_pb2_grpc.pyi"):
            assert (package / f"{name}{suffix}").is_file()
    assert (package / "py.typed").is_file()


def test_generated_code_is_up_to_date_with_the_protos(tmp_path: Path) -> None:
    package = Path(sojourn_interfaces.__file__).parent
    for fresh in build_hook().compile_protos(ROOT / "proto", tmp_path):
        assert (package / fresh.name).read_text() == fresh.read_text(), (
            f"{fresh.name} is older than its .proto; install interfaces again"
        )


def test_a_proto_that_does_not_compile_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "bad.proto").write_text('syntax = "proto3"; message { }')
    with pytest.raises(RuntimeError, match="protoc failed"):
        build_hook().compile_protos(tmp_path, tmp_path)


def test_a_build_without_protos_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no \.proto file"):
        build_hook().compile_protos(tmp_path, tmp_path)


def test_a_wheel_holds_the_generated_modules(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in FILES:
        for suffix in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi"):
            assert f"sojourn_interfaces/{name}{suffix}" in names
    assert "sojourn_interfaces/py.typed" in names


def test_an_unset_payload_is_not_an_empty_message() -> None:
    """The oneof distinguishes a KPM report from bytes, even if empty."""
    indication = e2_gateway_pb2.Indication()
    assert indication.WhichOneof("payload") is None
    indication.message = b""
    assert indication.WhichOneof("payload") == "message"
    indication.kpm.SetInParent()
    assert indication.WhichOneof("payload") == "kpm"


def test_quantiles_of_a_series_are_packed() -> None:
    series = forecast_pb2.Series(values=[1.0] * 1000)
    assert len(series.SerializeToString()) < 4 * 1000 + 10
