/* Writes src/data/unicode_ranges.c: what the tokenizer has to know of every
 * code point, in the Unicode versions that the Rust tokenizers use for it
 * (see unicode.h). Run it with the npm packages @unicode/unicode-8.0.0,
 * -9.0.0, -14.0.0, -16.0.0 and -17.0.0 in reach:
 *   node src/data/unicode_ranges.mjs > src/data/unicode_ranges.c */

const MAX = 0x110000;
const points = async (version, path) => {
  const m = await import(`@unicode/unicode-${version}/${path}/code-points.mjs`);
  return new Set(m.default);
};
const category = async (version) => {
  const m = await import(`@unicode/unicode-${version}/General_Category/index.mjs`);
  return (cp) => m.default.get(cp) || "Unassigned";
};

/* The order of enum unicode_category. */
const names = ["Unassigned", "Uppercase_Letter", "Lowercase_Letter",
  "Titlecase_Letter", "Modifier_Letter", "Other_Letter", "Nonspacing_Mark",
  "Spacing_Mark", "Enclosing_Mark", "Decimal_Number", "Letter_Number",
  "Other_Number", "Connector_Punctuation", "Dash_Punctuation",
  "Open_Punctuation", "Close_Punctuation", "Initial_Punctuation",
  "Final_Punctuation", "Other_Punctuation", "Math_Symbol", "Currency_Symbol",
  "Modifier_Symbol", "Other_Symbol", "Space_Separator", "Line_Separator",
  "Paragraph_Separator", "Control", "Format", "Surrogate", "Private_Use"];
const number = new Map(names.map((name, i) => [name, i]));

/* The order of enum grapheme_break. */
const breaks = ["Other", "CR", "LF", "Control", "Extend", "ZWJ",
  "Regional_Indicator", "Prepend", "SpacingMark", "L", "V", "T", "LV", "LVT"];

const g8 = await category("8.0.0"), g9 = await category("9.0.0");
const g14 = await category("14.0.0");
const g16 = await category("16.0.0"), g17 = await category("17.0.0");
const space = await points("16.0.0", "Binary_Property/White_Space");
const alphabetic = await points("16.0.0", "Binary_Property/Alphabetic");
const pictographic =
  await points("16.0.0", "Binary_Property/Extended_Pictographic");
const gcb = new Array(MAX).fill(0);
for (const [i, name] of breaks.entries())
  if (i)
    for (const cp of await points("16.0.0", `Grapheme_Cluster_Break/${name}`))
      gcb[cp] = i;

/* Normalization of what Unicode 9 had assigned is stable, so this engine's
 * own (newer) tables give it. */
const assigned9 = (cp) => !/Unassigned|Surrogate/.test(g9(cp));
const marks = new Set(), seconds = new Set(), bases = new Set();
for (let cp = 0; cp < MAX; cp++) {
  if (!assigned9(cp))
    continue;
  const c = String.fromCodePoint(cp), d = c.normalize("NFD");
  if (d === c)
    continue;
  bases.add(cp);
  if (d.normalize("NFC") !== c)
    continue;
  const parts = [...d];
  seconds.add(parts.at(-1).codePointAt(0));
  const first = parts.slice(0, -1).join("").normalize("NFC");
  bases.add([...first][0].codePointAt(0));
}
for (let cp = 0x1100; cp <= 0x1112; cp++)
  bases.add(cp); /* Hangul leading consonants */
for (let cp = 0; cp < MAX; cp++) {
  /* Marks sort by their combining class: U+0334 has 1, the lowest, U+0345 has
   * 240, the highest. What stays put between them has none. */
  if (!assigned9(cp) || !/Mark|Symbol|Letter/.test(g9(cp)))
    continue;
  const c = String.fromCodePoint(cp).normalize("NFD");
  if ([...c].length === 1 &&
      ((c + "\u0334").normalize("NFD") !== c + "\u0334" ||
       ("\u0345" + c).normalize("NFD") !== "\u0345" + c))
    marks.add(cp);
}

function record(cp) {
  const bit = (at, yes) => (yes ? 2 ** at : 0);
  const g = g16(cp), old = assigned9(cp);
  const c = /Surrogate/.test(g) ? "" : String.fromCodePoint(cp);
  const nfc = old && (c.normalize("NFC") !== c || seconds.has(cp));
  return number.get(g) +
    bit(5, space.has(cp)) +
    bit(6, alphabetic.has(cp) || /_Mark|Decimal_N|Connector_P/.test(g)) +
    bit(7, /_Number/.test(g17(cp))) +
    bit(8, /_Punctuation/.test(g8(cp))) +
    bit(9, /Nonspacing_Mark/.test(g8(cp))) +
    bit(10, /Control|Format|Private/.test(g8(cp))) +
    bit(11, /_Mark/.test(g9(cp))) +
    bit(12, cp === 10 || cp === 13) +
    bit(13, g !== "Unassigned" && g14(cp) === "Unassigned") +
    bit(14, old && c.normalize("NFD") !== c) +
    bit(15, old && c.normalize("NFKD") !== c) +
    bit(16, nfc) +
    bit(17, nfc || (old && c.normalize("NFKC") !== c)) +
    bit(18, marks.has(cp)) +
    bit(19, bases.has(cp)) +
    gcb[cp] * 2 ** 20 +
    bit(24, pictographic.has(cp));
}

const starts = [], values = [], index = new Map();
let last = -1;
for (let cp = 0; cp < MAX; cp++) {
  const r = record(cp);
  if (!index.has(r))
    index.set(r, index.size);
  if (r !== last) {
    starts.push(cp);
    values.push(index.get(r));
  }
  last = r;
}

const scripts = {};
for (const s of ["Arabic", "Bengali", "Bopomofo", "Cyrillic", "Devanagari",
  "Greek", "Han", "Hangul", "Hebrew", "Hiragana", "Katakana", "Latin", "Thai"]) {
  const of = [...await points("16.0.0", `Script/${s}`)].sort((a, b) => a - b);
  const ranges = [];
  for (const cp of of)
    if (ranges.length && ranges.at(-1)[1] === cp - 1)
      ranges.at(-1)[1] = cp;
    else
      ranges.push([cp, cp]);
  scripts[s] = ranges;
}

const hex = (x) => "0x" + x.toString(16);
const rows = (items) => {
  const out = [];
  let line = "   ";
  for (const item of items) {
    if (line.length + item.length + 2 > 80) {
      out.push(line);
      line = "   ";
    }
    line += " " + item + ",";
  }
  return out.concat(line).join("\n");
};

console.log(`/* Written by unicode_ranges.mjs; do not edit. */
/* clang-format off */
#include "data/unicode.h"

const uint32_t unicode_record[UNICODE_RECORDS] = {
${rows([...index.keys()].map(hex))}
};

const uint32_t unicode_range[UNICODE_RANGES] = {
${rows(starts.map((cp, i) => hex(cp * 256 + values[i])))}
};
`);
for (const [s, ranges] of Object.entries(scripts))
  console.log(`static const uint32_t ${s.toLowerCase()}[] = {
${rows(ranges.map(([a, b]) => `${hex(a)}, ${hex(b)}`))}
};
`);
console.log(`const struct unicode_script unicode_script[] = {
${Object.entries(scripts).map(([s, r]) =>
    `    {"${s}", ${s.toLowerCase()}, ${r.length}},`).join("\n")}
    {NULL, NULL, 0},
};`);
console.error(`UNICODE_RECORDS ${index.size} UNICODE_RANGES ${starts.length}`);
