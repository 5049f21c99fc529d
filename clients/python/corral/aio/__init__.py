"""The asyncio twin of ``corral``: the same surface, for any number of tasks.

    from corral import aio

    async with aio.AsyncClient() as client, await client.acquire("thread-1") as sandbox:
        print((await sandbox.exec("echo hello")).output)

Results, errors and arguments are those of ``corral``. A task that is cancelled cancels the command
that it waits for. One thread per client moves the messages and sends the heartbeats, so that leases
are kept even while the loop is busy; no call has a thread of its own.
"""

from .client import AsyncClient
from .sandbox import AsyncSandbox
from .streaming import AsyncExecStream

__all__ = ["AsyncClient", "AsyncExecStream", "AsyncSandbox"]
