"""Names and answers that were made to break pages, files and terminals."""
import csv
import json
import re

from harness.program import strict_json

HOSTILE = "</script><b>\"'|`\x1b[31m\r\nX\x9b2J\u202e\u2067=1+1"
# Control characters in every form that a terminal obeys, marks that turn text
# around, and (as the harness reads them) bytes that are no UTF-8.
ARMED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffd]")


def reply(status, kind, body):
    return [(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
             f"Content-Length: {len(body)}\r\n\r\n").encode() + body]


def hostile_answers():
    """One after the other: a stream, errors in JSON, in bytes, in HTML."""
    events = [
        {"choices": [{"index": 0, "delta": {"content": HOSTILE}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": HOSTILE}],
         "model": HOSTILE},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}]
    stream = "".join(f"data: {json.dumps(e)}\n\n" for e in events)
    turns = [
        reply("200 OK", "text/event-stream",
              (stream + "data: [DONE]\n\n").encode()),
        reply("500 No", "application/json",
              json.dumps({"error": {"message": HOSTILE}}).encode()),
        reply("500 No", "application/json",
              b'{"error":{"message":"\xff\xfe \x1b[2J</script>"}}'),
        reply("503 No", "text/html", b"</script>\x1b]0;t\x07 \xff\xc2\x9b=1")]
    count = iter(range(10**6))
    return lambda q: turns[next(count) % len(turns)]


def assert_disarmed(r):
    for text in (r.out, r.err):
        assert not ARMED.search(text), ascii(ARMED.findall(text)) + ascii(text)


def test_a_bench_with_its_page(stoke, raw_server, tmp_path):
    server = raw_server(hostile_answers())
    r = stoke.command(
        "bench", "serve", "--base-url", server.url, "--backend", "openai-chat",
        "--model", HOSTILE, "--label", HOSTILE, "--metadata", "k=" + HOSTILE,
        "--random-input-len", 4, "--num-prompts", 8, "--max-concurrency", 1,
        "--save-result", "--save-detailed", "--plot-timeline",
        "--result-filename", "b.json").wait(60)
    assert r.code == 0, r
    assert_disarmed(r)
    assert r.out.splitlines()[0].endswith(")")
    j = strict_json((tmp_path / "b.json").read_text())
    assert j["completed"] == 2 and j["failed"] == 6
    assert j["model_id"] == j["label"] == j["k"] == HOSTILE
    assert HOSTILE in j["generated_texts"]
    page = (tmp_path / "b.timeline.html").read_text()
    assert page.count("</script>") == page.count("<script>") == 1
    assert "<b>" not in page
    data = strict_json(re.search(r"const data = (.*?);\n", page).group(1))
    assert "</script>" in " ".join(q.get("error", "") for q in data["requests"])


def test_a_run_and_what_is_written(stoke, raw_server):
    server = raw_server(hostile_answers())
    r = stoke.run("-u", server.url, "-m", HOSTILE, "--no-preflight", "-n", 8,
                  "-c", 1, "--metadata", "k=" + HOSTILE)
    assert_disarmed(r)
    assert r.json["k"] == HOSTILE and len(r.requests) == 8
    assert r.json["completed"] == 2


def test_a_sweep_for_spreadsheets(stoke, raw_server, tmp_path):
    server = raw_server(hostile_answers())
    r = stoke.command("sweep", "-u", server.url, "--no-preflight", "-n", 4,
                      "-c", 1, "--vary", "model==1+1,@x\"|\x1b[1m", "--csv",
                      "s.csv", "-o", "s.json").wait(60)
    assert r.code == 0, r
    assert_disarmed(r)
    with open(tmp_path / "s.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    assert [row["model"] for row in rows] == ["'=1+1", "'@x\"|\x1b[1m"]
    strict_json((tmp_path / "s.json").read_text())


def test_a_server_that_is_looked_over(stoke, raw_server):
    names = json.dumps({"data": [{"id": HOSTILE}]}).encode()
    chat = hostile_answers()
    server = raw_server(lambda q: reply("200 OK", "application/json", names)
                        if q.path.endswith("/models") else chat(q))
    assert_disarmed(stoke.command("check", server.url).wait(60))
