"""Where the daemon listens, and what to check if it doesn't."""

from __future__ import annotations

import os

_IPC = "ipc://"


def default_endpoint() -> str:
    """``$CORRAL_ENDPOINT``, else the socket that a daemon of this user listens on."""
    configured = os.environ.get("CORRAL_ENDPOINT")
    if configured:
        return configured
    if os.geteuid() == 0:
        return "ipc:///run/corral/corral.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return f"ipc://{runtime}/corral/corral.sock"
    return f"ipc:///tmp/corral-{os.geteuid()}/corral.sock"


def as_endpoint(text: str) -> str:
    """A ZeroMQ endpoint; the path of a socket becomes one."""
    return _IPC + text if text.startswith("/") else text


def why_unreachable(endpoint: str, waited: float) -> str:
    """Says that nobody answered for so many seconds, and what to look at."""
    text = f"the daemon at {endpoint} does not answer: nothing within {waited:g} s"
    if endpoint.startswith(_IPC):
        path = endpoint[len(_IPC) :]
        if not os.path.exists(path):
            return f"{text}; there is no such socket: is corrald running, and on this one?"
        if not os.access(path, os.W_OK):
            return f"{text}; this user may not write to the socket: is it in the socket's group?"
    if endpoint.startswith("tcp://"):
        return f"{text}; is corrald running there, and are key_file and server_key its own?"
    return f"{text}; is corrald running there? (CORRAL_ENDPOINT or endpoint= say where to look)"
