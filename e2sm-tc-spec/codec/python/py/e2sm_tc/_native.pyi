OID_V0: str
OID_V1: str

class CodecError(ValueError):
    element: str

class ValidationError(CodecError):
    cause: str

def codec_error(message: str, element: str) -> CodecError: ...
def encode(encoding: str, kind: str, value: str) -> bytes: ...
def decode(encoding: str, kind: str, data: bytes) -> str: ...
def validate(kind: str, value: str) -> None: ...
def pacer_limits(data: bytes) -> tuple[list[int], list[int], list[int]]: ...

TEMPLATES: list[str]

class TemplateError(ValueError):
    parameter: str
    detail: str

class PipelineError(ValueError):
    cause: str
    element: str
    detail: str

def template_schema(name: str) -> str: ...
def pipeline(template: str, parameters: str) -> str: ...
def candidate(current: str, safe: str, change: str, capabilities: str) -> str: ...
def check_pipeline(pipeline: str, capabilities: str) -> None: ...
