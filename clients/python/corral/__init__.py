"""Client of Corral: isolated sandboxes for AI agents.

    import corral

    with corral.Client() as client, client.acquire("thread-1") as sandbox:
        print(sandbox.exec("echo hello").output)
"""

from . import errors
from ._endpoint import default_endpoint
from .client import Client
from .errors import *  # noqa: F401,F403
from .results import (
    Chunk,
    Entry,
    ExecResult,
    GlobResult,
    GrepResult,
    KeptResult,
    Lease,
    Listing,
    MapResult,
    Match,
    ServerInfo,
)
from .sandbox import Sandbox
from .streaming import ExecStream

__version__ = "0.1.0"
