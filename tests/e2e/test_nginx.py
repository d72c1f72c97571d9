"""Through a gateway that nobody here wrote: what it does to connections and
to streams must show, and nothing else."""

import pytest
from harness.raw import delta, stream, text, usage
from harness.stalls import stalls_spoil_a_try, timely

EVENTS = 12


@pytest.fixture
def upstream(raw_server):
    steps = [0.05]
    for _ in range(EVENTS):
        steps += [text("word "), 0.02]
    return raw_server(lambda r: stream(*steps, delta("stop"),
                                       usage(4, EVENTS)))


@pytest.mark.asan
@stalls_spoil_a_try
def test_tls_and_few_requests_a_connection(stoke, upstream, nginx,
                                           certificate):
    tls = certificate()
    gateway = nginx(upstream.url, tls=tls, server="keepalive_requests 3;")
    r = stoke.load(gateway.url, "-n", 24, "-c", 4, "--cacert", tls[0])
    assert r.outcomes == {"ok": 24}
    assert r.json["total_output_tokens"] == 24 * EVENTS
    assert 8 <= r.stoke["network"]["opened"] <= 12
    gaps = [gap for q in r.requests for gap in q["itl_ms"]]
    assert all(q["ttft_ms"] >= 50 for q in r.requests)
    timely(15 < sorted(gaps)[len(gaps) // 2] < 60, gaps)


@stalls_spoil_a_try
def test_limit_req_is_rate_limiting(stoke, upstream, nginx):
    gateway = nginx(
        upstream.url, http="limit_req_zone all zone=one:1m rate=5r/s;",
        location="limit_req zone=one burst=2 nodelay; limit_req_status 429; "
                 "proxy_buffering off;")
    r = stoke.load(gateway.url, "-n", 20, "-c", 10)
    assert set(r.outcomes) == {"ok", "rate_limited"}
    assert sum(r.outcomes.values()) == 20 and r.outcomes["ok"] >= 3
    timely(r.outcomes["rate_limited"] > 5, r)


def test_b110_buffering_and_gzip(stoke, upstream, nginx):
    gateway = nginx(
        upstream.url, http="gzip on; gzip_types text/event-stream; "
        "gzip_proxied any; gzip_min_length 1;",
        location="proxy_buffering on; proxy_buffers 8 64k;")
    r = stoke.load(gateway.url, "-n", 4)
    assert r.outcomes == {"ok": 4}
    assert r.json["total_output_tokens"] == 4 * EVENTS
    # Not asked for compression, nginx sends none; the buffer alone may hold
    # a small answer back to its end.
    for q in r.requests:
        assert q["ttft_ms"] <= q["e2el_ms"]


def test_gzip_held_to_the_end_is_told(stoke, upstream, nginx):
    gateway = nginx(
        upstream.url, http="gzip on; gzip_types text/event-stream; "
        "gzip_proxied any; gzip_min_length 1;",
        location="proxy_buffering on; proxy_buffers 8 64k;")
    r = stoke.load(gateway.url, "-n", 4, "-H", "Accept-Encoding: gzip")
    assert r.outcomes == {"ok": 4} and "buffer" in r.out + r.err
    assert all(q["ttft_ms"] > 200 for q in r.requests)


def test_dead_upstream(stoke, refused, nginx):
    r = stoke.load(nginx(refused).url, "-n", 3, code=1)
    assert r.outcomes == {"http_5xx": 3}
    assert {q["status"] for q in r.requests} == {502}


def test_restarted_gateway_is_one_failure_at_most(stoke, upstream, nginx):
    """Requests in flight may fail when it dies; the run goes on to its end."""
    gateway = nginx(upstream.url)
    p = stoke.start("-u", gateway.url, "-m", "m", "-n", 40, "-c", 2,
                    "--no-preflight")
    import time
    time.sleep(1)
    gateway.close()
    r = p.wait(30)
    assert sum(r.outcomes.values()) == 40
    assert set(r.outcomes) <= {"ok", "connect", "reset", "truncated"}
