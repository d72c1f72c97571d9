"""Scripts for wrk, unchanged: `stoke run --wrk script.lua`."""


import pytest

pytestmark = pytest.mark.asan


def answer(body="ok", status="200 OK", headers=""):
    return (f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}"
            f"\r\n{body}").encode()


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: [answer()])


@pytest.fixture
def wrk(stoke, tmp_path):
    def run(url, lua, *flags, code=0, **keywords):
        (tmp_path / "script.lua").write_text(lua)
        return stoke.run("--wrk", "script.lua", "-u", url, *flags, code=code,
                         **keywords)

    return run


def test_default_is_a_get_of_the_url(wrk, server):
    r = wrk(server.url + "/a/b?c=d", "", "-n", 4, "-c", 2)
    assert r.outcomes == {"ok": 4}
    for q in server.requests:
        assert (q.method, q.path) == ("GET", "/a/b?c=d")
        names = [k.lower() for k in q.headers]
        assert names.count("host") == 1 and "content-type" not in names
    assert r.json["completed"] == 4 and r.stoke["outcomes"]["ok"] == 4


def test_post(wrk, server):
    wrk(server.url, """
wrk.method = "POST"
wrk.body   = "foo=bar&baz=quux"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
""", "-n", 2, "-H", "content-type: a/b", "-H", "X-Mine: 1")
    for q in server.requests:
        assert q.method == "POST" and q.body == b"foo=bar&baz=quux"
        found = [v for k, v in q.headers.items() if k.lower() == "content-type"]
        assert len(found) == 1
        assert {k.lower(): v for k, v in q.headers.items()}["x-mine"] == "1"


def test_counter_and_format(wrk, server):
    wrk(server.url, """
counter = 0
request = function()
   path = "/" .. counter
   wrk.headers["X-Counter"] = counter
   counter = counter + 1
   return wrk.format(nil, path)
end""", "-n", 5)
    assert [q.path for q in server.requests] == [f"/{i}" for i in range(5)]


def test_setup_init_response_done(wrk, server):
    r = wrk(server.url, """
local counter = 1
local threads = {}
function setup(thread)
   thread:set("id", counter)
   table.insert(threads, thread)
   counter = counter + 1
end
function init(args)
   requests, responses = 0, 0
   print(("thread %d created with %s"):format(id, args[1]))
end
function request()
   requests = requests + 1
   return wrk.request()
end
function response(status, headers, body)
   assert(status == 200 and body == "ok" and headers["Content-Length"] == "2")
   responses = responses + 1
end
function done(summary, latency, requests)
   for index, thread in ipairs(threads) do
      print(("thread %d made %d requests and got %d responses"):format(
        thread:get("id"), thread:get("requests"), thread:get("responses")))
   end
   io.write("total ", summary.requests, " errors ", summary.errors.status, "\\n")
   assert(latency.min > 0 and latency.min <= latency.mean)
   assert(latency.mean <= latency.max and latency.stdev >= 0)
   assert(latency:percentile(99.999) == latency.max)
   local n = 0
   for i = 1, #latency do
     local value, count = latency(i)
     n = n + count
     assert(value >= latency.min and value <= latency.max)
   end
   io.write("counted ", n, " ", summary.duration > 0 and "took time" or "", "\\n")
   assert(requests.max >= requests.min and summary.bytes > 0)
end""", "-n", 30, "-c", 6, "--threads", 3, "--", "word")
    for i in (1, 2, 3):
        assert f"thread {i} created with word" in r.err
        assert f"thread {i} made 10 requests and got 10 responses" in r.out
    assert "total 30 errors 0" in r.out and "counted 30 took time" in r.out


def test_delay(wrk, server):
    r = wrk(server.url, "function delay() return 50 end", "-n", 4, "-c", 1)
    assert r.outcomes == {"ok": 4}
    assert r.json["duration"] > 0.15
    for q in r.requests:
        assert q["e2el_ms"] < 50 * 20


def test_pipeline_is_sent_one_after_the_other(wrk, server):
    wrk(server.url, """
init = function(args)
   local r = {}
   r[1] = wrk.format(nil, "/?foo")
   r[2] = wrk.format("POST", "/?bar", nil, "body")
   r[3] = wrk.format(nil, "/?baz")
   req = table.concat(r)
end
request = function() return req end""", "-n", 6, "-c", 1)
    assert [(q.method, q.path) for q in server.requests] == 2 * [
        ("GET", "/?foo"), ("POST", "/?bar"), ("GET", "/?baz")]


def test_stop_ends_one_thread(wrk, server):
    r = wrk(server.url, """
local counter = 1
function response()
   if counter == 10 then wrk.thread:stop() end
   counter = counter + 1
end""", "-c", 1, "-d", "60s")
    assert r.outcomes == {"ok": 10}


def test_addresses(wrk, server, localhost):
    r = wrk(server.url.replace("127.0.0.1", localhost), """
local addrs = nil
function setup(thread)
   addrs = wrk.lookup(wrk.host, wrk.port or "http")
   for i = #addrs, 1, -1 do
      if not wrk.connect(addrs[i]) then table.remove(addrs, i) end
   end
   thread.addr = addrs[math.random(#addrs)]
end
function init(args)
   local msg = "thread addr: %s"
   print(msg:format(wrk.thread.addr))
end""", "-n", 2)
    port = server.url.rsplit(":", 1)[1]
    assert f"thread addr: 127.0.0.1:{port}" in r.err
    for q in server.requests:
        hosts = [v for k, v in q.headers.items() if k.lower() == "host"]
        assert hosts == [f"localhost:{port}"]


def test_token_from_an_answer(wrk, raw_server):
    server = raw_server(lambda r: [answer(headers="X-Token: t1\r\n")])
    wrk(server.url, """
token = nil
path  = "/authenticate"
request = function() return wrk.format("GET", path) end
response = function(status, headers, body)
   if not token and status == 200 then
      token = headers["X-Token"]
      path  = "/resource"
      wrk.headers["X-Token"] = token
   end
end""", "-n", 3, "-c", 1)
    assert [q.path for q in server.requests] == [
        "/authenticate", "/resource", "/resource"]
    last = {k.lower(): v for k, v in server.requests[-1].headers.items()}
    assert last["x-token"] == "t1"


def test_errors_are_counted(wrk, raw_server):
    server = raw_server(lambda r: [answer(status="404 Not Found")])
    r = wrk(server.url, """
function done(summary) print("status errors " .. summary.errors.status) end
""", "-n", 3, code=1)
    assert "status errors 3" in r.out


@pytest.mark.parametrize("lua, words", [
    ("request = 5", "the global 'request' is a number"),
    ("foo.bar = 1", "script.lua:1"),
    ("function setup(t) t:set('f', print) end", "is a function; what goes"),
    ("function setup(t) t:stop() end", "while it runs"),
    ("function setup(t) t.addr = 5 end", "an address that wrk.lookup"),
    ("function setup(t) t.color = 5 end", "thread.color cannot be set"),
    ("function init() response = print end", "init() is too late"),
    ("io.open('x')", "io.open: scripts run boxed"),
    ("os.execute('x')", "script.lua:1"),
])
def test_mistakes_stop_before_the_first_request(wrk, server, lua, words):
    r = wrk(server.url, lua, "-n", 1, code=None)
    assert r.code in (1, 2) and words in r.err, r
    assert not server.requests


@pytest.mark.parametrize("lua, words", [
    ("function request() return 5 end", "request() returned a number"),
    ("function request() return 'x' end", "must return the text of an HTTP"),
    ("function request() local s = ('%d'):format(nil) return s end", "script.lua:1"),
    ("function delay() return 'x' end", "delay() must return milliseconds"),
    ("wrk.headers['Transfer-Encoding'] = 'chunked'; wrk.body = 'x'",
     "leave Transfer-Encoding out"),
])
def test_mistakes_while_it_runs(wrk, server, lua, words):
    r = wrk(server.url, lua, "-n", 1, code=1)
    assert words in r.err, r
    assert r.outcomes == {"script": 1}
    assert not server.requests
