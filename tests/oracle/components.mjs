/* components.mjs -- every part of a tokenizer.json that we support, in turn,
 * on small vocabularies, against the Rust library. Usage as tokenizer.mjs. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { awkward, random } from "./awkward.mjs";
import { byteBpe, charBpe, nfkcMap, unigram, wordPiece } from "./vocab.mjs";

const stoke = process.env.STOKE || "./stoke";
const option = (name, otherwise) => {
  const at = process.argv.indexOf("--" + name);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const N = Number(option("n", 800)), SEED = Number(option("seed", 1));
const only = option("only", "");
const require = createRequire(option("modules", process.cwd()) + "/x.js");
const rust = require("@anush008/tokenizers");

const seq = (kind, field) => (...all) => ({ type: kind, [field]: all });
const normalizers = seq("Sequence", "normalizers");
const pretokenizers = seq("Sequence", "pretokenizers");
const decoders = seq("Sequence", "decoders");
const replace = (from, content) => ({ type: "Replace", pattern: from, content });
const split = (pattern, behavior, invert = false) =>
  ({ type: "Split", pattern, behavior, invert });
const byteLevel = (add_prefix_space = false, use_regex = true) =>
  ({ type: "ByteLevel", add_prefix_space, trim_offsets: true, use_regex });
const metaspace = (prepend_scheme = "always", cut = true) =>
  ({ type: "Metaspace", replacement: "▁", prepend_scheme, split: cut });
const token = (content, flags = {}) => ({ content, single_word: false,
  lstrip: false, rstrip: false, normalized: false, special: false, ...flags });
const template = (before, after, ids) => ({ type: "TemplateProcessing",
  single: [...before.map((id) => ({ SpecialToken: { id, type_id: 0 } })),
    { Sequence: { id: "A", type_id: 0 } },
    ...after.map((id) => ({ SpecialToken: { id, type_id: 0 } }))],
  pair: [{ Sequence: { id: "A", type_id: 0 } },
    { Sequence: { id: "B", type_id: 1 } }],
  special_tokens: Object.fromEntries(Object.entries(ids).map(([id, n]) =>
    [id, { id, ids: [n], tokens: [id] }])) });

const bytes = byteBpe(), chars = charBpe(), open = charBpe({ fallback: false });
const uni = unigram(), uniBytes = unigram({ fallback: true });
const pieces = wordPiece();
const map = { type: "Precompiled", precompiled_charsmap: nfkcMap() };
const llama = decoders(replace({ String: "▁" }, " "), { type: "ByteFallback" },
  { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 });

/* name: the parts; the rest is null. */
const cases = {
  "byte level": { model: bytes, pre_tokenizer: byteLevel(),
    decoder: byteLevel() },
  "byte level, prefix": { model: bytes, pre_tokenizer: byteLevel(true),
    decoder: byteLevel() },
  "byte level, no regex": { model: bytes, pre_tokenizer: byteLevel(true, false),
    decoder: byteLevel() },
  "byte level, ignore merges": { model: { ...bytes, ignore_merges: true },
    pre_tokenizer: byteLevel(), decoder: byteLevel() },
  "byte level, no decoder": { model: bytes, pre_tokenizer: byteLevel() },
  "byte level normalizer": { model: bytes, normalizer: { type: "ByteLevel" },
    pre_tokenizer: split({ String: "Ġ" }, "MergedWithNext"),
    decoder: byteLevel() },
  "letters in the middle": { model: bytes, decoder: byteLevel(),
    pre_tokenizer: pretokenizers(byteLevel(false), { type: "Digits",
      individual_digits: true }) },
  "bytes that are missing": { model: { ...bytes,
    vocab: Object.fromEntries(Object.entries(bytes.vocab)
      .filter(([t]) => !/^[xyzÃ]$/.test(t))),
    merges: bytes.merges.filter((m) => !/[xyzÃ]/.test(m.join(""))) },
  pre_tokenizer: byteLevel(), decoder: byteLevel() },
  "suffix": { model: { ...bytes, end_of_word_suffix: "</w>", unk_token: "a",
    vocab: { ...bytes.vocab, "e</w>": 2000, "s</w>": 2001, "es</w>": 2002 },
    merges: [["e", "s</w>"], ...bytes.merges] },
  pre_tokenizer: byteLevel(), decoder: { type: "BPEDecoder", suffix: "</w>" } },
  "prefix": { model: { ...open, continuing_subword_prefix: "##",
    vocab: { ...open.vocab, "##e": 3000, "##s": 3001, "##es": 3002, "te": 3003 },
    merges: [["##e", "##s"], ["t", "##e"]] },
  pre_tokenizer: { type: "Whitespace" },
  decoder: { type: "WordPiece", prefix: "##", cleanup: false } },

  "llama 2": { model: chars, decoder: llama,
    normalizer: normalizers({ type: "Prepend", prepend: "▁" },
      replace({ String: " " }, "▁")),
    added_tokens: [token("<unk>", { special: true }),
      token("<s>", { special: true }), token("</s>", { special: true })],
    post_processor: template(["<s>"], [], { "<s>": 1 }) },
  "gemma": { model: chars, normalizer: replace({ String: " " }, "▁"),
    pre_tokenizer: split({ String: " " }, "MergedWithPrevious"),
    decoder: decoders(replace({ String: "▁" }, " "), { type: "ByteFallback" },
      { type: "Fuse" }), added_tokens: [token("\n\n"), token("▁▁▁"),
      token("<b>"), token("</b>")] },
  "ignore merges": { model: { ...chars, ignore_merges: true }, decoder: llama,
    pre_tokenizer: metaspace("first", false) },
  "unknown, fused": { model: open, pre_tokenizer: metaspace(),
    decoder: metaspace() },
  "unknown, not fused": { model: { ...open, fuse_unk: false },
    pre_tokenizer: metaspace("never"), decoder: metaspace("never") },
  "unknown vanishes": { model: { ...open, unk_token: null },
    pre_tokenizer: metaspace("first") },
  "some bytes missing": { model: { ...chars,
    vocab: Object.fromEntries(Object.entries(chars.vocab)
      .filter(([t]) => !/^<0x[EF]/.test(t))) }, pre_tokenizer: metaspace(),
  decoder: llama },

  "unigram": { model: uni, pre_tokenizer: metaspace(), decoder: metaspace() },
  "unigram, bytes": { model: uniBytes, pre_tokenizer: metaspace(),
    decoder: decoders({ type: "ByteFallback" }, metaspace()) },
  "unigram, whole": { model: uni, normalizer: replace({ String: " " }, "▁") },
  "t5": { model: uni, normalizer: map, decoder: metaspace(),
    pre_tokenizer: pretokenizers({ type: "WhitespaceSplit" }, metaspace()),
    added_tokens: [token("</s>", { special: true }),
      token("<extra_0>", { special: true, lstrip: true, rstrip: true })],
    post_processor: template([], ["</s>"], { "</s>": 1 }) },
  "xlm-r": { model: uni, decoder: metaspace("first"),
    normalizer: normalizers(map, { type: "Strip", strip_left: false,
      strip_right: true }, replace({ Regex: " {2,}" }, "▁")),
    pre_tokenizer: metaspace("first"),
    post_processor: { type: "RobertaProcessing", sep: ["</s>", 1],
      cls: ["<s>", 0], trim_offsets: true, add_prefix_space: true } },
  "albert": { model: uni, normalizer: normalizers(replace({ String: "``" }, "\""),
    replace({ String: "''" }, "\""), { type: "NFKD" }, { type: "StripAccents" },
    { type: "Lowercase" }, map), pre_tokenizer: metaspace(),
  decoder: metaspace() },
  "first behind a split": { model: uni, normalizer: normalizers({ type: "NFKD" },
    { type: "Strip", strip_left: true, strip_right: false }),
  pre_tokenizer: pretokenizers({ type: "WhitespaceSplit" }, metaspace("first")) },
  "first behind a charsmap": { model: uni, normalizer: map,
    pre_tokenizer: pretokenizers({ type: "Punctuation" }, metaspace("first")) },
  "first behind replacements": { model: uni,
    normalizer: normalizers(replace({ Regex: "[a-f ]+" }, "x y"),
      { type: "Prepend", prepend: "a " }),
    pre_tokenizer: pretokenizers({ type: "WhitespaceSplit" }, metaspace("first")) },

  "bert": { model: pieces, normalizer: { type: "BertNormalizer",
    clean_text: true, handle_chinese_chars: true, strip_accents: null,
    lowercase: true }, pre_tokenizer: { type: "BertPreTokenizer" },
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((t) =>
    token(t, { special: true })),
  post_processor: { type: "BertProcessing", sep: ["[SEP]", 3],
    cls: ["[CLS]", 2] } },
  "bert, cased": { model: pieces, normalizer: { type: "BertNormalizer",
    clean_text: false, handle_chinese_chars: true, strip_accents: true,
    lowercase: false }, pre_tokenizer: { type: "Whitespace" },
  decoder: { type: "WordPiece", prefix: "##", cleanup: false } },
};

for (const form of ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase",
  "StripAccents"])
  cases[form] = { model: bytes, normalizer: { type: form },
    pre_tokenizer: byteLevel(), decoder: byteLevel() };
cases.Strip = { model: bytes, pre_tokenizer: byteLevel(),
  normalizer: { type: "Strip", strip_left: true, strip_right: true } };
cases["Replace by nothing"] = { model: bytes, pre_tokenizer: byteLevel(),
  normalizer: replace({ Regex: "\\p{P}+|\\s" }, "") };

const behaviors = ["Removed", "Isolated", "MergedWithPrevious",
  "MergedWithNext", "Contiguous"];
for (const behavior of behaviors) {
  for (const invert of [false, true])
    cases[`Split ${behavior}${invert ? ", inverted" : ""}`] = { model: bytes,
      pre_tokenizer: pretokenizers(split({ Regex: "[aeiou ]|\\d\\d|$" },
        behavior, invert), byteLevel(false, false)) };
  cases[`Split text ${behavior}`] = { model: bytes, pre_tokenizer:
    pretokenizers(split({ String: "  " }, behavior), byteLevel(false, false)) };
  cases[`Punctuation ${behavior}`] = { model: bytes, pre_tokenizer:
    pretokenizers({ type: "Punctuation", behavior }, byteLevel(false, false)) };
}
for (const [name, part] of Object.entries({
  Whitespace: { type: "Whitespace" },
  WhitespaceSplit: { type: "WhitespaceSplit" },
  Digits: { type: "Digits", individual_digits: false },
  "Digits, each": { type: "Digits", individual_digits: true },
  CharDelimiterSplit: { type: "CharDelimiterSplit", delimiter: "e" },
  FixedLength: { type: "FixedLength", length: 3 },
  "Metaspace in front": metaspace("always", false),
  "Bert in front": { type: "BertPreTokenizer" },
}))
  cases[name] = { model: bytes, decoder: byteLevel(),
    pre_tokenizer: pretokenizers(part, byteLevel(false, false)) };

/* Patterns by PCRE2: of families without a matcher of ours, then whatever
 * the two engines read differently. */
const patterns = {
  "tiktoken's own cl100k": "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+" +
    "\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|" +
    "\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
  "kimi": "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}" +
    "\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+" +
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" +
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "qwen3.5": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?" +
    "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" +
    "\\s+(?!\\S)|\\s+",
  "deepseek coder": "[\\r\\n]|\\s?\\p{L}+|\\s?\\p{P}+|[一-龥ࠀ-一가-퟿]+|\\p{N}",
  "falcon": "[0-9][0-9][0-9]",
  "starcoder": "\\p{N}+|[^\\p{N}\\s]+|\\s+",
  "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
  "words": "\\w+|\\W", "not words": "[^\\w]+", "digits": "\\d+|\\D",
  "hex": "\\h+", "negations": "[^\\P{L}a-m]+|[\\S&&[^x]]",
  "scripts": "\\p{Han}+|\\p{Hiragana}+|\\p{Katakana}+|\\p{Hangul}+|" +
    "\\p{Latin}+|\\p{Cyrillic}+|\\p{Arabic}+|\\p{Thai}+",
  "categories": "\\p{Lu}|\\p{Mn}+|\\p{Mc}|\\p{Sc}|\\p{So}+|\\p{Zs}|\\p{Cf}|" +
    "\\p{Pd}|\\p{Nl}|\\p{^Ll}",
  "others": "\\p{C}+|\\p{Cn}|\\p{S}{2,}|\\p{Z}{,2}",
  "repetitions": "(?:ab|a){1,2}+|e{2}|[st]*?x|\\p{L}{3}(?=\\p{L})",
  "lookbehind": "(?<=[a-z])(?=[A-Z])|(?<! ) ", "lines": "^.+$|\\A.|.\\z",
  "case": "(?i)x|(?i:the|AN)|(?-i:A)".replace("(?i)x|", ""),
  "dots": "(?m:<.*>)|(?:.{5})", "unicode": "\\u00e9|[\\x{4e00}-\\x{9fff}]+|\\x61",
  "alternatives": "(a|b)(c|d)?|(?>e+)e|\\+\\+|\\[|\\]",
};
for (const [name, regex] of Object.entries(patterns))
  cases["pattern: " + name] = { model: bytes, decoder: byteLevel(),
    pre_tokenizer: pretokenizers(split({ Regex: regex }, "Isolated"),
      byteLevel(false, false)) };
const known = {
  cl100k: "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" +
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  tekken: "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*" +
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}" +
    "\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?" +
    "[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
};
for (const [name, regex] of Object.entries(known))
  for (const behavior of behaviors)
    cases[`pattern: ${name}, ${behavior}`] = { model: bytes, pre_tokenizer:
      pretokenizers(split({ Regex: regex }, behavior), byteLevel(false, false)) };

const added = [token("<|x|>", { special: true }), token("the", {}),
  token("have", { single_word: true }), token("MASK", { lstrip: true }),
  token("[SEP]", { rstrip: true, special: true }), token("\n\n"),
  token("It", { normalized: true }), token("é", { normalized: true }),
  token("  ", { rstrip: true, lstrip: true }), token("they"), token("theyx"),
  token("Łódź", { normalized: true, single_word: true }), token("▁a"),
  token("of", { normalized: true, lstrip: true, rstrip: true })];
cases["added tokens"] = { model: bytes, pre_tokenizer: byteLevel(),
  decoder: byteLevel(), added_tokens: added };
cases["added tokens, normalized"] = { model: bytes, pre_tokenizer: byteLevel(),
  normalizer: normalizers({ type: "NFD" }, { type: "Lowercase" }),
  decoder: byteLevel(), added_tokens: added };
cases["added tokens, llama"] = { model: chars, decoder: llama,
  normalizer: normalizers({ type: "Prepend", prepend: "▁" },
    replace({ String: " " }, "▁")), added_tokens: added };
cases["added tokens, first"] = { model: chars, decoder: llama,
  pre_tokenizer: metaspace("first"), added_tokens: added };
cases["two processors"] = { model: bytes, pre_tokenizer: byteLevel(),
  post_processor: { type: "Sequence", processors: [byteLevel(),
    template(["A", "B"], ["A"], { A: 33, B: 34 })] } };
cases["decoder: all"] = { model: chars, pre_tokenizer: metaspace(),
  decoder: decoders({ type: "ByteFallback" }, replace({ Regex: "[aeiou]" }, "*"),
    { type: "Strip", content: "*", start: 2, stop: 0 }, metaspace("never")) };

function ours(path, flags, items) {
  return execFileSync(stoke, ["tokenize", "-t", path, "--lines", ...flags], {
    input: items.map((x) => JSON.stringify(x) + "\n").join(""),
    maxBuffer: 1 << 30,
  }).toString().split("\n").slice(0, -1);
}

function differ(what, inputs, got, want) {
  let bad = 0;
  for (let i = 0; i < inputs.length; i++)
    if (got[i] !== JSON.stringify(want[i]) && bad++ < 3)
      console.log(`# ${what} ${JSON.stringify(inputs[i]).slice(0, 300)}\n` +
        `#   ours ${got[i]?.slice(0, 300)}\n` +
        `#   rust ${JSON.stringify(want[i]).slice(0, 300)}`);
  return bad;
}

async function check(name, parts, dir) {
  const json = { version: "1.0", truncation: null, padding: null,
    added_tokens: [], normalizer: null, pre_tokenizer: null,
    post_processor: null, decoder: null, ...parts };
  json.added_tokens = json.added_tokens.map((t, i) => ({ id: 5000 + i, ...t }));
  const path = join(dir, "tokenizer.json");
  writeFileSync(path, JSON.stringify(json));
  const t = rust.Tokenizer.fromString(JSON.stringify(json));
  const texts = awkward(N, SEED, json.added_tokens.map((x) => x.content));
  const encode = async (addSpecialTokens) =>
    (await t.encodeBatch(texts, { addSpecialTokens })).map((e) => e.getIds());
  const plain = await encode(false), full = await encode(true);
  let bad = differ("encode", texts, ours(path, [], texts), plain) +
    differ("special", texts, ours(path, ["--special"], texts), full);
  const r = random(SEED + 3);
  const size = t.getVocabSize(); /* ids beyond it are refused */
  /* Its decoders do not survive empty texts. */
  const rows = full.concat(texts.map(() => Array.from(
    { length: 1 + r.below(20) }, () => r.below(size))))
    .filter((row) => row.length);
  try {
    bad += differ("decode", rows, ours(path, ["--decode"], rows),
      await t.decodeBatch(rows, false));
    bad += differ("skip", rows,
      ours(path, ["--decode", "--skip-special-tokens"], rows),
      await t.decodeBatch(rows, true));
  } catch (e) {
    console.log(`# ${name}: not decoded: ${e.message}`);
  }
  console.log(`${bad ? "not ok" : "ok"} - ${name}`);
  return bad;
}

const dir = mkdtempSync(join(tmpdir(), "stoke-components-"));
let bad = 0;
for (const [name, parts] of Object.entries(cases))
  if (name.includes(only)) {
    try {
      bad += await check(name, parts, dir);
    } catch (e) {
      bad++;
      console.log(`not ok - ${name}: ${e.message.slice(0, 400)}`);
    }
  }
rmSync(dir, { recursive: true });
process.exit(bad ? 1 : 0);
