"""The bytes of the protocol: a JSON header of small fields, and a payload cut into named parts."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import errors

VERSION = b"corral/1"
MAX_HEADER = 64 * 1024  #: bytes of one header
MAX_PAYLOAD = 16 * 1024 * 1024  #: bytes of one message
DATA_BYTES = 256 * 1024  #: bytes of one piece of a larger upload

Bytes = Union[bytes, bytearray, memoryview]
Header = Dict[str, Any]
Parts = Sequence[Tuple[str, Bytes]]

_encode_json = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
).encode


class Message(NamedTuple):
    """A header and the payload that came with it."""

    header: Header
    payload: bytes

    def parts(self) -> Dict[str, bytes]:
        """The payload as the header's ``parts`` cut it; one part named "" if there are none."""
        if "parts" not in self.header:
            return {"": self.payload} if self.payload else {}
        result: Dict[str, bytes] = {}
        offset = 0
        for name, size in self.header["parts"]:
            result[name] = self.payload[offset : offset + size]
            offset += size
        if offset != len(self.payload):
            raise errors.internal(
                f"a reply of {len(self.payload)} bytes whose parts state {offset}"
            )
        return result


def encode_header(header: Mapping[str, Any]) -> bytes:
    """Compact JSON with sorted names, as every side of the protocol writes it.

    Raises InvalidRequest for what JSON in UTF-8 can't hold and for more than 64 KiB.
    """
    try:
        text = _encode_json(header).encode("utf-8")
    except (TypeError, ValueError) as fault:
        raise errors.invalid(f"the request can't be written as JSON in UTF-8: {fault}") from None
    if len(text) > MAX_HEADER:
        raise errors.invalid(
            f"the request's fields take {len(text)} bytes; at most {MAX_HEADER} are allowed"
            " (large data goes into a file or the standard input)"
        )
    return text


def encode(header: Mapping[str, Any], parts: Parts = ()) -> Tuple[bytes, Bytes]:
    """Header and payload of a message; ``parts`` are added to the header.

    Raises InvalidRequest over the limits of the protocol, which would otherwise cost the
    connection.
    """
    if not parts:
        return encode_header(header), b""
    total = sum(len(data) for _, data in parts)
    if total > MAX_PAYLOAD:
        raise errors.invalid(
            f"a payload of {total} bytes; one request takes at most {MAX_PAYLOAD}"
            " (write larger data to a file with write_file)"
        )
    sizes: List[List[Any]] = [[name, len(data)] for name, data in parts]
    payload = parts[0][1] if len(parts) == 1 else b"".join(data for _, data in parts)
    return encode_header({**header, "parts": sizes}), payload


def decode(frames: Sequence[bytes]) -> Message:
    """A message from the frames of a DEALER socket. Raises ValueError if they are none."""
    if not 2 <= len(frames) <= 3 or frames[0] != VERSION:
        raise ValueError("not a message of this protocol")
    header = json.loads(frames[1])
    if not isinstance(header, dict):
        raise ValueError("the header is not a JSON object")
    return Message(header, frames[2] if len(frames) == 3 else b"")


def to_bytes(text: Union[str, Bytes]) -> Bytes:
    """Text as UTF-8; bytes that a file or command had and UTF-8 hasn't survive both ways."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def to_text(data: bytes) -> str:
    """The reverse of ``to_bytes``."""
    return data.decode("utf-8", "surrogateescape")


def json_lines(data: bytes) -> List[Header]:
    """The rows of a ``results`` part."""
    return [json.loads(line) for line in data.splitlines() if line]


def without_envelope(header: Header) -> Header:
    """The fields of a reply's result."""
    return {name: x for name, x in header.items() if name not in ("re", "ok", "parts")}


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    """A duration as the protocol has them."""
    return None if seconds is None else round(seconds * 1000)


def given(**fields: Any) -> Dict[str, Any]:
    """The fields that are not None."""
    return {name: x for name, x in fields.items() if x is not None}
