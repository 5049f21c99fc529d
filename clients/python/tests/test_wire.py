import pytest

import corral
from corral import _wire


def test_text_and_bytes_survive_both_ways():
    assert _wire.to_text(_wire.to_bytes("ä漢😀")) == "ä漢😀"
    odd = b"\xff\x00\xe4 text"
    assert _wire.to_bytes(_wire.to_text(odd)) == odd


def test_a_header_that_json_cannot_hold_is_an_invalid_request():
    for value in (float("nan"), float("inf"), "\ud800", {1, 2}, b"bytes"):
        with pytest.raises(corral.InvalidRequest, match="can't be written as JSON"):
            _wire.encode_header({"a": value})


def test_a_header_over_the_limit_is_refused_before_it_is_sent():
    _wire.encode_header({"a": "x" * (_wire.MAX_HEADER - 8)})
    with pytest.raises(corral.InvalidRequest, match="65537 bytes; at most 65536"):
        _wire.encode_header({"a": "x" * (_wire.MAX_HEADER - 7)})


def test_a_payload_over_the_limit_is_refused_before_it_is_sent():
    _wire.encode({}, [("command", bytes(_wire.MAX_PAYLOAD))])
    with pytest.raises(corral.InvalidRequest, match="16777217 bytes"):
        _wire.encode({}, [("command", bytes(_wire.MAX_PAYLOAD)), ("stdin", b"x")])


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"corral/1"],
        [b"corral/2", b"{}"],
        [b"corral/1", b"[]"],
        [b"corral/1", b"{"],
        [b"corral/1", b"\xff"],
        [b"corral/1", b"{}", b"", b""],
    ],
)
def test_frames_that_are_no_message_are_refused(frames):
    with pytest.raises(ValueError):
        _wire.decode(frames)


def test_parts_that_do_not_add_up_are_refused():
    with pytest.raises(corral.Internal):
        _wire.Message({"parts": [["a", 2]]}, b"abc").parts()
