"""Transcriptions: recordings that are sent as forms, parsed here by Python's
own reader of mail."""

import email.parser
import email.policy
import json
import struct

import pytest
from harness.raw import delta, stream, text, usage

pytestmark = pytest.mark.asan

RATE = 8000


def wav(seconds):
    sound = bytes(range(256)) * int(seconds * RATE * 2 / 256 + 1)
    sound = sound[:int(seconds * RATE * 2)]
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return (b"RIFF" + struct.pack("<I", 28 + 8 + len(sound)) + b"WAVE" + head
            + b"data" + struct.pack("<I", len(sound)) + sound)


# Half a second at 16 kHz, as its header has it.
FLAC = (b"fLaC\0\0\0\x22" + bytes(10) + b"\x03\xe8\0\xf0" +
        struct.pack(">I", 8000) + bytes(16))


def parts(request):
    """By name: (bytes, file name, type) of each part."""
    head = b"Content-Type: " + request.headers["content-type"].encode()
    mail = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        head + b"\r\n\r\n" + request.body)
    assert mail.is_multipart() and not mail.defects
    found = {}
    for part in mail.iter_parts():
        name = part.get_param("name", header="content-disposition")
        assert name not in found
        found[name] = (part.get_payload(decode=True), part.get_filename(),
                       part.get_content_type())
    return found


def forms(server, path):
    return [q for q in server.requests if q.path == "/v1/audio/" + path]


def texts(request):
    return {name: value.decode() for name, (value, file, _)
            in parts(request).items() if file is None}


def ok(body, kind="text/event-stream"):
    return [b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n"
            b"\r\n" % (kind.encode(), len(body)) + body]


@pytest.fixture
def server(raw_server):
    return raw_server(lambda r: stream(text("one"), text(" two"),
                                       delta("stop"), usage(3, 2)))


@pytest.fixture
def recordings(tmp_path):
    (tmp_path / "a.wav").write_bytes(wav(1.5))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / 'b".flac').write_bytes(b"fLaC\0\r\n------stoke-form\r\n")
    (tmp_path / "c.flac").write_bytes(FLAC)
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt":"p","audio":"a.wav"}\n'
                    '{"prompt":"p","audio":"sub/b\\".flac"}\n')
    return path


def serve(stoke, server, path, *flags, code=0):
    r = stoke.command("bench", "serve", "--base-url", server.url, "--model",
                      "m", "--backend", "openai-audio", "--dataset-name",
                      "custom_audio", "--dataset-path", path,
                      "--disable-shuffle", "--ready-check-timeout-sec", 0,
                      *flags).wait()
    assert r.code == code, r
    return r


def test_bench_serve_sends_forms(stoke, server, recordings, tmp_path):
    r = serve(stoke, server, recordings, "--num-prompts", 2,
              "--max-concurrency", 1, "--custom-output-len", 7,
              "--ignore-eos", "--temperature", 0, "--extra-body",
              '{"to_language":"de","xargs":{"a":[1]}}', "--save-result",
              "--result-dir", tmp_path, "--result-filename", "r.json")
    first, second = forms(server, "transcriptions")
    assert texts(first) == {
        "model": "m", "language": "en", "max_completion_tokens": "7",
        "stream": "true", "stream_include_usage": "true",
        "stream_continuous_usage_stats": "true", "ignore_eos": "true",
        "temperature": "0", "to_language": "de", "xargs": '{"a":[1]}'}
    assert parts(first)["file"] == (wav(1.5), "a.wav", "audio/wav")
    sound, name, kind = parts(second)["file"]
    assert sound == b"fLaC\0\r\n------stoke-form\r\n" and kind == "audio/flac"
    assert name == "b%22.flac"
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["completed"] == 2 and result["total_output_tokens"] == 4
    # Of this FLAC file nothing is known.
    assert result["rtfx"] == pytest.approx(1.5 / result["duration"], rel=1e-6)
    assert "RTFx (Inverse Real-Time Factor):" in r.out


def test_flac_files_say_how_long_they_are(stoke, server, recordings,
                                          tmp_path):
    recordings.write_text('{"audio":"c.flac"}\n')
    serve(stoke, server, recordings, "--num-prompts", 1, "--save-result",
          "--result-dir", tmp_path, "--result-filename", "r.json")
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["rtfx"] == pytest.approx(0.5 / result["duration"], rel=1e-6)


def test_translations_have_a_path_of_their_own(stoke, server, recordings):
    serve(stoke, server, recordings, "--num-prompts", 1, "--endpoint",
          "/v1/audio/translations", "--extra-body", '{"language":null}')
    request, = forms(server, "translations")
    assert "language" not in texts(request)
    r = serve(stoke, server, recordings, "--endpoint", "/v1/completions",
              code=2)
    assert "sends another kind of body there" in r.err


def test_only_what_succeeded_counts(stoke, raw_server, recordings, tmp_path):
    bad = raw_server([b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"])
    r = serve(stoke, bad, recordings, "--num-prompts", 1, "--save-result",
              "--result-dir", tmp_path, "--result-filename", "r.json", code=1)
    assert json.loads((tmp_path / "r.json").read_text())["rtfx"] == 0
    assert "RTFx" not in r.out


def test_a_whole_url_says_what_is_spoken(stoke, server, recordings):
    r = stoke.command(
        "bench", "serve", "--base-url",
        server.url + "/v1/audio/translations", "--model", "m",
        "--dataset-name", "custom_audio", "--dataset-path", recordings,
        "--num-prompts", 1).wait()
    assert r.code == 0 and len(forms(server, "translations")) == 1, r


@pytest.mark.parametrize("path", ["transcriptions", "translations"])
@pytest.mark.parametrize("streams", [True, False])
def test_as_the_mock_received_it(stoke, mock, recordings, tmp_path, path,
                                 streams):
    server = mock("--ttft", "5ms", "--itl", "1ms", "--log-bodies")
    r = serve(stoke, server, recordings, "--num-prompts", 2,
              "--max-concurrency", 1, "--custom-output-len", 6,
              "--endpoint", "/v1/audio/" + path, "--ignore-eos",
              "--temperature", 0, "--extra-body",
              json.dumps({"stream": streams, "language": "fr"}),
              "--save-result", "--save-detailed", "--result-dir", tmp_path,
              "--result-filename", "r.json")
    log = [line for line in server.stop() if line["number"]]
    assert [line["path"] for line in log] == ["/v1/audio/" + path] * 2
    assert [line["stream"] for line in log] == [streams] * 2
    first, second = (json.loads(line["body"]) for line in log)
    assert first == {
        "file": {"name": "a.wav", "type": "audio/wav",
                 "bytes": len(wav(1.5))},
        "model": "m", "language": "fr", "max_completion_tokens": 6,
        "stream": streams, "ignore_eos": True, "temperature": 0,
        **({"stream_include_usage": True,
            "stream_continuous_usage_stats": True} if streams else {})}
    assert second["file"]["type"] == "audio/flac"
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["completed"] == 2 and not any(result["errors"])
    assert result["rtfx"] == pytest.approx(1.5 / result["duration"], rel=1e-6)
    assert all(result["generated_texts"])
    if streams:
        # A recording costs a token a KB there, and usage is in each event.
        assert result["input_lens"] == [24, 1]
        assert result["output_lens"] == [6, 6]
        assert [len(gaps) for gaps in result["itls"]] == [5, 5]


def test_a_form_without_a_recording_is_refused(stoke, mock, tmp_path):
    server = mock()
    (tmp_path / "case.lua").write_text("""return {
      backends = { form = { path = "/v1/audio/transcriptions",
        body = function() return "--B\\r\\nContent-Disposition: form-data; "
          .. 'name="model"\\r\\n\\r\\nm\\r\\n--B--\\r\\n',
          "multipart/form-data; boundary=B" end } },
      request = function() return { endpoint = "form", prompt = "p" } end }""")
    r = stoke.load(server.url, "case.lua", "-n", 1, code=1)
    assert "body.file" in json.dumps(r.stoke["errors"])


def test_other_data_has_no_recordings(stoke, server):
    r = stoke.command("bench", "serve", "--base-url", server.url, "--model",
                      "m", "--backend", "openai-audio", "--num-prompts",
                      2).wait()
    assert r.code == 2 and "random has no recordings" in r.err, r
    assert not forms(server, "transcriptions")


def test_mistakes_in_rows(stoke, server, recordings):
    recordings.write_text('\n{"prompt":"p","audio":"a.jsonl"}\n')
    r = serve(stoke, server, recordings, "--num-prompts", 2, code=2)
    assert "a.jsonl:2: a.jsonl: is neither picture nor sound nor video" in r.err
    (recordings.parent / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    recordings.write_text('{"prompt":"p","audio":"a.png"}\n')
    r = serve(stoke, server, recordings, "--num-prompts", 2, code=2)
    assert "a.jsonl:1: a.png: is no sound" in r.err
    recordings.write_text('{"prompt":"p","audio":"gone.wav"}\n')
    r = serve(stoke, server, recordings, "--num-prompts", 2, code=2)
    assert "a.jsonl:1: gone.wav: no such file" in r.err
    with (recordings.parent / "big.wav").open("wb") as file:
        file.write(wav(0.1))
        file.truncate((64 << 20) + 1)
    recordings.write_text('{"prompt":"p","audio":"big.wav"}\n')
    r = serve(stoke, server, recordings, "--num-prompts", 2, code=2)
    assert "a.jsonl:1: big.wav: " in r.err
    assert not server.requests


SCENARIO = """return { request = function()
  return { endpoint = "transcriptions", audio_seconds = "2s", language = "fr",
    max_tokens = 5, prompt = "names", file = { bytes = "RIFF" },
    stream = %s, extra = { temperature = 0.5, file = "x" } }
end }"""

EVENTS = (b'data: {"type":"transcript.text.delta","delta":"one"}\n\n'
          b'data: {"type":"transcript.text.delta","delta":" two"}\n\n'
          b'data: {"type":"transcript.text.done","text":"one two","usage":'
          b'{"type":"tokens","input_tokens":14,"output_tokens":2}}\n\n')


@pytest.mark.parametrize("streams, answer", [
    ("true", ok(EVENTS)),
    ("false", ok(b'{"text":"one two","usage":{"type":"tokens",'
                 b'"input_tokens":14,"output_tokens":2}}',
                 "application/json")),
])
def test_scenarios_and_the_answers_of_openai(stoke, raw_server, tmp_path,
                                             streams, answer):
    server = raw_server(answer)
    (tmp_path / "case.lua").write_text(SCENARIO % streams)
    r = stoke.load(server.url, "case.lua", "-n", 1)
    got = texts(server.requests[0])
    assert got.pop("stream") == streams
    assert got["language"] == "fr" and got["temperature"] == "0.5"
    assert got["prompt"] == "names" and got["max_completion_tokens"] == "5"
    assert ("stream_include_usage" in got) == (streams == "true")
    assert parts(server.requests[0])["file"][1:] == ("audio.wav", "audio/wav")
    assert r.json["completed"] == 1
    assert r.json["total_output_tokens"] == 2
    assert r.json["total_input_tokens"] == 14
    assert r.json["rtfx"] == pytest.approx(2 / r.json["duration"], rel=1e-6)


@pytest.mark.parametrize("result", ['"text"', '"text", "a\\nb: c"',
                                    '"text", ""'])
def test_a_string_needs_its_type(stoke, raw_server, tmp_path, result):
    server = raw_server(ok(b"{}"))
    (tmp_path / "case.lua").write_text(
        'return { backends = { own = { path = "/x", body = function() return '
        + result + ' end } }, request = function() return '
        '{ endpoint = "own", prompt = "p" } end }')
    r = stoke.load(server.url, "case.lua", "-n", 1, code=1)
    assert "its content type must be" in r.err
    assert not server.requests
