/* awkward.mjs -- texts that tokenizers stumble over, the same ones for the
 * same seed. No lone surrogates: no file has those. */

/* xorshift32 */
export function random(seed) {
  let s = seed >>> 0 || 1;
  const next = () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return (s >>>= 0);
  };
  for (let i = 0; i < 8; i++)
    next();
  return {
    below: (n) => next() % n,
    pick: (list) => list[next() % list.length],
    chance: (one) => next() % one === 0,
  };
}

export const words = `the of and to in is that was he for It with As his on be at by
  I this had not are but from or have an they which one you were all her she
  would their we him been has when who will no more if out so up said what its
  about than into them can only other time new some could these two may first
  then do any like my now over such our man me even most made after also did
  many off before must well back through years where much your way down should
  because long each just state those people too Mr how little good world make
  internationalization antidisestablishmentarianism JavaScript iPhone McDonald
  HTTPServer parseJSON snake_case_name camelCaseName SCREAMING_CASE kebab-case
  naïve café résumé Zürich Ångström Dvořák Łódź œuvre straße ﬁnal eﬃcient`
  .split(/\s+/);

const code = [
  "for (int i = 0; i < n; ++i) {\n\ta[i] += b[i]*c;\n}\n",
  "def f(x):\n    return x**2 if x else None\n\n\n",
  "#include <stdio.h>\r\nint main(void)\r\n{\r\n  return 0;\r\n}\r\n",
  "SELECT * FROM t WHERE a='b' AND c>=10;--x",
  "const f=async()=>{await g(`${x}`);};",
  "<div class=\"a b\">&nbsp;&amp;</div>\n",
  "std::vector<std::pair<int,std::string>> v{{1,\"a\"}};",
  "x != y && !(z || w) ?: 0x7fFF_u64 // ok",
  "  \t  if err != nil {\n  \t\treturn nil, err\n  \t}\n",
  "{\"k\": [1, 2.5e-3, null, true], \"é\": \"\\u00e9\\n\"}",
  "https://example.com/a/b?c=d&e=%20f#g",
  "$ rm -rf /tmp/x; echo $? >&2 | grep -v '^#'",
  "@decorator\nclass A(B, metaclass=C): ...\n",
  "printf(\"%s\\n\", \"it's\"); /* don't */",
  "\\frac{a}{b} \\sum_{i=0}^{n} x_i^2",
];

const foreign = [
  "今天天气很好，我们去公园吧。", "春眠不覺曉，處處聞啼鳥", "日本語のテキストです。カタカナ・ひらがな",
  "ｱｲｳｴｵﾞ゛", "한국어 텍스트입니다", "한글", "العربية لغة جميلة", "مَرْحَبًا بِكُمْ",
  "שלום עולם", "שָׁלוֹם", "Привет, мир!", "Ёжик в тумане", "Γειά σου Κόσμε",
  "हिन्दी में लिखा हुआ", "क्षत्रिय", "தமிழ் மொழி", "ภาษาไทยไม่มีช่องว่าง", "ไทย",
  "မြန်မာဘာသာ", "ខ្មែរ", "ქართული ენა", "Հայերեն", "አማርኛ", "ᏣᎳᎩ", "𐍈𐌰𐌹", "𝒜𝓁𝑔𝑒𝒷𝓇𝒶",
  "Tiếng Việt có dấu", "Türkçe İıĞş", "Čeština ř", "ǅ ǈ ǋ ǲ", "ŉ ǰ ΐ ﬀ ﬆ ß ẞ",
];

const emoji = [
  "😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "☎️", "©️", "1️⃣", "👨🏿‍🚀", "🤷🏻‍♀️", "🫠", "🪿",
  "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "☺", "™", "𓀀", "🀄",
];

const blanks = [
  " ", "  ", "   ", "        ", "\t", "\t\t", "\n", "\n\n", "\n\n\n\n", "\r\n",
  "\r", " \n", "\n ", " \n \n ", "\t\n", "\u00a0", "\u2003", "\u3000", "\u2028",
  "\u0085", "\u200b", "\ufeff", "\u180e", "\v", "\f", " \u00a0 ", "\u1680",
];

const marks = [
  "\u0301", "\u0308", "\u0323", "\u0327", "\u0338", "\u0345", "\u034f",
  "\u0344", "\u093c", "\u3099", "\u0bbe", "\u20dd", "\ufe0f", "\u200d",
  "\u05bf", "\u0e33", "\u1161", "\u11a8", "\u0f71", "\u1ab0",
];

const singles = [
  "'s", "'S", "'t", "'RE", "'ve", "'Ll", "'d", "'M", "\u2019s", "'\u017f", "'",
  "''", "'x", "-", "--", "…", "!?", "...", "\"", "“x”", "«»", "//", "///",
  "_", "__init__", "0", "7", "42", "007", "3.14", "1,000,000", "1e-9",
  "12345678901234567890", "٣٤٥", "४२", "½", "²", "Ⅷ", "①②③", "㎞", "ﾊﾞ", "Å",
  "Å", "ｆｕｌｌ", "\u0000", "\u0001", "\u007f", "\u0090", "\u00ad", "\u2060",
  "\ufffd", "\ufffd\ufffd", "\uffff", "\u{10ffff}", "\u{e0001}", "\ue000",
  "\u2581", "\u2581\u2581", "Ġ", "Ċ", "Ģ", "<0x41>", "<0xE2>", "##", "</w>",
];

function randomBytes(r, n) {
  const b = Buffer.alloc(n);
  for (let i = 0; i < n; i++)
    b[i] = r.below(256);
  return b.toString("utf8");
}

/* Valid text with some bytes cut out or changed. */
function brokenText(r) {
  const b = Buffer.from(r.pick(foreign) + r.pick(emoji) + r.pick(words));
  for (let i = r.below(4) + 1; i > 0; i--)
    b[r.below(b.length)] = r.below(256);
  return b.subarray(r.below(4), b.length - r.below(3)).toString("utf8");
}

function randomPoint(r) {
  const ranges = [[0x20, 0x7f], [0xa0, 0x24f], [0x250, 0x1fff],
    [0x2000, 0x2bff], [0x2c00, 0xd7ff], [0xe000, 0xffff], [0x10000, 0x1ffff],
    [0x20000, 0x10ffff], [0x1f300, 0x1faff], [0x4e00, 0x9fff]];
  const [a, b] = r.pick(ranges);
  return String.fromCodePoint(a + r.below(b - a + 1));
}

const repeat = (r, list, most) => {
  let s = "";
  for (let i = r.below(most) + 1; i > 0; i--)
    s += r.pick(list);
  return s;
};

/* One text. `special` are texts of the tokenizer's own added tokens. */
function text(r, special) {
  const parts = [
    () => r.pick(words),
    () => " " + r.pick(words),
    () => " " + r.pick(words),
    () => r.pick(words).toUpperCase(),
    () => r.pick(words) + r.pick(singles),
    () => r.pick(code),
    () => r.pick(foreign),
    () => r.pick(foreign).slice(0, 3).toWellFormed?.() ?? "",
    () => r.pick(emoji),
    () => r.pick(blanks),
    () => repeat(r, blanks, 6),
    () => " ".repeat(r.below(60)),
    () => "\n".repeat(r.below(20)),
    () => r.pick(words) + repeat(r, marks, 4),
    () => repeat(r, marks, 3),
    () => r.pick(singles),
    () => randomBytes(r, r.below(20)),
    () => brokenText(r),
    () => randomPoint(r),
    () => randomPoint(r) + r.pick(marks),
    () => String(r.below(1 << 30)),
    () => r.pick(["a", "ab", "=", "-", "ha", "0", "。", "é"])
      .repeat(r.below(50)),
    () => (special.length ? r.pick(special) : ""),
    () => (special.length
      ? r.pick(special).slice(0, -1 - r.below(3)) + r.pick([" ", "", "x"])
      : ""),
    () => (special.length
      ? r.pick(blanks) + r.pick(special) + r.pick(blanks)
      : ""),
  ];
  let s = "";
  for (let i = r.below(r.chance(10) ? 40 : 8) + 1; i > 0; i--)
    s += r.pick(parts)();
  return s;
}

/* `n` texts; the first ones are every small piece alone. */
export function awkward(n, seed, special = []) {
  const r = random(seed);
  const all = ["", ...code, ...foreign, ...emoji, ...blanks, ...marks,
    ...singles, ...words, ...special.slice(0, 200)];
  while (all.length < n)
    all.push(text(r, special));
  return all.slice(0, n);
}
