/* make_cases.mjs -- writes tests/data/tokenizer: four small tokenizers, and
 * what the Rust library makes of some texts with them.
 *   node tests/oracle/make_cases.mjs [--modules DIR] */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { awkward, random } from "./awkward.mjs";
import { byteBpe, charBpe, charsmap, unigram, wordPiece } from "./vocab.mjs";

const at = process.argv.indexOf("--modules");
const require = createRequire(
  (at < 0 ? process.cwd() : process.argv[at + 1]) + "/x.js");
const rust = require("@anush008/tokenizers");
const out = new URL("../data/tokenizer/", import.meta.url).pathname;

const token = (id, content, flags = {}) => ({ id, content, single_word: false,
  lstrip: false, rstrip: false, normalized: false, special: true, ...flags });
const around = (before, after) => ({ type: "TemplateProcessing",
  single: [...before.map(([id]) => ({ SpecialToken: { id, type_id: 0 } })),
    { Sequence: { id: "A", type_id: 0 } },
    ...after.map(([id]) => ({ SpecialToken: { id, type_id: 0 } }))],
  pair: [{ Sequence: { id: "A", type_id: 0 } },
    { Sequence: { id: "B", type_id: 1 } }],
  special_tokens: Object.fromEntries([...before, ...after].map(([id, n]) =>
    [id, { id, ids: [n], tokens: [id] }])) });
const replace = (from, content) =>
  ({ type: "Replace", pattern: { String: from }, content });

const bytes = byteBpe(200);
const n = Object.keys(bytes.vocab).length;
const files = {
  "bytes.json": {
    added_tokens: [token(n, "<|begin|>"), token(n + 1, "<|end|>"),
      token(n + 2, "<mask>", { lstrip: true }),
      token(n + 3, "have", { single_word: true, special: false }),
      token(n + 4, "café", { normalized: true, special: false })],
    normalizer: { type: "NFC" },
    pre_tokenizer: { type: "Sequence", pretokenizers: [
      { type: "Split", behavior: "Isolated", invert: false, pattern: {
        Regex: "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" +
          "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" +
          "\\s+(?!\\S)|\\s+" } },
      { type: "ByteLevel", add_prefix_space: false, trim_offsets: true,
        use_regex: false }] },
    post_processor: around([["<|begin|>", n]], []),
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true,
      use_regex: true },
    model: bytes,
  },
  "sentence.json": {
    added_tokens: [token(0, "<unk>"), token(1, "<s>"), token(2, "</s>")],
    normalizer: { type: "Sequence", normalizers: [
      { type: "Prepend", prepend: "▁" }, replace(" ", "▁")] },
    pre_tokenizer: null,
    post_processor: around([["<s>", 1]], []),
    decoder: { type: "Sequence", decoders: [replace("▁", " "),
      { type: "ByteFallback" }, { type: "Fuse" },
      { type: "Strip", content: " ", start: 1, stop: 0 }] },
    model: charBpe({ merges: 200 }),
  },
  "unigram.json": {
    added_tokens: [token(0, "<s>"), token(1, "</s>"), token(2, "<unk>"),
      token(2600, "<extra>", { lstrip: true, rstrip: true })],
    normalizer: { type: "Precompiled", precompiled_charsmap: charsmap([
      ["\t", " "], ["\n", " "], ["\u00a0", " "], ["\u3000", " "],
      ["\u200b", " "], ["\u0001", ""], ["ﬁ", "fi"], ["½", "1⁄2"], ["©", "(c)"],
      ["e\u0301", "é"], ["A\u030a", "Å"], ["ｆ", "f"], ["Å", "Å"]]) },
    pre_tokenizer: { type: "Sequence", pretokenizers: [
      { type: "WhitespaceSplit" },
      { type: "Metaspace", replacement: "▁", prepend_scheme: "always" }] },
    post_processor: around([], [["</s>", 1]]),
    decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always" },
    model: unigram(),
  },
  "wordpiece.json": {
    added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
      .map((t, i) => token(i, t)),
    normalizer: { type: "BertNormalizer", clean_text: true,
      handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: { type: "BertProcessing", sep: ["[SEP]", 3],
      cls: ["[CLS]", 2] },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: wordPiece(),
  },
};

mkdirSync(out, { recursive: true });
const lines = [];
for (const [name, parts] of Object.entries(files)) {
  const text = JSON.stringify({ version: "1.0", truncation: null,
    padding: null, ...parts });
  writeFileSync(join(out, name), text + "\n");
  const t = rust.Tokenizer.fromString(text);
  const special = parts.added_tokens.map((x) => x.content);
  const r = random(4);
  const all = awkward(4000, 11, special).filter((s) => s.length < 120);
  const some = [...special, ...Array.from({ length: 90 }, () => r.pick(all))];
  for (const input of some) {
    const ids = (await t.encode(input, null, { addSpecialTokens: false }))
      .getIds();
    const full = (await t.encode(input, null, { addSpecialTokens: true }))
      .getIds();
    lines.push(JSON.stringify({ file: name, text: input, ids, full,
      back: await t.decode(full, false), skip: await t.decode(full, true) }));
  }
}
writeFileSync(join(out, "cases.jsonl"), lines.join("\n") + "\n");
