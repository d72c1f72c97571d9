"""Fixtures. Everything that a test starts is stopped when it ends."""

import os
import socket

import pytest

from harness import raw, servers
from harness.program import Mock, Stoke


def pytest_runtest_setup(item):
    """The thread sanitizer keeps a signal back until the thread calls into
    libc: a script that loops never does, so no watchdog can reach it."""
    if item.get_closest_marker("interrupts") and \
            "tsan" in os.environ.get("STOKE", ""):
        pytest.skip("needs signals at any instruction")


@pytest.fixture
def closing():
    """Register things with a close(); they are closed in reverse."""
    things = []

    def add(thing):
        things.append(thing)
        return thing

    yield add
    failed = None
    for thing in reversed(things):
        try:
            thing.close()
        except AssertionError as e:
            failed = failed or e
    if failed:
        raise failed


@pytest.fixture
def stoke(tmp_path, closing):
    """The program: stoke.run(…), stoke.load(url, …), stoke.start(…)."""
    return closing(Stoke(tmp_path))


@pytest.fixture
def mock(tmp_path, closing):
    """mock(*flags) starts an embedded server."""
    return lambda *flags: closing(Mock(tmp_path, *flags))


@pytest.fixture
def raw_server(closing):
    """raw_server(answer) sends exactly those bytes."""
    return lambda answer, **more: closing(raw.RawServer(answer, **more))


@pytest.fixture
def refused(closing):
    """The URL of a port that nobody listens on, nor will."""
    return closing(raw.Refused()).url


@pytest.fixture
def ipv6():
    """Where the machine has it."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")


@pytest.fixture
def localhost():
    """The name, where the machine knows it."""
    try:
        socket.getaddrinfo("localhost", 80, socket.AF_INET)
    except OSError:
        pytest.skip("localhost has no address here")
    return "localhost"


@pytest.fixture
def aimock(tmp_path, closing):
    return lambda fixtures, *flags: closing(
        servers.aimock(tmp_path, fixtures, *flags))


@pytest.fixture
def mock_llm(tmp_path, closing):
    return lambda: closing(servers.mock_llm(tmp_path))


@pytest.fixture
def openai_mock_api(tmp_path, closing):
    return lambda config: closing(servers.openai_mock_api(tmp_path, config))


@pytest.fixture
def nginx(tmp_path, closing):
    return lambda upstream, **more: closing(
        servers.nginx(tmp_path, upstream, **more))


@pytest.fixture
def certificate(tmp_path):
    def make(name="127.0.0.1"):
        directory = tmp_path / f"tls-{name}"
        directory.mkdir()
        return servers.certificate(directory, name)

    return make
