"""A socket between a client and the daemon, whose connections a test can cut."""

import os
import select
import socket
import threading

PIECE = 65536


class Proxy:
    """Passes the bytes of every connection on, both ways, until it is cut.

    Args:
        path: of the socket to listen on.
        target: of the daemon's socket.
    """

    def __init__(self, path, target):
        self.endpoint = f"ipc://{path}"
        self._target = target
        self._lock = threading.Lock()
        self._pairs = []
        self.accepted = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.write(self._stop_write, b"x")
        self._thread.join()
        self._listener.close()
        self.cut()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def cut(self):
        """Ends all connections, with whatever is under way."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for x in pair:
                x.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while self._stop_read not in select.select([self._listener, self._stop_read], [], [])[0]:
            near, _ = self._listener.accept()
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self._target)
            except OSError:
                near.close()
                far.close()
                continue
            with self._lock:
                self._pairs.append((near, far))
                self.accepted += 1
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        try:
            while data := source.recv(PIECE):
                sink.sendall(data)
        except OSError:
            pass
        for x in (source, sink):
            try:
                x.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
