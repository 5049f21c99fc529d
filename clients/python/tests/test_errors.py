import errno
import pickle
import re
from pathlib import Path

import pytest

import corral
from corral import errors

TABLE = Path(__file__).parents[3] / "messages" / "wire" / "errc.cpp"


def codes_of_the_daemon():
    rows = re.findall(r'\{errc::(\w+), "(\w+)", (?:true|false)\}', TABLE.read_text())
    assert all(number == name for number, name in rows)
    return [name for _, name in rows]


def test_every_code_of_the_daemon_has_a_class_and_no_class_is_without_one():
    assert sorted(errors.error_classes()) == sorted(codes_of_the_daemon())


def test_a_class_is_named_after_its_code():
    for code, cls in errors.error_classes().items():
        assert cls.__name__.lower() == code.replace("_", "")
        assert getattr(corral, cls.__name__) is cls


def test_a_reply_raises_the_class_of_its_code_with_all_it_says():
    for code, cls in errors.error_classes().items():
        details = {"path": "/mnt/x", "n": 1}
        error = errors.from_wire(
            {"code": code, "message": "why", "details": details, "retryable": True}
        )
        assert type(error) is cls
        assert (error.code, error.message, error.details) == (code, "why", details)
        assert error.retryable
        assert str(error) == f"{code}: why"


@pytest.mark.parametrize(
    "code, builtin, number",
    [
        ("file_not_found", FileNotFoundError, errno.ENOENT),
        ("not_a_directory", NotADirectoryError, errno.ENOTDIR),
        ("is_a_directory", IsADirectoryError, errno.EISDIR),
        ("permission_denied", PermissionError, errno.EACCES),
        ("read_only", PermissionError, errno.EROFS),
        ("file_too_large", OSError, errno.EFBIG),
        ("no_space", OSError, errno.ENOSPC),
    ],
)
def test_a_file_error_is_also_the_builtin_that_fits(code, builtin, number):
    error = errors.from_wire({"code": code, "message": "why", "details": {"path": "/mnt/x"}})
    assert isinstance(error, builtin)
    assert error.errno == number
    assert error.filename == "/mnt/x"


def test_an_error_survives_pickling_into_another_process():
    for code in errors.error_classes():
        sent = errors.from_wire({"code": code, "message": "why", "details": {"a": 1}})
        got = pickle.loads(pickle.dumps(sent))
        assert type(got) is type(sent)
        assert (got.code, got.message, got.details) == (code, "why", {"a": 1})


@pytest.mark.parametrize("fields", [None, 7, {}, {"code": 7, "details": []}])
def test_a_broken_error_is_internal(fields):
    assert type(errors.from_wire(fields)) is corral.Internal


def test_a_code_of_a_newer_daemon_is_a_plain_corral_error():
    error = errors.from_wire({"code": "brand_new", "message": "m"})
    assert type(error) is corral.CorralError
    assert error.code == "brand_new"
