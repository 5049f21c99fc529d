"""The keys with which a client proves to a daemon over TCP who it is."""

from __future__ import annotations

import json
import os
from typing import NamedTuple, Optional

_TCP = "tcp://"


class Keys(NamedTuple):
    """A CURVE key pair, and the public key of the daemon, each in Z85."""

    public: str
    secret: str
    server: str


def keys_for(
    endpoint: str, key_file: Optional[str] = None, server_key: Optional[str] = None
) -> Optional[Keys]:
    """The keys that an endpoint needs: none for a socket. Without arguments ``$CORRAL_KEY_FILE``
    and ``$CORRAL_SERVER_KEY`` name them.

    Raises ValueError if one of the two is missing or the file is no key file.
    """
    if not endpoint.startswith(_TCP):
        return None
    key_file = key_file or os.environ.get("CORRAL_KEY_FILE")
    server = server_key or os.environ.get("CORRAL_SERVER_KEY")
    if not key_file and not server:
        return None  # The daemon may be an insecure one.
    if not key_file or not server:
        raise ValueError("give both key_file and server_key (CORRAL_KEY_FILE, CORRAL_SERVER_KEY)")
    try:
        with open(key_file, encoding="utf-8") as file:
            pair = json.load(file)
        keys = Keys(pair["public"], pair["secret"], server)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "not what corral keygen writes"
        raise ValueError(f"{key_file!r} is no key file: {reason}") from None
    if not all(isinstance(x, str) and len(x) == 40 for x in keys):
        raise ValueError("a key has 40 characters, as corral keygen prints it")
    return keys
