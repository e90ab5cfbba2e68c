OID_V0: str
OID_V1: str

class CodecError(ValueError):
    element: str

def encode(encoding: str, kind: str, value: str) -> bytes: ...
def decode(encoding: str, kind: str, data: bytes) -> str: ...
