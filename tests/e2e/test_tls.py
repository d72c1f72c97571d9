"""B126: certificates are checked, and what to do is said when they fail."""

import pytest
from harness.raw import delta, stream, text


@pytest.fixture
def gateway(raw_server, nginx):
    server = raw_server(lambda r: stream(text("x"), delta("stop")))
    return lambda tls: nginx(server.url, tls=tls)


def test_b126_unknown_authority(stoke, gateway, certificate):
    url = gateway(certificate()).url
    r = stoke.run("-u", url, "-m", "m", "-n", 1, code=1)
    assert "certificate" in r.err and "--cacert" in r.err
    r = stoke.load(url, "-n", 2, code=1)
    assert r.outcomes == {"tls": 2}


def test_b126_insecure_is_in_the_results(stoke, gateway, certificate):
    r = stoke.load(gateway(certificate()).url, "-n", 2, "--insecure")
    assert r.outcomes == {"ok": 2} and r.stoke["insecure"] is True


def test_b126_own_authority(stoke, gateway, certificate):
    tls = certificate()
    url = gateway(tls).url
    assert stoke.load(url, "-n", 2, "--cacert", tls[0]).outcomes == {"ok": 2}
    r = stoke.load(url, "-n", 2, env={"SSL_CERT_FILE": str(tls[0])})
    assert r.outcomes == {"ok": 2}


def test_b126_wrong_name(stoke, gateway, certificate):
    tls = certificate("somewhere.invalid")
    url = gateway(tls).url
    assert stoke.load(url, "-n", 1, "--cacert", tls[0],
                      code=1).outcomes == {"tls": 1}
    assert stoke.load(url, "-n", 1, "-k").outcomes == {"ok": 1}


def test_b126_missing_file(stoke, gateway, certificate):
    r = stoke.load(gateway(certificate()).url, "-n", 1, "--cacert",
                   "/no/such.pem", code=2)
    assert "/no/such.pem" in r.err


def test_https_asked_from_a_plain_port(stoke, raw_server):
    server = raw_server(lambda r: stream(text("x")))
    url = server.url.replace("http:", "https:")
    r = stoke.run("-u", url, "-m", "m", "-n", 1, code=1)
    assert "http://" in r.err
