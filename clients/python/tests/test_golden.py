"""The golden messages of the C++ codec come out of this one with the same bytes."""

import json
import struct
from pathlib import Path

import pytest

from corral import _wire

GOLDEN = Path(__file__).parents[3] / "tests" / "golden"
CASES = [
    (path.stem, json.loads(line))
    for path in sorted(GOLDEN.glob("*.jsonl"))
    for line in path.read_bytes().splitlines()
]


def split_frame(case):
    frame = bytes.fromhex(case["frame"])
    header_size, payload_size = struct.unpack(">II", frame[:8])
    header, payload = frame[8 : 8 + header_size], frame[8 + header_size :]
    assert len(payload) == payload_size
    return header, payload


def test_there_are_golden_messages_of_every_kind():
    assert {kind for kind, _ in CASES} == {"accepted", "refused", "replies", "events"}
    assert len(CASES) > 500


@pytest.mark.parametrize("kind", ["accepted", "refused", "replies", "events"])
def test_golden_headers_are_written_with_the_same_bytes(kind):
    for of_kind, case in CASES:
        if of_kind == kind:
            header, payload = split_frame(case)
            assert _wire.encode_header(case["header"]) == header, case["name"]
            assert payload.hex() == case["payload"], case["name"]


def test_golden_messages_are_cut_into_parts_and_put_together_again():
    for _, case in CASES:
        header, payload = split_frame(case)
        message = _wire.decode([_wire.VERSION, header, payload])
        parts = message.parts()
        fields = {name: x for name, x in message.header.items() if name != "parts"}
        if "" in parts:
            assert parts == {"": payload}
            continue
        assert _wire.encode(fields, list(parts.items())) == (header, payload), case["name"]


def test_golden_refusals_say_why():
    for kind, case in CASES:
        if kind == "accepted":
            assert case["accepted"] is True and "error" not in case
        if kind == "refused":
            assert case["accepted"] is False and case["error"]
