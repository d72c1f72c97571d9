"""Two more servers that nobody here wrote, for their quirks."""

CONFIG = """
apiKey: k
port: 1
responses:
  - id: any
    messages:
      - role: user
        matcher: any
      - role: assistant
        content: One two three four five six.
"""


def test_mock_llm_sends_everything_in_one_chunk(stoke, mock_llm, tmp_path):
    """It repeats what it is asked; role, text and finish share an event."""
    (tmp_path / "short.lua").write_text(
        "return { request = function() return { prompt = 'hello' } end }")
    r = stoke.load(mock_llm().url, "short.lua", "-n", 4)
    assert r.outcomes == {"ok": 4}
    for q in r.requests:
        assert q["chunks"] == 1 and q["token_source"] == "chunks"
        assert q["tpot_ms"] is None and q["finish_reason"] == "stop"


def test_openai_mock_api_sends_no_usage(stoke, openai_mock_api):
    """It also calls its event stream text/plain."""
    r = stoke.load(openai_mock_api(CONFIG).url, "-n", 4, "--api-key", "k")
    assert r.outcomes == {"ok": 4}
    for q in r.requests:
        assert q["token_source"] == "chunks" and q["tokens"] == q["chunks"] > 1


def test_openai_mock_api_checks_the_key(stoke, openai_mock_api):
    r = stoke.run("-u", openai_mock_api(CONFIG).url, "-m", "m", "-n", 4,
                  code=1)
    assert "401" in r.err
