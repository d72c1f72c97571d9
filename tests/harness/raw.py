"""A server that sends exactly the bytes it is told, when it is told.

It shares nothing with the mock: what both would get wrong, this one shows.
An answer is a sequence of steps: bytes are sent as one write, numbers are
pauses in seconds, FIN and RST end the connection.
"""

import json
import socket
import struct
import threading
import time

FIN, RST = object(), object()


class Request:
    """One request as it arrived. `index` counts from 0 over the server,
    `connection` numbers the connection, `at` is when it was complete."""

    def __init__(self, index, connection, head, body):
        self.index, self.connection, self.body = index, connection, body
        self.at = time.monotonic()
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = lines[0].split(" ", 2)
        self.header_lines = lines[1:]
        self.headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            self.headers[name.lower()] = value.strip()

    @property
    def json(self):
        return json.loads(self.body)


class RawServer:
    """`answer` is a list of steps for every request, or a function of the
    request that returns (or yields) steps."""

    def __init__(self, answer, host="127.0.0.1", backlog=512):
        self.answer = answer if callable(answer) else lambda request: answer
        self.requests = []
        self.connections = 0
        self.in_flight = self.peak = 0
        self.lock = threading.Lock()
        self.sockets = set()
        v6 = ":" in host
        self.listener = socket.create_server(
            (host, 0), backlog=backlog,
            family=socket.AF_INET6 if v6 else socket.AF_INET)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if v6 else host}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections += 1
                number = self.connections
                self.sockets.add(s)
            threading.Thread(target=self._serve, args=(s, number),
                             daemon=True).start()

    def _serve(self, s, number):
        try:
            buffered = b""
            while True:
                got = self._read(s, number, buffered)
                if not got:
                    return
                request, buffered = got
                try:
                    if not self._play(s, request):
                        return
                finally:
                    with self.lock:
                        self.in_flight -= 1
        except OSError:
            pass
        finally:
            with self.lock:
                self.sockets.discard(s)
            s.close()

    def _read(self, s, number, data):
        while b"\r\n\r\n" not in data:
            more = s.recv(65536)
            if not more:
                return None
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(data) < length:
            more = s.recv(1 << 20)
            if not more:
                return None
            data += more
        with self.lock:
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
            request = Request(len(self.requests), number, head, data[:length])
            self.requests.append(request)
        return request, data[length:]

    def _play(self, s, request):
        """False when the connection is over."""
        for step in self.answer(request):
            if step is FIN:
                s.shutdown(socket.SHUT_WR)
                s.settimeout(5)
                while s.recv(65536):
                    pass
                return False
            if step is RST:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
                return False
            if isinstance(step, bytes):
                s.sendall(step)
            else:
                time.sleep(step)
        return True

    def close(self):
        # A thread blocked in accept() would keep a closed socket listening.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            for s in self.sockets:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


class Refused:
    """A port that is taken, so that nobody else gets it, and refuses."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self):
        self.socket.close()


# ---- what an OpenAI-like server says ----

def head(status="200 OK", content_type="text/event-stream", *lines):
    """A chunked answer's head."""
    return "\r\n".join(
        [f"HTTP/1.1 {status}", f"Content-Type: {content_type}",
         "Transfer-Encoding: chunked", *lines, "", ""]).encode()


def chunk(data):
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


END = b"0\r\n\r\n"


def whole(body, status="200 OK", content_type="application/json", *lines):
    """A complete answer with a length."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    return "\r\n".join(
        [f"HTTP/1.1 {status}", f"Content-Type: {content_type}",
         f"Content-Length: {len(body)}", *lines, "", ""]).encode() + body


def event(payload, name=None, end="\n"):
    """An SSE event; `payload` is an object or ready text."""
    if not isinstance(payload, str):
        payload = json.dumps(payload, ensure_ascii=False)
    lines = [f"event: {name}"] if name else []
    lines += [f"data: {line}" for line in payload.split("\n")]
    return (end.join(lines) + end + end).encode()


def delta(finish=None, index=0, **fields):
    """A chat completion chunk."""
    return event({"id": "c", "object": "chat.completion.chunk",
                  "choices": [{"index": index, "delta": fields,
                               "finish_reason": finish}]})


def text(content, **more):
    return delta(content=content, **more)


def usage(prompt, completion, **more):
    return event({"choices": [], "usage": {
        "prompt_tokens": prompt, "completion_tokens": completion,
        "total_tokens": prompt + completion, **more}})


DONE = event("[DONE]")


def stream(*steps, done=True, lines=()):
    """Steps for a chunked SSE answer: bytes become chunks, numbers pauses."""
    yield head("200 OK", "text/event-stream", *lines)
    for step in [*steps, *([DONE] if done else [])]:
        yield chunk(step) if isinstance(step, bytes) else step
    yield END
