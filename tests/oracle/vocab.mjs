/* vocab.mjs -- small vocabularies, made from awkward.mjs's texts: enough of
 * every kind of model to try all the parts of a tokenizer.json on. */
import { awkward, random, words } from "./awkward.mjs";

/* GPT-2's letters for bytes. */
const printable = (b) => (b >= 33 && b <= 126) || (b >= 0xa1 && b <= 0xac) ||
  b >= 0xae;
export const letters = (() => {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, b) =>
    String.fromCodePoint(printable(b) ? b : next++));
})();
export const toLetters = (s) =>
  [...Buffer.from(s)].map((b) => letters[b]).join("");

/* Mostly words, so that some become tokens. */
const corpus = () => {
  const r = random(98);
  const prose = Array.from({ length: 2500 }, () => words[r.below(
    1 + r.below(words.length))]);
  return prose.join(" ") + awkward(300, 99).join("\n");
};

/* `count` merges over words, lists of symbols: the most frequent
 * pair, the smaller one of equals. */
const gap = "\u{f0000}"; /* in no text */
function train(lists, count) {
  const merges = [];
  for (let k = 0; k < count; k++) {
    const seen = new Map();
    for (const w of lists)
      for (let i = 0; i + 1 < w.length; i++) {
        const pair = w[i] + gap + w[i + 1];
        seen.set(pair, (seen.get(pair) || 0) + 1);
      }
    let best = null, most = 1;
    for (const [pair, n] of seen)
      if (n > most || (n === most && best && pair < best))
        best = pair, most = n;
    if (!best)
      break;
    const [a, b] = best.split(gap);
    merges.push([a, b]);
    for (const w of lists)
      for (let i = 0; i + 1 < w.length; i++)
        if (w[i] === a && w[i + 1] === b)
          w.splice(i, 2, a + b);
  }
  return merges;
}

const number = (tokens) => Object.fromEntries(tokens.map((t, i) => [t, i]));

/* Byte-level BPE. */
export function byteBpe(merges = 300) {
  const lists = corpus().split(/(?= )/).map((w) => [...toLetters(w)]);
  const pairs = train(lists, merges);
  return {
    type: "BPE", dropout: null, unk_token: null, fuse_unk: false,
    continuing_subword_prefix: null, end_of_word_suffix: null,
    byte_fallback: false, ignore_merges: false,
    vocab: number([...new Set([...letters, ...pairs.map((p) => p.join(""))])]),
    merges: pairs,
  };
}

const bytes = Array.from({ length: 256 }, (_, b) =>
  `<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`);

/* The characters that occur at least `least` times. */
function common(text, least) {
  const seen = new Map();
  for (const c of text)
    seen.set(c, (seen.get(c) || 0) + 1);
  return [...seen].filter(([, n]) => n >= least).map(([c]) => c).sort();
}

/* BPE on characters, as SentencePiece has it. */
export function charBpe({ merges = 300, fallback = true } = {}) {
  const text = corpus().replaceAll(" ", "▁");
  const chars = common(text, 3), known = new Set(chars);
  const lists = text.split(/(?=▁)/)
    .map((w) => [...w].filter((c) => known.has(c)));
  const pairs = train(lists, merges);
  return {
    type: "BPE", dropout: null, unk_token: "<unk>", fuse_unk: true,
    continuing_subword_prefix: null, end_of_word_suffix: null,
    byte_fallback: fallback, ignore_merges: false,
    vocab: number([...new Set(["<unk>", "<s>", "</s>",
      ...(fallback ? bytes : []), ...chars, ...pairs.map((p) => p.join(""))])]),
    merges: pairs,
  };
}

/* Unigram: characters, and substrings with scores that tie now and then. */
export function unigram({ fallback = false } = {}) {
  const text = corpus().replaceAll(" ", "▁");
  const r = random(5);
  const pieces = new Map();
  for (const c of common(text, 3))
    pieces.set(c, -6 - r.below(8));
  const all = [...text];
  for (let i = 0; i < 2500; i++) {
    const at = r.below(all.length), n = 2 + r.below(6);
    pieces.set(all.slice(at, at + n).join(""), -2 - r.below(24) / 2);
  }
  return {
    type: "Unigram", unk_id: 2, byte_fallback: fallback,
    vocab: [["<s>", 0], ["</s>", 0], ["<unk>", 0],
      ...(fallback ? bytes.map((b) => [b, -20]) : []), ...pieces],
  };
}

export function wordPiece() {
  const text = corpus().toLowerCase();
  const tokens = new Set(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
  for (const c of common(text, 3))
    tokens.add(c).add("##" + c);
  const r = random(6);
  for (const w of text.match(/[\p{L}\p{M}]+/gu)) {
    const c = [...w];
    tokens.add(c.slice(0, 1 + r.below(8)).join(""));
    tokens.add("##" + c.slice(r.below(4) + 1, 3 + r.below(8)).join(""));
  }
  tokens.delete("##");
  return {
    type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##",
    max_input_chars_per_word: 20, vocab: number([...tokens]),
  };
}

/* A precompiled_charsmap of [from, to] pairs: Darts' double array, then the
 * replacements. */
export function charsmap(pairs) {
  const root = { next: new Map() };
  const replacements = [];
  let length = 0;
  for (const [from, to] of pairs) {
    let node = root;
    for (const b of Buffer.from(from)) {
      if (!node.next.has(b))
        node.next.set(b, { next: new Map() });
      node = node.next.get(b);
    }
    node.value = length;
    const bytesOf = Buffer.concat([Buffer.from(to), Buffer.from([0])]);
    replacements.push(bytesOf);
    length += bytesOf.length;
  }
  const unit = [0], used = new Set([0]);
  const place = (node, at) => {
    const labels = [...node.next.keys()];
    if (node.value !== undefined)
      labels.push(0);
    let base = 1;
    while (labels.some((b) => used.has(base ^ b) || (base ^ b) === 0))
      base++;
    labels.forEach((b) => used.add(base ^ b));
    const offset = at ^ base;
    if (offset >= 1 << 21)
      throw new Error("too many characters");
    unit[at] = ((unit[at] || 0) | offset << 10 |
      (node.value !== undefined ? 256 : 0)) >>> 0;
    if (node.value !== undefined)
      unit[base] = (node.value | 1 << 31) >>> 0;
    for (const [b, child] of node.next) {
      unit[base ^ b] = b;
      place(child, base ^ b);
    }
  };
  place(root, 0);
  /* A run may look one block beyond. */
  const n = (Math.max(...used) | 255) + 1;
  const trie = Buffer.alloc(n * 4);
  for (let i = 0; i < n; i++)
    trie.writeUInt32LE(unit[i] || 0, i * 4);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(n * 4);
  return Buffer.concat([head, trie, ...replacements]).toString("base64");
}

/* Like nmt_nfkc: what NFKC changes below U+3400, blanks, controls. */
export function nfkcMap() {
  const pairs = new Map();
  for (let cp = 1; cp < 0x3400; cp++) {
    const c = String.fromCodePoint(cp), k = c.normalize("NFKC");
    if (k !== c)
      pairs.set(c, k);
  }
  for (const c of ["\t", "\n", "\r", "\u1680", "\u200b", "\u2028", "\ufeff"])
    pairs.set(c, " ");
  for (const c of ["\u0001", "\u007f", "\u00ad"])
    pairs.set(c, "");
  for (const c of ["é", "ệ", "Å", "が"])
    pairs.set(c.normalize("NFD"), c);
  pairs.set("ﬁ", "fi").set("©", "(c)");
  return charsmap(pairs);
}
