(() => {
"use strict";
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, attributes = {}, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
};
const root = document.documentElement;
for (const e of $$(".js")) e.hidden = false;

// Numbers are written as in the tables, by the rules of package format: three significant digits, and
// a share below 100 % is never rounded to 100 %. Small shares keep their digits, as charts show the tail.
const digits = x => Math.abs(x) >= 99.95 ? x.toFixed(0) : String(+x.toPrecision(3));
const number = x => {
  const a = Math.abs(x);
  return a < 9999.5 ? digits(x) : a < 999.5e3 ? digits(x / 1e3) + " k" : a < 999.5e6 ? digits(x / 1e6) + " M" : digits(x / 1e9) + " G";
};
const inSeconds = ns => ns === 0 ? "0" : ns < 999.5 ? digits(ns) + " ns" : ns < 999.5e3 ? digits(ns / 1e3) + " µs" :
  ns < 999.5e6 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
const inMinutes = ns => {
  const hours = ns >= 7199.5e9, minors = Math.round(ns / (hours ? 60e9 : 1e9)), minor = minors % 60;
  return Math.floor(minors / 60) + (hours ? " h" : " min") + (minor ? " " + minor + (hours ? " min" : " s") : "");
};
const inPercent = share => digits(share * 100) + " %";
const written = (x, unit) => x == null || Number.isNaN(x) ? "–" : unit === "ns" ? (x < 119.5e9 ? inSeconds : inMinutes)(x) :
  unit === "share" ? (x > .999 && x < 1 ? ">99.9 %" : inPercent(x)) : number(x) + (unit ? " " + unit : "");
// Ticks have no room for minutes and seconds, and their values are round.
const tick = (x, unit) => unit === "ns" ? inSeconds(x) : unit === "share" ? inPercent(x) : written(x, unit);

// The theme is that of the system until the reader chooses one.
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = $("#theme");
const themed = [];
function setTheme(name) {
  if (name) root.dataset.theme = name; else delete root.dataset.theme;
  theme.textContent = (name || (dark.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark";
  theme.setAttribute("aria-label", theme.textContent + " colours");
  colours.clear();
  for (const redraw of themed) redraw();
}
const colours = new Map();
const probe = document.body.appendChild(make("span", { hidden: "" }));
function colour(name, opacity = 1) {
  const key = name + opacity;
  if (!colours.has(key)) {
    probe.style.color = `color-mix(in srgb, var(--${name}) ${opacity * 100}%, transparent)`;
    colours.set(key, getComputedStyle(probe).color);
  }
  return colours.get(key);
}
let chosen;
try { chosen = localStorage.getItem("apfsim-theme"); } catch { /* no storage: not remembered */ }
theme.addEventListener("click", () => {
  chosen = theme.textContent.toLowerCase();
  try { localStorage.setItem("apfsim-theme", chosen); } catch { /* as above */ }
  setTheme(chosen);
});
dark.addEventListener("change", () => setTheme(chosen));
setTheme(chosen);

// Column heads open explanations. Without this script they are links to the glossary.
const explain = $("#explain");
for (const link of $$("a.term")) {
  link.setAttribute("role", "button");
  link.setAttribute("aria-label", "What is " + link.previousSibling.textContent + "?");
  const open = event => {
    event.preventDefault();
    const term = $(link.getAttribute("href"));
    explain.replaceChildren(make("b", {}, term.textContent), make("div", {}, term.nextElementSibling.textContent));
    explain.showPopover();
    const at = link.getBoundingClientRect(), box = explain.getBoundingClientRect();
    const above = at.bottom + box.height + 8 > innerHeight && at.top > box.height + 8;
    explain.style.left = scrollX + Math.max(8, Math.min(at.left, root.clientWidth - box.width - 8)) + "px";
    explain.style.top = scrollY + (above ? at.top - box.height - 6 : at.bottom + 6) + "px";
  };
  link.addEventListener("click", open);
  link.addEventListener("keydown", event => { if (event.key === " ") open(event); });
}

// A click on a column head sorts a table. Long tables have a filter, and show all rows on demand.
const collator = new Intl.Collator("en", { numeric: true });
for (const box of $$(".table")) {
  const body = $("tbody", box), more = $("template", box), tools = $(".tools", box), heads = $$("thead th", box);
  const totals = $$("tr.total", body);
  const all = [...body.rows].filter(row => !totals.includes(row));
  const first = all.length;
  if (more) all.push(...$$("tr", more.content));
  let order = all, whole = !more, filter = "";
  const show = () => {
    const found = filter ? order.filter(row => (row.cells[0].textContent + " " + row.cells[1].textContent).toLowerCase().includes(filter)) : order;
    const shown = whole ? found : found.slice(0, first);
    body.replaceChildren(...shown, ...totals);
    if (!tools) return;
    $("[role=status]", tools).textContent = `${shown.length} of ${found.length} ${filter ? "found" : "rows"}`;
    const button = $(".all", tools);
    button.hidden = found.length <= first;
    button.textContent = whole ? `Show the first ${first}` : `Show all ${found.length}`;
  };
  heads.forEach((th, column) => {
    const head = make("button", { type: "button", class: "head" }, $(".head", th).textContent);
    $(".head", th).replaceWith(head);
    head.addEventListener("click", () => {
      const cells = all.map(row => row.cells[column]);
      const numeric = cells.some(cell => cell.dataset.v !== undefined);
      const before = th.getAttribute("aria-sort");
      const down = before ? before === "ascending" : numeric; // numbers: greatest first; names: alphabetical
      for (const other of heads) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keys = new Map(all.map((row, i) => [row, numeric ? (cells[i].dataset.v === undefined ? NaN : +cells[i].dataset.v) : cells[i].textContent]));
      order = [...all].sort((a, b) => {
        const x = keys.get(a), y = keys.get(b);
        if (!numeric) return down ? collator.compare(y, x) : collator.compare(x, y);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // rows without a value come last
        return down ? y - x : x - y;
      });
      show();
    });
  });
  if (tools) {
    $("input", tools).addEventListener("input", event => { filter = event.target.value.trim().toLowerCase(); show(); });
    $(".all", tools).addEventListener("click", () => { whole = !whole; show(); });
    show();
  }
}

// Plots. Package page defines the fields of their specs (type drawing). Logarithms are taken here, so
// that zooming is the same on every axis.
const linked = { plots: [], view: null, busy: false };
const logOf = x => x == null || x <= 0 ? null : Math.log10(x);

// Times of day, on axes that have them.
const clock = (x, axis) => new Date(axis.clock + x * axis.unitMs).toISOString().slice(11, 19) + "Z";
const clockSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map(s => s * 1000);
const moment = (x, axis) => axis.clock ? clock(x, axis) : `${+x.toPrecision(6)} ${axis.unit}`;

function scaleOf(axis) {
  const toAxis = axis.log ? logOf : x => x;
  if (axis.clock) return {
    toAxis,
    splits: (u, i, min, max) => {
      const out = [], most = Math.max(2, (u.bbox.width || u.width) / devicePixelRatio / 90), long = (max - min) * axis.unitMs;
      const step = clockSteps.find(s => long / s <= most) ?? clockSteps.at(-1), from = axis.clock + min * axis.unitMs;
      for (let ms = Math.ceil(from / step) * step; ms <= axis.clock + max * axis.unitMs - long * .02; ms += step) out.push((ms - axis.clock) / axis.unitMs);
      return out;
    },
    values: (u, ticks) => ticks.map(v => clock(v, axis)),
  };
  if (axis.ticks) return { toAxis, splits: () => axis.ticks.map(t => toAxis(t.at)), values: (u, ticks) => ticks.map(v => axis.ticks.find(t => toAxis(t.at) === v)?.label ?? "") };
  return {
    toAxis,
    splits: axis.log ? (u, i, min, max) => {
      const out = [];
      // As many powers of ten as fit: 24 px for each on a vertical axis, 60 on a horizontal one.
      const [pixels, each] = i === 0 ? [u.bbox.width || u.width, 60] : [u.bbox.height || u.height, 24];
      const step = Math.max(1, Math.ceil((max - min) * each * devicePixelRatio / pixels));
      for (let e = Math.ceil(Math.floor(min) / step) * step; e <= max; e += step) {
        for (const m of max - min < 1.5 ? [1, 2, 5] : [1]) {
          const v = e + Math.log10(m);
          if (v >= min && v <= max) out.push(v);
        }
      }
      return out;
    } : undefined,
    values: (u, ticks) => ticks.map(v => axis.log ? tick(+(10 ** v).toPrecision(3), axis.unit) : axis.unit === "ns" || axis.unit === "share" ? tick(v, axis.unit) : Math.abs(v) >= 1e4 ? number(v) : String(+v.toPrecision(6))),
  };
}

function plot(spec) {
  const figure = $("#plot-" + spec.name), holder = $(".plot", figure), map = spec.queues;
  const x = scaleOf(spec.x), y = scaleOf(spec.y);
  // In a transposed plot, each value of each line has its own place along x.
  const own = spec.transposed ? spec.lines.flatMap((line, k) => line.values.map((value, i) => ({ value, k, i }))).filter(e => e.value > 0)
    .sort((a, b) => a.value - b.value || b.i - a.i) : null;
  const nearestOf = (k, i) => own.reduce((best, e, j) => e.k === k && (best < 0 || Math.abs(at[j] - at[i]) < Math.abs(at[best] - at[i])) ? j : best, -1);
  const at = own ? own.map(e => x.toAxis(e.value)) : spec.at.map(x.toAxis), last = at.length - 1, intervals = spec.steps || !!map, final = intervals ? last - 1 : last;
  const data = [at], series = [{ label: spec.x.label, value: (u, v, si, i) => i == null ? "–" : place(i) }], bands = [], styles = [null];
  const marks = spec.marks || [];
  const markedIn = i => intervals ? marks.filter(m => spec.at[i] <= m.at && m.at < spec.at[i + 1]).map(m => "; " + m.text).join("") : "";
  const place = i => placed(i) + markedIn(i);
  const placed = i => {
    if (own) return written(own[i].value, spec.x.unit);
    const named = spec.x.ticks?.find(t => t.at === spec.at[i]);
    if (named) return named.label;
    return intervals ? `${spec.x.clock ? clock(spec.at[i], spec.x) : +spec.at[i].toPrecision(6)}–${moment(spec.at[i + 1], spec.x)}` : spec.x.clock ? clock(spec.at[i], spec.x) : written(spec.at[i], spec.x.unit);
  };
  // A value that holds for an interval can be read anywhere in the interval.
  const within = (nearest, where) => !intervals ? nearest : Math.min(final, nearest > 0 && at[nearest] > where ? nearest - 1 : nearest);
  const paths = spec.steps ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
  const add = (values, options, style) => { data.push(values.map(y.toAxis)); series.push(options); styles.push(style); };
  const bounded = (value, line, i, unit) => written(value, unit) +
    (line.low && line.low[i] != null ? ` (${written(line.low[i], unit)}–${written(line.high[i], unit)})` : "");
  for (const [k, line] of (spec.lines || []).entries()) {
    const name = "line" + line.style.colour;
    if (own) {
      add(own.map(e => e.k === k ? spec.at[e.i] : null), {
        label: line.name, paths, width: 1.6, points: { show: true, size: 6 }, spanGaps: true, stroke: () => colour(name), dash: line.style.dashed ? [6, 4] : undefined,
        value: (u, v, si, i) => {
          const e = i == null ? null : own[nearestOf(k, i)];
          return e ? `${written(spec.at[e.i], spec.y.unit)} ${spec.x.label} ${bounded(e.value, line, e.i, spec.x.unit)}` : "–";
        },
      }, line.style);
      continue;
    }
    // A value without neighbours has no line, and a step of a few pixels would be invisible: it gets a dot.
    const alone = line.values.flatMap((v, i) => v != null && line.values[i - 1] == null && line.values[i + 1] == null ? [i] : []);
    add(line.values, {
      label: line.name, paths, width: 1.6, points: { show: false, size: 6, filter: () => alone }, spanGaps: false,
      stroke: () => colour(name), fill: line.style.filled ? () => colour(name, .22) : undefined, fillTo: () => 0,
      dash: line.style.dashed ? [6, 4] : undefined,
      value: (u, v, si, i) => i == null ? "–" : bounded(line.values[i], line, i, spec.y.unit),
    }, line.style);
    if (line.low) {
      for (const bound of [line.low, line.high]) add(bound, { label: "", class: "bound", paths, width: 0, points: { show: false }, stroke: () => colour(name, 0) }, line.style);
      bands.push({ series: [series.length - 1, series.length - 2], fill: () => colour(name, .18) });
    }
  }
  if (map) add(at.map(() => null), { label: "", points: { show: false } }, null);

  const reading = map ? make("div", { class: "reading" }, "Point at a queue to read its length.") : null;
  let row = 0; // the queue under the cursor, in a map of queues

  function announce(u) {
    const i = u.cursor.idxs[0];
    if (i == null) return;
    let text;
    if (map) {
      const lengths = map.lengths[i], n = lengths ? lengths[row] || 0 : 0;
      text = `${place(i)}: queue ${row}: ${n} waiting` + (map.dealtTo[row] ? `; dealt to ${map.dealtTo[row]}` : "");
      reading.textContent = text;
    } else {
      text = place(i) + ": " + series.slice(1).map((s, k) => s.class ? null : `${s.label} ${s.value(u, null, k + 1, i)}`).filter(t => t).join(", ");
    }
    holder.setAttribute("aria-valuenow", i);
    holder.setAttribute("aria-valuetext", text);
  }

  const hooks = {
    drawClear: [u => {
      const { ctx, bbox } = u;
      if (spec.shaded > 0 && !map) {
        const to = Math.min(u.valToPos(spec.shaded, "x", true), bbox.left + bbox.width);
        ctx.fillStyle = colour("shade");
        if (to > bbox.left) ctx.fillRect(bbox.left, bbox.top, to - bbox.left, bbox.height);
      }
      if (map) drawMap(u);
    }],
    draw: [u => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.strokeStyle = colour("ink", .6);
      ctx.lineWidth = devicePixelRatio;
      for (const m of marks) {
        const x = Math.round(u.valToPos(m.at, "x", true)) + .5;
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.setLineDash(m.dashed ? [3 * devicePixelRatio, 3 * devicePixelRatio] : []);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
      if (own) drawBounds(u);
    }],
    setScale: [(u, key) => { if (key === "x" && spec.linked) syncZoom(u); }],
    setCursor: [u => {
      if (map && u.cursor.top >= 0) row = Math.max(0, Math.min(map.queues - 1, Math.floor(u.posToVal(u.cursor.top, "y"))));
      if (u.cursor.left >= 0) announce(u);
    }],
  };

  // The bounds of a transposed plot run along x: a line between them, with a serif at each end.
  function drawBounds(u) {
    const { ctx, bbox } = u, end = 3 * devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = devicePixelRatio;
    for (const { k, i } of own) {
      const line = spec.lines[k];
      if (!u.series[k + 1].show || !line.low || line.low[i] == null) continue;
      const top = u.valToPos(y.toAxis(spec.at[i]), "y", true);
      const [low, high] = [line.low[i], line.high[i]].map(v => v > 0 ? u.valToPos(x.toAxis(v), "x", true) : bbox.left - 2 * end);
      ctx.strokeStyle = colour("line" + line.style.colour);
      ctx.beginPath();
      ctx.moveTo(low, top);
      ctx.lineTo(high, top);
      for (const to of [low, high]) {
        ctx.moveTo(to, top - end);
        ctx.lineTo(to, top + end);
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  let picture = null;
  function drawMap(u) {
    if (!picture) picture = mapImage(map);
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.imageSmoothingEnabled = false;
    for (let i = 0; i < last; i++) {
      const from = Math.round(u.valToPos(at[i], "x", true)), to = Math.round(u.valToPos(at[i + 1], "x", true));
      if (to >= bbox.left && from <= bbox.left + bbox.width && to > from) ctx.drawImage(picture, i, 0, 1, map.queues, from, bbox.top, to - from, bbox.height);
    }
    if (spec.shaded > 0) {
      const edge = u.valToPos(spec.shaded, "x", true);
      ctx.strokeStyle = colour("soft");
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(edge, bbox.top);
      ctx.lineTo(edge, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  const whole = own ? extent() : { min: at[0], max: at[last] };
  // A transposed plot ends at powers of ten, at most one decade beyond the values.
  function extent() {
    const bounds = own.flatMap(({ k, i }) => [spec.lines[k].low, spec.lines[k].high].map(b => b && b[i] > 0 ? x.toAxis(b[i]) : at[0]));
    return { min: Math.floor(Math.max(at[0] - 1, Math.min(at[0], ...bounds))), max: Math.ceil(Math.min(at[last] + 1, Math.max(at[last], ...bounds)) + 1e-9) };
  }
  const clamp = (min, max) => {
    const least = (whole.max - whole.min) * 2 / Math.max(2, last), width = Math.min(Math.max(max - min, least), whole.max - whole.min);
    const from = Math.max(whole.min, Math.min(min, whole.max - width));
    // Rounding must not cut off the last point.
    return { min: from, max: width < whole.max - whole.min ? from + width : whole.max };
  };
  const axis = (of, scale, more) => ({
    stroke: () => colour("soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
    grid: { show: !map, stroke: () => colour("line"), width: 1 }, ticks: { stroke: () => colour("line"), width: 1, size: 4 },
    splits: scale.splits, values: scale.values, ...more,
  });
  const small = !!holder.closest(".picture"), labelled = !small || figure.matches(":last-child");
  const size = () => ({ width: Math.max(240, holder.clientWidth), height: map ? heightOf(map) : spec.x.log ? 300 : small ? labelled ? 135 : 112 : 190 });
  const u = new uPlot({
    ...size(), series, bands, hooks,
    scales: {
      x: { time: false, range: (u, min, max) => { const v = clamp(min, max); return [v.min, v.max]; } },
      y: { range: (u, min, max) => map ? [0, map.queues] : spec.y.log ? [Math.floor(min ?? -1), Math.max(0, Math.ceil(max ?? 0))] : [0, max > 0 ? max * 1.06 : 1] },
    },
    axes: [
      axis(spec.x, x, { label: small && !spec.x.ticks ? null : spec.x.log || !spec.x.unit || spec.x.clock ? spec.x.label : `${spec.x.label} (${spec.x.unit})`, labelSize: 18, size: small ? labelled ? 26 : 6 : 30, space: 60, ...(small && !spec.x.ticks ? { values: (u, ticks) => labelled ? ticks.map(v => moment(v, spec.x)) : ticks.map(() => "") } : {}) }),
      axis(spec.y, y, { label: small ? null : spec.y.label, labelSize: 18, size: 60, space: 30 }),
    ],
    cursor: { dataIdx: (u, series, nearest, at) => own && series > 0 ? nearestOf(series - 1, nearest) : within(nearest, at), sync: spec.linked ? { key: "time" } : undefined, drag: { x: true, y: false, dist: 5 }, y: !!map, points: { show: !map, size: 7 } },
    legend: {
      show: !map, live: true,
      markers: {
        width: (u, i) => styles[i] && !styles[i].filled ? 2 : 0, dash: (u, i) => styles[i] && styles[i].dashed ? "dashed" : "solid",
        stroke: (u, i) => styles[i] ? `var(--line${styles[i].colour})` : "transparent",
        fill: (u, i) => styles[i] && styles[i].filled ? `var(--line${styles[i].colour})` : "transparent",
      },
    },
  }, [...data], holder);

  // The legend has buttons, which a slider must not contain.
  const legend = $(".u-legend", holder);
  if (legend) holder.after(legend);
  if (map) {
    const most = map.lengths.reduce((m, lengths) => (lengths || []).reduce((a, n) => Math.max(a, n), m), 1);
    holder.after(reading, make("div", { class: "scale" }, make("span", {}, "1"), make("span"), make("span", {}, `${most} waiting`)));
  }
  const setView = (min, max) => u.setScale("x", clamp(min, max));
  const reset = () => u.setScale("x", whole);
  if (own) reset(); // otherwise the plot would fit the values, and cut off their bounds
  const zoom = (factor, middle) => {
    const { min, max } = u.scales.x, c = middle ?? (min + max) / 2;
    setView(c - (c - min) * factor, c + (max - c) * factor);
  };
  const buttons = make("div", { class: "zoom", role: "group", "aria-label": "Zoom" });
  for (const [sign, label, act] of [["−", "Zoom out", () => zoom(2)], ["+", "Zoom in", () => zoom(.5)], ["Reset", "Reset the zoom", reset]]) {
    const button = make("button", { type: "button", "aria-label": label }, sign);
    button.addEventListener("click", act);
    buttons.append(button);
  }
  $(".title", figure).append(buttons);

  // The keyboard, too, can hide and show a line by its legend entry.
  $$(".u-legend .u-series", figure).forEach((entry, i) => {
    const head = $("th", entry);
    if (i === 0 || entry.classList.contains("bound")) return;
    head.setAttribute("tabindex", "0");
    head.setAttribute("role", "button");
    head.setAttribute("aria-pressed", "true");
    const shown = () => head.setAttribute("aria-pressed", String(u.series[i].show));
    head.addEventListener("click", () => setTimeout(shown));
    head.addEventListener("keydown", event => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      u.setSeries(i, { show: !u.series[i].show });
      shown();
    });
  });

  for (const [key, value] of Object.entries({
    tabindex: 0, role: "slider", "aria-label": `${spec.title}. Left and right read the values, plus and minus zoom, 0 resets.`,
    "aria-valuemin": 0, "aria-valuemax": final, "aria-valuenow": 0, "aria-valuetext": "no value read yet",
  })) holder.setAttribute(key, value);
  const moveTo = i => {
    i = Math.max(0, Math.min(final, i));
    const { min, max } = u.scales.x;
    if (at[i] < min || at[i] > max) setView(at[i] - (max - min) / 2, at[i] + (max - min) / 2);
    const top = map ? u.valToPos(row + .5, "y") : u.over.clientHeight / 2;
    u.setCursor({ left: u.valToPos(intervals ? (at[i] + at[i + 1]) / 2 : at[i], "x"), top });
  };
  holder.addEventListener("keydown", event => {
    const read = u.cursor.left >= 0 ? u.cursor.idxs[0] : null;
    const now = read ?? Math.max(0, at.findIndex(v => v >= u.scales.x.min)), step = event.shiftKey ? 10 : 1;
    const keys = {
      ArrowRight: () => moveTo(read == null ? now : now + step), ArrowLeft: () => moveTo(now - step), Home: () => moveTo(0), End: () => moveTo(final),
      "+": () => zoom(.5, read == null ? undefined : at[now]), "=": () => zoom(.5), "-": () => zoom(2), 0: reset, Escape: reset,
    };
    if (map) {
      keys.ArrowUp = () => { row = Math.min(map.queues - 1, row + step); moveTo(now); };
      keys.ArrowDown = () => { row = Math.max(0, row - step); moveTo(now); };
    }
    if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  u.over.addEventListener("mousedown", () => holder.focus({ preventScroll: true }));
  // The wheel scrolls the page. Over the plot that has the focus, or with Ctrl, it zooms.
  u.over.addEventListener("wheel", event => {
    if (document.activeElement !== holder && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : .8, u.posToVal(event.offsetX, "x"));
  }, { passive: false });
  u.over.addEventListener("dblclick", reset);

  const values = make("details", { class: "values js" }, make("summary", {}, "Values as a table"));
  values.addEventListener("toggle", () => {
    if (values.open && values.children.length === 1) values.append(asTable());
  });
  if (!map) figure.append(values);
  function asTable() {
    const lines = spec.lines, head = make("tr", {}, make("th", { scope: "col" }, own ? spec.y.label : spec.x.label), ...lines.map(l => make("th", { scope: "col" }, l.name)));
    const rows = own ? spec.at.map((share, i) =>
      make("tr", {}, make("th", { scope: "row" }, written(share, spec.y.unit)), ...lines.map(l => make("td", {}, bounded(l.values[i], l, i, spec.x.unit))))) : at.slice(0, final + 1).map((_, i) =>
      make("tr", {}, make("th", { scope: "row" }, place(i)), ...lines.map((l, k) => make("td", {}, written(l.values[i], spec.y.unit)))));
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": spec.title },
      make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  const fit = () => { const s = size(); if (s.width !== u.width) u.setSize(s); };
  new ResizeObserver(fit).observe(holder);
  themed.push(() => { picture = null; u.redraw(); });
  if (spec.linked) {
    linked.plots.push(u);
    if (linked.view) u.setScale("x", linked.view);
  }
  return { u, fit };
}

// Each queue is three pixels high unless there are too many queues.
function heightOf(map) { return Math.min(520, Math.max(240, 3 * map.queues + 56)); }

// syncZoom zooms the other linked plots to the range that one of them shows.
function syncZoom(u) {
  if (linked.busy) return;
  const { min, max } = u.scales.x;
  if (min == null || max == null) return;
  linked.view = { min, max };
  linked.busy = true;
  for (const other of linked.plots) if (other !== u) other.setScale("x", { min, max });
  setTimeout(() => { linked.busy = false; });
}

// mapImage returns an image of the lengths of queues: a pixel for each queue and interval.
function mapImage(map) {
  const most = map.lengths.reduce((m, lengths) => (lengths || []).reduce((a, n) => Math.max(a, n), m), 1);
  const stops = [1, 2, 3, 4].map(i => rgb(colour("queue" + i))), empty = rgb(colour("queue0"));
  const shade = n => {
    if (!n) return empty;
    const v = most > 1 ? (n - 1) / (most - 1) * (stops.length - 1) : stops.length - 1, k = Math.min(Math.floor(v), stops.length - 2);
    return stops[k].map((c, i) => c + (stops[k + 1][i] - c) * (v - k));
  };
  const shades = Array.from({ length: most + 1 }, (_, n) => shade(n));
  const canvas = make("canvas", { width: map.lengths.length, height: map.queues }), ctx = canvas.getContext("2d");
  const image = ctx.createImageData(canvas.width, canvas.height);
  map.lengths.forEach((lengths, i) => {
    for (let q = 0; q < map.queues; q++) image.data.set([...shades[lengths && lengths[q] || 0], 255], 4 * ((map.queues - 1 - q) * canvas.width + i));
  });
  ctx.putImageData(image, 0, 0);
  return canvas;
}
function rgb(text) {
  const numbers = text.match(/[\d.]+/g).map(Number);
  return text.startsWith("color(") ? numbers.slice(0, 3).map(c => c * 255) : numbers.slice(0, 3);
}

// Plots that can be seen are drawn one after the other, so that the page can be read meanwhile; those in a folded part when it
// is opened, as they have no width before. Before printing, all parts are opened and all plots are drawn.
const left = JSON.parse($("#plots").textContent), drawn = [], folds = $$(".folds > details");
const figureOf = spec => $("#plot-" + spec.name);
for (const spec of left) $(".plot", figureOf(spec)).style.minHeight = (spec.queues ? heightOf(spec.queues) : spec.x.log ? 300 : figureOf(spec).closest(".picture") ? 112 : 190) + "px";
const visible = spec => !figureOf(spec).closest(".folds > details:not([open])");
let drawing = false;
function drawNext() {
  const next = left.findIndex(visible);
  drawing = next >= 0;
  if (!drawing) return;
  drawn.push(plot(left.splice(next, 1)[0]));
  setTimeout(drawNext);
}
drawNext();
const unfold = $("#unfold"), allOpen = () => folds.every(d => d.open);
for (const d of folds) d.addEventListener("toggle", () => {
  unfold.textContent = allOpen() ? "Close all" : "Open all";
  if (!drawing) drawNext();
});
unfold.addEventListener("click", () => { const open = !allOpen(); for (const d of folds) d.open = open; });
// An anchor opens the part that it is in.
function follow() {
  let target = null;
  try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no such name */ }
  const fold = target && target.closest(".folds > details");
  if (!fold) return;
  fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
let closed = [];
addEventListener("beforeprint", () => {
  setTheme("light");
  closed = folds.filter(d => !d.open);
  for (const d of closed) d.open = true;
  while (left.length > 0) drawn.push(plot(left.shift()));
  for (const { u } of drawn) u.setSize({ width: 680, height: u.height });
});
addEventListener("afterprint", () => {
  setTheme(chosen);
  for (const d of closed) d.open = false;
  for (const { fit } of drawn) fit();
});
})();
