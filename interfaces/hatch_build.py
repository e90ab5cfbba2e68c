"""Build hook: compiles `proto/*.proto` into `src/sojourn_interfaces`.

Runs for wheels and editable installations. No system protoc is needed: `grpcio-tools` has its own.
The modules are part of the wheel and not under version control.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "sojourn_interfaces"

# protoc writes `import x_pb2 as x__pb2`, which finds the module only on the top level of sys.path.
_TOP_LEVEL_IMPORT = re.compile(r"^import (\w+_pb2) as", re.MULTILINE)


class ProtobufBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Generates the Protobuf and gRPC modules before the files of a build are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and declare the modules as artifacts because git ignores them."""
        root = Path(self.root)
        written = compile_protos(root / "proto", root / "src" / PACKAGE)
        build_data["artifacts"].extend(f"/{path.relative_to(root).as_posix()}" for path in written)


def compile_protos(proto_dir: Path, out_dir: Path) -> list[Path]:
    """Compile every `.proto` of `proto_dir` into modules of the package at `out_dir`.

    Returns the files written. Raises `RuntimeError` if there is no file or protoc refuses one, in
    which case protoc has printed the line to standard error.
    """
    protos = sorted(proto_dir.glob("*.proto"))
    if not protos:
        raise RuntimeError(f"{proto_dir}: no .proto file; expected at least one")
    with tempfile.TemporaryDirectory() as scratch:
        descriptor_file = Path(scratch) / "all.desc"
        # In a subprocess: protoc's native code has crashed within a program that had loaded other
        # native code.
        status = subprocess.run(  # noqa: S603 - our own arguments
            [
                *(sys.executable, "-m", "grpc_tools.protoc"),
                f"--proto_path={proto_dir}",
                f"--python_out={out_dir}",
                f"--pyi_out={out_dir}",
                f"--grpc_python_out={out_dir}",
                f"--descriptor_set_out={descriptor_file}",
                *map(str, protos),
            ],
            check=False,
        ).returncode
        if status != 0:
            raise RuntimeError(f"{proto_dir}: protoc failed with status {status}")
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(descriptor_file.read_bytes())

    written = []
    for file in descriptors.file:
        stem = file.name.removesuffix(".proto")
        (out_dir / f"{stem}_pb2_grpc.pyi").write_text("".join(grpc_stub(file)))
        for suffix in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi"):
            path = out_dir / f"{stem}{suffix}"
            text = path.read_text()
            path.write_text(_TOP_LEVEL_IMPORT.sub(rf"from {PACKAGE} import \1 as", text))
            written.append(path)
    return written


def grpc_stub(file: Any) -> Iterator[str]:
    """The `.pyi` of one `_pb2_grpc` module; protoc types the messages but not the services.

    The stubs are those of `grpc.aio`, which is all that Sojourn uses. Every service uses only
    messages of its own file.
    """
    messages = f"{file.name.removesuffix('.proto')}_pb2"

    def type_of(full_name: str) -> str:
        return f"{messages}.{full_name.removeprefix(f'.{file.package}.')}"

    yield (
        "from collections.abc import AsyncIterator, Awaitable\n"
        "import grpc\n"
        "import grpc.aio\n"
        f"from {PACKAGE} import {messages}\n"
    )
    for service in file.service:
        yield f"\nclass {service.name}Stub:\n"
        yield "    def __init__(self, channel: grpc.aio.Channel) -> None: ...\n"
        for method in service.method:
            kind = "Stream" if method.client_streaming else "Unary"
            kind += "Stream" if method.server_streaming else "Unary"
            request, response = type_of(method.input_type), type_of(method.output_type)
            yield f"    {method.name}: grpc.aio.{kind}MultiCallable[{request}, {response}]\n"
        yield f"\nclass {service.name}Servicer:\n"
        for method in service.method:
            request, response = type_of(method.input_type), type_of(method.output_type)
            context = f"grpc.aio.ServicerContext[{request}, {response}]"
            result = f"AsyncIterator[{response}]" if method.server_streaming else response
            keyword = "def" if method.server_streaming else "async def"
            argument = f"request: {request}"
            if method.client_streaming:
                argument = f"request_iterator: AsyncIterator[{request}]"
                # Or it reads and writes through `context`.
                result += " | Awaitable[None]"
            yield (
                f"    {keyword} {method.name}(\n"
                f"        self, {argument}, context: {context}\n"
                f"    ) -> {result}: ...\n"
            )
        yield (
            f"\ndef add_{service.name}Servicer_to_server(\n"
            f"    servicer: {service.name}Servicer, server: grpc.aio.Server\n"
            ") -> None: ...\n"
        )


if __name__ == "__main__":
    here = Path(__file__).parent
    for path in compile_protos(here / "proto", here / "src" / PACKAGE):
        sys.stdout.write(f"{path}\n")
