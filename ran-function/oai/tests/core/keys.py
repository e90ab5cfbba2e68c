"""Keys of 5G-AKA: Milenage (35.206), the hierarchy of 33.501 annex A, integrity 128-NIA2."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.cmac import CMAC

BLOCK: Final = 16
AMF_FIELD: Final = b"\x80\x00"
"""Authentication management field; its first bit is 1 for 5G (33.501 §6.1.3.2)."""
NIA2: Final = 2


@dataclass(frozen=True, slots=True)
class Milenage:
    """Results of f1 to f5 for one challenge: 8, 8, 16, 16 and 6 bytes."""

    mac: bytes
    res: bytes
    ck: bytes
    ik: bytes
    ak: bytes

    @classmethod
    def of(cls, key: bytes, opc: bytes, rand: bytes, sqn: bytes, amf: bytes) -> Milenage:
        """35.206 §4.1, with the constants that it recommends."""
        temp = _aes(key, _xor(rand, opc))
        in1 = (sqn + amf) * 2
        mac = _xor(_aes(key, _xor(temp, _rotated(_xor(in1, opc), 8))), opc)
        out2 = _out(key, opc, temp, 0, 1)
        ck, ik = _out(key, opc, temp, 4, 2), _out(key, opc, temp, 8, 4)
        return cls(mac[:8], out2[8:], ck, ik, out2[:6])


@dataclass(frozen=True, slots=True)
class Challenge:
    """What the network asks a UE, and what follows if it answers (33.501 §6.1.3.2)."""

    rand: bytes
    autn: bytes
    expected: bytes
    """RES* of the UE, 16 bytes."""
    kseaf: bytes

    @classmethod
    def of(cls, key: bytes, opc: bytes, rand: bytes, sqn: int, network: str) -> Challenge:
        """A challenge; `sqn` is the sequence number, `network` the serving network's name."""
        number = sqn.to_bytes(6, "big")
        found = Milenage.of(key, opc, rand, number, AMF_FIELD)
        hidden = _xor(number, found.ak)
        both, name = found.ck + found.ik, network.encode()
        expected = kdf(both, 0x6B, name, rand, found.res)[BLOCK:]
        kausf = kdf(both, 0x6A, name, hidden)
        return cls(rand, hidden + AMF_FIELD + found.mac, expected, kdf(kausf, 0x6C, name))

    def kamf(self, imsi: str) -> bytes:
        """Key of the AMF, 32 bytes (33.501 §A.7)."""
        return kdf(self.kseaf, 0x6D, imsi.encode(), bytes(2))


def serving_network(mcc: str, mnc: str) -> str:
    """Name of the serving network (24.501 §9.12.1)."""
    return f"5G:mnc{mnc:0>3}.mcc{mcc}.3gppnetwork.org"


def integrity_key(kamf: bytes) -> bytes:
    """Key of NAS integrity with 128-NIA2, 16 bytes (33.501 §A.8)."""
    return kdf(kamf, 0x69, b"\x02", bytes([NIA2]))[BLOCK:]


def gnb_key(kamf: bytes, uplink_count: int) -> bytes:
    """K_gNB, 32 bytes, of the uplink NAS COUNT of the UE's message (33.501 §A.9)."""
    return kdf(kamf, 0x6E, uplink_count.to_bytes(4, "big"), b"\x01")


def nia2(key: bytes, count: int, downlink: bool, message: bytes) -> bytes:
    """128-NIA2 over 3GPP access, 4 bytes (33.501 §D.3.1.3)."""
    cmac = CMAC(algorithms.AES(key))
    cmac.update(count.to_bytes(4, "big") + bytes([1 << 3 | downlink << 2, 0, 0, 0]) + message)
    return cmac.finalize()[:4]


def kdf(key: bytes, fc: int, *parameters: bytes) -> bytes:
    """Key derivation of 33.220 §B.2, 32 bytes."""
    text = bytes([fc])
    for parameter in parameters:
        text += parameter + len(parameter).to_bytes(2, "big")
    return hmac.new(key, text, hashlib.sha256).digest()


def _aes(key: bytes, block: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return cipher.update(block) + cipher.finalize()


def _out(key: bytes, opc: bytes, temp: bytes, rotation: int, constant: int) -> bytes:
    mixed = bytearray(_rotated(_xor(temp, opc), rotation))
    mixed[-1] ^= constant
    return _xor(_aes(key, bytes(mixed)), opc)


def _rotated(block: bytes, by: int) -> bytes:
    return block[by:] + block[:by]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
