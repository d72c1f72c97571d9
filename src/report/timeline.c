#include "report/timeline.h"

#include "base/clock.h"
#include "report/field.h"

/* ---- the page ---- */

static const char head[] =
    "<!doctype html>\n"
    "<html lang=\"en\"><meta charset=\"utf-8\">\n"
    "<title>stoke: timeline</title>\n"
    "<style>\n"
    "body{font:14px system-ui,sans-serif;margin:16px;color:#222;"
    "background:#fff}\n"
    "h1{font-size:18px}h2{font-size:15px;margin:20px 0 4px}\n"
    "canvas{border:1px solid #ccc;display:block;width:100%}\n"
    "#tip{position:fixed;background:#222;color:#fff;padding:6px 8px;"
    "font-size:12px;white-space:pre;pointer-events:none;display:none;"
    "border-radius:3px}\n"
    "i{display:inline-block;width:11px;height:11px;margin:0 4px 0 14px}\n"
    "</style>\n"
    "<h1 id=\"title\"></h1>\n"
    "<div id=\"page\"></div><div id=\"tip\"></div>\n"
    "<script>\n"
    "const data = ";

static const char common[] =
    ";\n"
    "'use strict';\n"
    "const page = document.getElementById('page');\n"
    "const tip = document.getElementById('tip');\n"
    "document.getElementById('title').textContent = data.title;\n"
    "function add(tag, text) {\n"
    "  const e = document.createElement(tag);\n"
    "  if (text) e.textContent = text;\n"
    "  page.appendChild(e);\n"
    "  return e;\n"
    "}\n"
    "function canvas(height) {\n"
    "  const c = add('canvas'), k = window.devicePixelRatio || 1;\n"
    "  c.style.height = height + 'px';\n"
    "  c.width = c.clientWidth * k;\n"
    "  c.height = height * k;\n"
    "  const g = c.getContext('2d');\n"
    "  g.scale(k, k);\n"
    "  return { c, g, w: c.clientWidth, h: height };\n"
    "}\n"
    "function step(span) {\n"
    "  const p = Math.pow(10, Math.floor(Math.log10(span / 8)));\n"
    "  return [1, 2, 5, 10].map(m => m * p).find(s => span / s <= 10);\n"
    "}\n";

static const char requests[] =
    "const colours = { queue: '#bbb', first: '#4a7ebb', fine: '#58a55c',\n"
    "  slow: '#e8a33d', stall: '#c0392b', failed: '#111' };\n"
    "function timeline() {\n"
    "  const list = data.requests, row = Math.max(3, Math.min(14,\n"
    "    900 / Math.max(1, list.length)));\n"
    "  add('h2', 'Requests over time (wheel: zoom, drag: move)');\n"
    "  const legend = add('div');\n"
    "  for (const [name, text] of [['queue', 'waiting for a slot'],\n"
    "    ['first', 'to the first token'],\n"
    "    ['fine', 'gaps below ' + data.slow_ms + ' ms'],\n"
    "    ['slow', 'from ' + data.slow_ms + ' ms'],\n"
    "    ['stall', 'from ' + data.stall_ms + ' ms'],\n"
    "    ['failed', 'failed']]) {\n"
    "    const i = document.createElement('i');\n"
    "    i.style.background = colours[name];\n"
    "    legend.append(i, text);\n"
    "  }\n"
    "  const k = canvas(Math.max(120, list.length * row + 30)), g = k.g;\n"
    "  const end = Math.max(0.001, ...list.map(r => r.end));\n"
    "  let from = 0, to = end;\n"
    "  const x = t => (t - from) / (to - from) * k.w;\n"
    "  function bar(a, b, y, colour) {\n"
    "    const l = x(a), r = x(b);\n"
    "    if (r < 0 || l > k.w) return;\n"
    "    g.fillStyle = colour;\n"
    "    g.fillRect(l, y, Math.max(r - l, 0.6), row > 4 ? row - 1 : row);\n"
    "  }\n"
    "  function draw() {\n"
    "    g.clearRect(0, 0, k.w, k.h);\n"
    "    g.fillStyle = '#555';\n"
    "    g.font = '11px sans-serif';\n"
    "    const s = step(to - from);\n"
    "    for (let t = Math.ceil(from / s) * s; t < to; t += s) {\n"
    "      g.fillRect(x(t), 0, 0.5, k.h - 16);\n"
    "      g.fillText(+t.toFixed(6) + ' s', x(t) + 2, k.h - 4);\n"
    "    }\n"
    "    list.forEach((r, i) => {\n"
    "      const y = i * row;\n"
    "      bar(r.start - r.queue, r.start, y, colours.queue);\n"
    "      if (!r.ok) return bar(r.start, r.end, y, colours.failed);\n"
    "      let t = r.start + (r.ttft || r.end - r.start);\n"
    "      bar(r.start, t, y, colours.first);\n"
    "      for (const gap of r.gaps) {\n"
    "        bar(t, t + gap / 1e3, y, gap >= data.stall_ms ? colours.stall :\n"
    "          gap >= data.slow_ms ? colours.slow : colours.fine);\n"
    "        t += gap / 1e3;\n"
    "      }\n"
    "    });\n"
    "  }\n"
    "  k.c.onwheel = e => {\n"
    "    const at = from + e.offsetX / k.w * (to - from);\n"
    "    const f = e.deltaY > 0 ? 1.25 : 0.8;\n"
    "    e.preventDefault();\n"
    "    from = Math.max(0, at - (at - from) * f);\n"
    "    to = Math.min(end, at + (to - at) * f);\n"
    "    draw();\n"
    "  };\n"
    "  k.c.onmousemove = e => {\n"
    "    const r = list[Math.floor(e.offsetY / row)];\n"
    "    if (e.buttons) {\n"
    "      const d = e.movementX / k.w * (to - from);\n"
    "      if (from - d >= 0 && to - d <= end) { from -= d; to -= d; }\n"
    "      draw();\n"
    "    }\n"
    "    tip.style.display = r ? 'block' : 'none';\n"
    "    tip.style.left = e.clientX + 14 + 'px';\n"
    "    tip.style.top = e.clientY + 14 + 'px';\n"
    "    if (r) tip.textContent = 'request ' + r.id + (r.ok ? '' :\n"
    "      ': ' + r.error) + '\\nstart ' + r.start.toFixed(3) +\n"
    "      ' s, waited ' + (r.queue * 1e3).toFixed(1) + ' ms\\nttft ' +\n"
    "      (r.ttft * 1e3).toFixed(1) + ' ms, all ' +\n"
    "      ((r.end - r.start) * 1e3).toFixed(1) + ' ms\\n' + r.input +\n"
    "      ' tokens in, ' + r.output + ' out, longest gap ' +\n"
    "      r.gaps.reduce((a, b) => Math.max(a, b), 0).toFixed(1) + ' ms';\n"
    "  };\n"
    "  k.c.onmouseleave = () => { tip.style.display = 'none'; };\n"
    "  draw();\n"
    "}\n"
    "if (data.draw_requests) timeline();\n";

static const char lengths[] =
    "function histogram(title, values) {\n"
    "  const most = Math.max(1, ...values);\n"
    "  const bins = Math.min(40, most), counts = new Array(bins).fill(0);\n"
    "  add('h2', title);\n"
    "  for (const v of values)\n"
    "    counts[Math.min(bins - 1, Math.floor(v / (most + 1) * bins))]++;\n"
    "  const k = canvas(180), g = k.g, top = Math.max(1, ...counts);\n"
    "  g.font = '11px sans-serif';\n"
    "  counts.forEach((n, i) => {\n"
    "    const h = n / top * (k.h - 30);\n"
    "    g.fillStyle = '#4a7ebb';\n"
    "    g.fillRect(i / bins * k.w + 1, k.h - 16 - h, k.w / bins - 2, h);\n"
    "    g.fillStyle = '#555';\n"
    "    if (i % 5 === 0)\n"
    "      g.fillText(Math.round(i / bins * (most + 1)), i / bins * k.w + 2,\n"
    "        k.h - 4);\n"
    "  });\n"
    "  g.fillText('most: ' + top, 4, 12);\n"
    "}\n"
    "if (data.draw_lengths) {\n"
    "  histogram('Prompt tokens', data.requests.map(r => r.input));\n"
    "  histogram('Answer tokens', data.requests.map(r => r.output));\n"
    "}\n"
    "</script>\n";

/* ---- the data ---- */

static void write_request(struct json_writer *w, const struct detail *d,
                          uint64_t origin_ns)
{
  json_begin_object(w);
  field_count(w, "id", d->id);
  field_boolean(w, "ok", d->ok);
  field_number(w, "start", ns_to_sec(ns_since(origin_ns, d->sent_ns)));
  field_number(w, "queue", ns_to_sec(d->queue_ns));
  field_number(w, "ttft", ns_to_sec(d->ttft_ns));
  field_number(w, "end", ns_to_sec(ns_since(origin_ns, d->end_ns)));
  field_count(w, "input", (uint64_t)d->input);
  field_count(w, "output", (uint64_t)d->output);
  if (d->error)
    field_text(w, "error", d->error);
  field_array(w, "gaps");
  for (size_t i = 0; i < d->n_gaps; i++)
    json_number(w, (double)(d->gaps[i] / NS_PER_US) / 1e3);
  json_end_array(w);
  json_end_object(w);
}

static uint64_t first_start(const struct details *d)
{
  uint64_t first = UINT64_MAX;
  for (size_t i = 0; i < d->n; i++) {
    uint64_t due = d->list[i].sent_ns - d->list[i].queue_ns;
    first = due < first ? due : first;
  }
  return first;
}

/* A server's words must not end the script that they stand in. */
static void add_inert(struct buf *out, struct str json)
{
  for (size_t i = 0; i < json.len; i++) {
    if (json.p[i] == '<')
      buf_adds(out, "\\u003c");
    else
      buf_addc(out, json.p[i]);
  }
}

static void write_data(struct buf *out, const struct timeline *t,
                       const struct details *d)
{
  struct buf json = {0};
  struct json_writer w = {.out = &json};
  uint64_t origin = first_start(d);
  json_begin_object(&w);
  field_text(&w, "title", t->title);
  field_boolean(&w, "draw_requests", t->requests);
  field_boolean(&w, "draw_lengths", t->lengths);
  field_number(&w, "slow_ms", t->slow_ms);
  field_number(&w, "stall_ms", t->stall_ms);
  field_array(&w, "requests");
  for (size_t i = 0; i < d->n; i++)
    write_request(&w, &d->list[i], origin);
  json_end_array(&w);
  json_end_object(&w);
  add_inert(out, buf_str(&json));
  buf_free(&json);
}

void timeline_write(struct buf *out, const struct timeline *t,
                    const struct details *d)
{
  buf_adds(out, head);
  write_data(out, t, d);
  buf_adds(out, common);
  buf_adds(out, requests);
  buf_adds(out, lengths);
}
