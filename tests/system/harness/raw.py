"""A ZeroMQ peer that sends whatever frames a test wants, well formed or not."""

import json

import zmq

VERSION = b"corral/1"


class Raw:
    """A DEALER (or REQ) socket at a daemon, without any of the client library's care.

    Args:
        receive: False for a peer whose operating system takes as little as possible for it.
    """

    def __init__(self, endpoint, kind=zmq.DEALER, timeout=10.0, identity=None, rcvhwm=None):
        self._context = zmq.Context()
        self.socket = self._context.socket(kind)
        self.socket.linger = 0
        self.timeout = timeout
        if identity is not None:
            self.socket.identity = identity
        if rcvhwm is not None:
            self.socket.rcvhwm = rcvhwm
        self.socket.connect(endpoint)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()
        self._context.term()

    def send(self, *frames):
        self.socket.send_multipart(frames)

    def post(self, header, payload=None):
        """Sends a header, given as a dictionary, and perhaps a payload."""
        frames = [VERSION, json.dumps(header).encode()]
        self.send(*frames, *([] if payload is None else [payload]))

    def receive(self, timeout=None):
        """The next message as (header, payload); None if none comes in time."""
        wait = self.timeout if timeout is None else timeout
        if not self.socket.poll(round(wait * 1000)):
            return None
        frames = self.socket.recv_multipart()
        assert frames[0] == VERSION and len(frames) in (2, 3), frames
        return json.loads(frames[1]), frames[2] if len(frames) == 3 else b""

    def reply(self, id, timeout=None):
        """The final reply to a request; events before it are dropped."""
        while True:
            message = self.receive(timeout)
            assert message is not None, f"no reply to {id!r}"
            if message[0].get("re") == id and "event" not in message[0]:
                return message

    def call(self, header, payload=None, timeout=None):
        self.post(header, payload)
        return self.reply(header["id"], timeout)

    def exec(self, id, command, **target):
        """Sends an exec."""
        text = command.encode()
        self.post({"op": "exec", "id": id, "parts": [["command", len(text)]], **target}, text)

    def error(self, header, payload=None):
        """The error that a request gets; fails if it succeeds."""
        reply, _ = self.call(header, payload)
        assert reply["ok"] is False, reply
        return reply["error"]
