"""`stoke bench serve` beside recorded runs of `vllm bench serve`, with the
same flags: the lines before the table, the table line by line, the saved JSON
key by key. Numbers differ, shapes must not; where they do on purpose is said
here, in DIFFERENCES, and nowhere else."""

import re

import pytest
from harness.program import ROOT, strict_json

DATA = ROOT / "tests" / "data" / "vllm"

# The flags of the recorded runs, target and model aside.
RUNS = {
    "completions-default": [
        "--random-input-len", "32", "--random-output-len", "16",
        "--num-prompts", "10"],
    "rate-goodput": [
        "--random-input-len", "32", "--random-output-len", "16",
        "--num-prompts", "12", "--request-rate", "5", "--burstiness", "0.5",
        "--goodput", "ttft:200", "tpot:60", "--percentile-metrics",
        "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99.9",
        "--metadata", "a=b", "version=0.3.3", "--label", "tag",
        "--num-warmups", "2"],
    "ramp": [
        "--random-input-len", "32", "--random-output-len", "16",
        "--num-prompts", "12", "--ramp-up-strategy", "linear",
        "--ramp-up-start-rps", "2", "--ramp-up-end-rps", "6"],
    "allfail": [
        "--random-input-len", "32", "--random-output-len", "16",
        "--num-prompts", "4", "--save-detailed"],
    "one-token": [
        "--random-input-len", "32", "--random-output-len", "1",
        "--num-prompts", "4", "--ignore-eos"],
    "chat-detailed": [
        "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
        "--random-input-len", "32", "--random-output-len", "8",
        "--num-prompts", "3", "--max-concurrency", "2", "--ignore-eos",
        "--save-detailed"],
}


# The same by vLLM's definitions: fewer differences.
RUNS.update({f"{name} as vllm": [*flags, "--metric-mode", "vllm"]
             for name, flags in RUNS.items()})


class DIFFERENCES:
    """What is not as vLLM has it, and why."""

    # A run in which nothing succeeded is no success.
    STATUS = {"allfail": 1, "allfail as vllm": 1}
    # A figure without a sample is n/a, and null in the JSON; vLLM says 0.00.
    WITHOUT_SAMPLES = {
        "allfail": {"ttft", "tpot", "itl"},
        "one-token": {"tpot", "itl"},
    }
    # Our own account, behind all of vLLM's keys.
    MORE_KEYS = ["stoke"]
    # The role's event is no token: vLLM's first gap is the one behind it.
    LIST_LENGTHS = {("chat-detailed", "itls"): ("list of 8", "list of 7")}
    # Lines before the table that are not printed: advice about vLLM's own
    # plots, a default that has never been another here, and an alignment
    # that is told in other words.
    UNSAID = re.compile(r"tip: install|WARNING: vllm bench serve no longer|"
                        r"WARNING: /tokenize unavailable")
    # Behind "Error 0:" are status and the server's words, not HTTP's phrase.
    ERROR = re.compile(r"(Error \d+:).*")
    # Arguments of vLLM's machinery that have nothing to do with a benchmark,
    # and those that are taken and do nothing here.
    UNSHOWN = {"dispatch_function", "trust_remote_code", "use_beam_search",
               "log_config_file", "logging_config", "formatter",
               "configure_logging", "pylogging_config_file", "no_stream",
               "asr_min_audio_len_sec", "asr_max_audio_len_sec"}


@pytest.fixture(scope="module")
def recorded():
    def read(name, what):
        name = name.removesuffix(" as vllm")
        return (DATA / f"{name}.{what}.txt").read_text().splitlines()

    return read


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    """(name, lines on stdout, the saved JSON's text): once for all tests."""
    from harness.program import Mock, Stoke
    name = request.param
    home = tmp_path_factory.mktemp("run")
    fault = ["--fault", "status:404"] if name.startswith("allfail") else []
    server = Mock(home, "--models", "dummy", "--ttft", "30ms", "--itl", "5ms",
                  *fault)
    try:
        r = Stoke(home).command(
            "bench", "serve", "--base-url", server.url, "--model", "dummy",
            "--dataset-name", "random", *RUNS[name], "--save-result",
            "--result-dir", "results", "--result-filename",
            "saved.json").wait(100)
    finally:
        server.close()
    assert r.code == DIFFERENCES.STATUS.get(name, 0), r
    saved = (home / "results" / "saved.json").read_text()
    return name, r.out.splitlines(), saved


def frame(lines):
    """Where the table begins and where it ends."""
    first = next(i for i, line in enumerate(lines)
                 if "Serving Benchmark Result" in line)
    last = next(i for i in range(first, len(lines)) if lines[i] == "=" * 50)
    return first, last


def is_heading(line):
    return line[:1] in "-=" and line[-1:] in "-="


def shape_of(value):
    """"12.30" and "7.00" are alike, "12" is not."""
    return re.sub(r"\d+", "9", value)


def has_no_samples(name, label):
    return any(label.split(" (")[0].endswith(f" {figure.upper()}")
               for figure in DIFFERENCES.WITHOUT_SAMPLES.get(name, ()))


def test_table(run, recorded):
    name, lines, _ = run
    first, last = frame(lines)
    ours, theirs = lines[first:last + 1], recorded(name, "table")
    for our, their in zip(ours, theirs):
        if is_heading(their):
            assert our == their
            continue
        assert our[:41] == their[:41]
        assert len(our) == len(their), (our, their)
        our_value, their_value = our[41:].rstrip(), their[41:].rstrip()
        if has_no_samples(name, their[:40].split(":")[0]):
            assert (our_value, their_value) == ("n/a", "0.00")
        else:
            assert shape_of(our_value) == shape_of(their_value), (our, their)
    assert len(ours) == len(theirs), (ours, theirs)


def test_lines_before_the_table(run, recorded):
    """In vLLM's order; what else there is to say comes between or on
    stderr."""
    name, lines, _ = run
    before = [DIFFERENCES.ERROR.sub(r"\1", line)
              for line in lines[1:frame(lines)[0]]]
    at = 0
    for line in recorded(name, "preamble"):
        if DIFFERENCES.UNSAID.match(line):
            continue
        line = DIFFERENCES.ERROR.sub(r"\1", line)
        assert line in before[at:], (line, before)
        at = before.index(line, at) + 1


def test_first_line_has_all_arguments(run, recorded):
    _, lines, _ = run
    assert re.fullmatch(r"Namespace\(.*\)", lines[0])
    names = set(re.findall(r"(?:\(|, )([a-z_]\w*)=", lines[0]))
    wanted = set(" ".join(recorded("arguments", "names")).split())
    assert wanted - DIFFERENCES.UNSHOWN - names == set()


def kind_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object: " + " ".join(value)
    inner = " or ".join(sorted({kind_of(item) for item in value}))
    return f"list of {len(value)}: {inner or '-'}"


def test_saved_keys_and_types(run, recorded):
    name, _, saved = run
    result = strict_json(saved)
    rows = [line.split("\t") for line in recorded(name, "types")]
    assert list(result) == [key for key, _ in rows] + DIFFERENCES.MORE_KEYS
    empty = DIFFERENCES.WITHOUT_SAMPLES.get(name, ())
    for key, wanted in rows:
        figure = re.fullmatch(r"(?:mean|median|std|p[\d.]+)_(\w+)_ms", key)
        if figure and figure.group(1) in empty:
            wanted = "null"
        old, new = DIFFERENCES.LIST_LENGTHS.get((name, key), ("", ""))
        assert kind_of(result[key]) == wanted.replace(old, new, 1), key


def test_saved_in_one_line_as_json_dump_does(run):
    """", " and ": " between items, so that greps for "key": value work."""
    _, _, saved = run
    assert saved.count("\n") <= 1 and saved.rstrip("\n").count("\n") == 0
    assert re.match(r'\{"date": "\d{8}-\d{6}", "endpoint_type": "', saved)


def test_numbers_agree_with_the_table(run):
    name, lines, saved = run
    result = strict_json(saved)
    first, last = frame(lines)
    table = {line[:40].rstrip(" :"): line[41:].strip()
             for line in lines[first:last] if not is_heading(line)}
    for label, key in (("Successful requests", "completed"),
                       ("Failed requests", "failed"),
                       ("Total input tokens", "total_input_tokens"),
                       ("Total generated tokens", "total_output_tokens"),
                       ("Benchmark duration (s)", "duration"),
                       ("Mean TTFT (ms)", "mean_ttft_ms"),
                       ("P99 ITL (ms)", "p99_itl_ms")):
        value = result.get(key)
        if label in table and isinstance(value, (int, float)):
            assert float(table[label]) == pytest.approx(value, abs=0.006), label


def test_file_name(stoke, mock, tmp_path):
    """Without --result-filename: vLLM's pattern."""
    server = mock("--models", "org/dummy")
    for flags, pattern in (
        ([], r"openai-infqps-dummy-\d{8}-\d{6}\.json"),
        (["--request-rate", "50", "--max-concurrency", "4"],
         r"openai-50\.0qps-concurrency4-dummy-\d{8}-\d{6}\.json"),
        (["--label", "tag", "--ramp-up-strategy", "exponential",
          "--ramp-up-start-rps", "20", "--ramp-up-end-rps", "60"],
         r"tag-ramp-up-exponential-20qps-60qps-dummy-\d{8}-\d{6}\.json")):
        folder = tmp_path / f"dir-{len(flags)}"
        r = stoke.command("bench", "serve", "--base-url", server.url,
                          "--model", "org/dummy", "--random-input-len", "8",
                          "--random-output-len", "2", "--num-prompts", "4",
                          "--save-result", "--result-dir", folder,
                          *flags).wait()
        assert r.code == 0, r
        names = [p.name for p in folder.iterdir()]
        assert len(names) == 1 and re.fullmatch(pattern, names[0]), names
