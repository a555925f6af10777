// The moving picture: the queues and seats of a priority level over virtual time, drawn from the recording of a run.

const $ = selector => document.querySelector(selector);
const ms = ns => {
  const a = Math.abs(ns);
  return a === 0 ? "0 ms" : a < 999.5e3 ? +(ns / 1e3).toPrecision(3) + " µs" : a < 999.5e6 ? +(ns / 1e6).toPrecision(3) + " ms" : +(ns / 1e9).toPrecision(4) + " s";
};
const seconds = ns => (ns / 1e9).toFixed(4) + " s";
const LEFT = ["", "served", "rejected", "timed out in its queue", "its server ended"];
const COLOURS = 6; // of lines in the style sheet, after that of text

let recording, level, times, now = 0, playing = 0, followed = -1, slots, drawnAt;
let again = () => {};

const canvas = $("#canvas"), slider = $("#time"), play = $("#play"), speed = $("#speed"), flowOf = $("#flow"), table = $("#table");

let colours;
export function recolour() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const get = name => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  colours = { ink: get("ink"), soft: get("soft"), line: get("line"), card: get("card"), workloads: Array.from({ length: COLOURS + 1 }, (_, i) => get("line" + i)) };
  probe.remove();
  draw();
}

// waiting and executing say whether a request is in that state at a time.
const waiting = (i, t) => recording.queue[i] >= 0 && recording.arrivalNs[i] <= t && (recording.dispatchNs[i] < 0 || recording.dispatchNs[i] > t) &&
  (recording.endNs[i] < 0 || recording.endNs[i] > t);
const executing = (i, t) => recording.dispatchNs[i] >= 0 && recording.dispatchNs[i] <= t && (recording.endNs[i] < 0 || recording.endNs[i] > t);
const ofLevel = i => recording.flows[recording.flow[i]].level === level;
const workloadOf = i => recording.workloads[recording.workload[i]] ?? "other";
const colourOf = name => 1 + Math.max(0, recording.workloads.indexOf(name)) % COLOURS;
const limitAt = t => recording.levels[level].limits.reduce((limit, l) => l.atNs <= t ? l.value : limit, 0);

// assignSlots gives each request the lowest free seats at its dispatch, so that it stays at its place while it executes.
function assignSlots() {
  slots = new Map();
  const events = [];
  for (let i = 0; i < recording.requests; i++) {
    if (!ofLevel(i) || recording.dispatchNs[i] < 0) continue;
    events.push([recording.dispatchNs[i], 1, i]);
    if (recording.endNs[i] >= 0) events.push([recording.endNs[i], 0, i]);
  }
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const used = [];
  for (const [, begins, i] of events) {
    if (!begins) {
      for (const s of slots.get(i) || []) used[s] = false;
      continue;
    }
    const own = [];
    for (let s = 0; own.length < recording.seats[i]; s++) if (!used[s]) { used[s] = true; own.push(s); }
    slots.set(i, own);
  }
}

// show shows a recording. record is called to record another part of the same run.
export function show(next, record) {
  recording = next;
  again = record;
  pause();
  followed = -1;
  $("#followed").textContent = "";
  $("#picture").hidden = recording.levels.length === 0 || recording.requests === 0;
  if ($("#picture").hidden) return;
  const counts = recording.levels.map((_, l) => recording.flow.reduce((n, f) => n + (recording.flows[f].level === l), 0));
  const kept = recording.levels.findIndex(l => l.name === $("#level").value);
  $("#level").replaceChildren(...recording.levels.map((l, i) => new Option(`${l.name} (${counts[i].toLocaleString("en")} requests)`, l.name)).filter((_, i) => counts[i] > 0));
  level = kept >= 0 && counts[kept] > 0 ? kept : counts.indexOf(Math.max(...counts));
  $("#level").value = recording.levels[level].name;
  $("#from").value = String(recording.fromNs / 1e9);
  const span = recording.toNs - recording.fromNs;
  speed.replaceChildren(...[[20, "whole in 20 s"], [60, "whole in 1 min"], [300, "whole in 5 min"], [5, "whole in 5 s"]].map(([s, text]) => new Option(`${text}`, String(span / s))));
  chooseLevel();
}

function chooseLevel() {
  const set = new Set([recording.fromNs, recording.toNs]);
  for (let i = 0; i < recording.requests; i++) {
    if (!ofLevel(i)) continue;
    for (const t of [recording.arrivalNs[i], recording.dispatchNs[i], recording.endNs[i]]) if (t >= recording.fromNs && t <= recording.toNs) set.add(t);
  }
  times = [...set].sort((a, b) => a - b);
  assignSlots();
  const names = new Set();
  for (let i = 0; i < recording.requests; i++) if (ofLevel(i)) names.add(workloadOf(i));
  const flows = [...names].sort();
  flowOf.replaceChildren(...flows.map(name => new Option(name, name)));
  const legend = $("#legend");
  legend.replaceChildren(...flows.flatMap(name => {
    const mark = document.createElement("i");
    mark.style.background = `var(--line${colourOf(name)})`;
    return [mark, name + "  "];
  }));
  const l = recording.levels[level];
  legend.append(l.queues > 0 ? `Each small square is a request: above in a seat, below in ${l.queues === 1 ? "the queue" : "one of " + l.queues + " queues"}. ${l.queues === 1 ? "It" : `A hand has ${l.handSize} of them; a queue`} holds ${l.queueLengthLimit}.` :
    "Each small square is a request in a seat. This level has no queues: it rejects a request that finds no seat.");
  moveTo(recording.fromNs);
}

function moveTo(t) {
  now = Math.max(recording.fromNs, Math.min(recording.toNs, t));
  slider.value = String(Math.round(1000 * (now - recording.fromNs) / (recording.toNs - recording.fromNs || 1)));
  slider.setAttribute("aria-valuetext", seconds(now));
  draw();
}

// step moves to the next or the previous event.
function step(forward) {
  pause();
  const t = forward ? times.find(t => t > now) : times.findLast(t => t < now);
  if (t !== undefined) moveTo(t);
}

function pause() {
  cancelAnimationFrame(playing);
  playing = 0;
  play.textContent = "▶ Play";
  play.setAttribute("aria-label", "Play");
}

function start() {
  if (now >= recording.toNs) now = recording.fromNs;
  play.textContent = "⏸ Pause";
  play.setAttribute("aria-label", "Pause");
  let last = performance.now();
  const frame = at => {
    moveTo(now + (at - last) * Number(speed.value) / 1e3);
    last = at;
    if (now >= recording.toNs) return pause();
    playing = requestAnimationFrame(frame);
  };
  playing = requestAnimationFrame(frame);
}

// stateAt returns what is at the level at a time: requests by queue, and those in seats.
function stateAt(t) {
  const l = recording.levels[level], queues = Array.from({ length: Math.max(l.queues, ...recording.queue.map(q => 0), 0) }, () => []), seats = [];
  let turned = 0;
  for (let i = 0; i < recording.requests && recording.arrivalNs[i] <= t; i++) {
    if (!ofLevel(i)) continue;
    if (waiting(i, t)) (queues[recording.queue[i]] ||= []).push(i);
    else if (executing(i, t)) seats.push(i);
    else if (recording.left[i] >= 2 && recording.endNs[i] >= recording.fromNs) turned++;
  }
  return { queues, seats, turned };
}

let cells = []; // what was drawn where: [x, y, size, request]

function draw() {
  if (!recording || !times || !colours || !canvas.clientWidth) return;
  const l = recording.levels[level], state = stateAt(now), width = canvas.clientWidth || 320, limit = limitAt(now);
  const inUse = state.seats.reduce((n, i) => n + recording.seats[i], 0), waits = state.queues.reduce((n, q) => n + q.length, 0);
  const seatCount = Math.max(limit, ...state.seats.map(i => Math.max(...(slots.get(i) || [0])) + 1));
  const seat = Math.max(5, Math.min(18, Math.floor(Math.sqrt(width * 110 / Math.max(1, seatCount))))), perRow = Math.max(1, Math.floor(width / seat));
  const seatRows = Math.ceil(seatCount / perRow), top = 4, queueTop = top + seatRows * seat + 26, columns = l.queues || 0;
  const column = columns ? width / columns : 0, deepest = l.queueLengthLimit || 1;
  const cell = columns ? Math.max(2, Math.min(14, column - (column > 4 ? 1 : 0), 320 / deepest)) : 0;
  const height = queueTop + (columns ? deepest * cell + 22 : 0), scale = devicePixelRatio || 1;
  if (drawnAt !== width + "×" + height + "×" + scale) {
    drawnAt = width + "×" + height + "×" + scale;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  cells = [];
  const hand = followed >= 0 ? recording.flows[recording.flow[followed]].hand : [];
  const square = (x, y, size, i) => {
    c.fillStyle = colours.workloads[colourOf(workloadOf(i))];
    c.globalAlpha = followed >= 0 && recording.flow[i] !== recording.flow[followed] ? .35 : 1;
    c.fillRect(x, y, Math.max(1, size - 1), Math.max(1, size - 1));
    c.globalAlpha = 1;
    if (i === followed) { c.strokeStyle = colours.ink; c.lineWidth = 2; c.strokeRect(x - 1, y - 1, size + 1, size + 1); }
    cells.push([x, y, size, i]);
  };
  c.strokeStyle = colours.line;
  c.lineWidth = 1;
  for (let s = 0; s < seatCount; s++) {
    const x = (s % perRow) * seat, y = top + Math.floor(s / perRow) * seat;
    if (s < limit) c.strokeRect(x + .5, y + .5, seat - 2, seat - 2);
  }
  for (const i of state.seats) for (const s of slots.get(i) || []) square((s % perRow) * seat, top + Math.floor(s / perRow) * seat, seat, i);
  c.fillStyle = colours.soft;
  c.font = "12px system-ui, sans-serif";
  if (columns) c.fillText("queues: the oldest request of each is at the top", 0, queueTop - 8);
  for (let q = 0; q < columns; q++) {
    const x = q * column;
    if (column >= 4) { c.fillStyle = colours.line; c.fillRect(x, queueTop, Math.max(1, column - 1), deepest * cell); c.fillStyle = colours.card; c.fillRect(x + .5, queueTop, Math.max(1, column - 2), deepest * cell - .5); }
    (state.queues[q] || []).forEach((i, k) => square(x + Math.max(0, (column - cell) / 2), queueTop + k * cell, cell, i));
    if (hand.includes(q)) {
      const middle = x + column / 2, y = queueTop + deepest * cell + 3;
      c.fillStyle = recording.queue[followed] === q ? colours.ink : colours.soft;
      c.beginPath();
      c.moveTo(middle, y); c.lineTo(middle - 5, y + 9); c.lineTo(middle + 5, y + 9);
      c.fill();
    }
  }
  if (hand.length && columns) {
    c.fillStyle = colours.soft;
    c.font = "11px system-ui, sans-serif";
    const y = height - 1;
    c.fillText("▲ hand of the followed request", 0, y);
  }
  const text = `${seconds(now)}: ${inUse} of ${limit} seats in use, ${waits} requests waiting, ${state.turned} rejected since ${seconds(recording.fromNs)}`;
  $("#moment").textContent = text;
  canvas.setAttribute("aria-label", `Queues and seats of ${l.name} at ${text}. Space plays and pauses, left and right step.`);
  if (table.open) fillTable(state);
  if (followed >= 0) tellFollowed();
}

function fillTable(state) {
  const rows = state.queues.map((q, i) => [i, q]).filter(([, q]) => q && q.length).sort((a, b) => b[1].length - a[1].length).slice(0, 50);
  const make = (name, ...children) => { const e = document.createElement(name); e.append(...children); return e; };
  const t = make("table", make("thead", make("tr", ...["Queue", "Waiting", "Oldest is of", "Has waited"].map(h => make("th", h)))),
    make("tbody", ...rows.map(([i, q]) => make("tr", make("th", String(i)), make("td", String(q.length)), make("td", recording.flows[recording.flow[q[0]]].name), make("td", ms(now - recording.arrivalNs[q[0]]))))));
  table.querySelector("div").replaceChildren(rows.length ? t : make("p", "All queues are empty."));
}

// tellFollowed says where the followed request is.
function tellFollowed() {
  const i = followed, flow = recording.flows[recording.flow[i]], sentences = [`Request ${recording.number[i]} of ${workloadOf(i)} (flow ${flow.name}) arrived at ${seconds(recording.arrivalNs[i])}.`];
  if (flow.hand.length) sentences.push(`Its flow has the queues ${flow.hand.join(", ")} in its hand.`);
  if (recording.queue[i] >= 0 && flow.hand.length && (recording.dispatchNs[i] > recording.arrivalNs[i] || recording.dispatchNs[i] < 0)) sentences.push(`Of these, queue ${recording.queue[i]} had the least work, so it waits there.`);
  const left = recording.left[i], end = recording.endNs[i];
  if (recording.dispatchNs[i] >= 0) {
    const waited = recording.dispatchNs[i] - recording.arrivalNs[i], n = recording.seats[i];
    sentences.push(`It ${waited ? "waited for " + ms(waited) + " and" : "did not wait: it"} got ${n === 1 ? "a seat" : n + " seats"} at ${seconds(recording.dispatchNs[i])}.`);
    if (end >= 0) sentences.push(left === 1 ? `Its ${n === 1 ? "seat was" : "seats were"} free again at ${seconds(end)}.` : `It ended at ${seconds(end)}: ${LEFT[left]}.`);
  } else if (end >= 0) {
    sentences.push(recording.queue[i] < 0 ? "It was rejected at once: all queues of its hand were full." : `It was ${LEFT[left]} at ${seconds(end)}.`);
  } else {
    sentences.push("It was still waiting at the end of the run.");
  }
  const text = sentences.join(" ");
  if ($("#followed").textContent !== text) $("#followed").textContent = text;
}

// followNext follows the next request of the chosen workload, and moves to its arrival.
function followNext() {
  const after = followed >= 0 && workloadOf(followed) === flowOf.value ? followed : -1;
  let next = -1, waits = -1;
  for (let i = after + 1; i < recording.requests; i++) {
    if (!ofLevel(i) || workloadOf(i) !== flowOf.value || recording.arrivalNs[i] < now && after < 0) continue;
    if (next < 0) next = i;
    if (recording.queue[i] >= 0 && recording.dispatchNs[i] > recording.arrivalNs[i]) { waits = i; break; } // one that waits has more to show
    if (i > next + 500) break;
  }
  followed = waits >= 0 ? waits : next;
  if (followed < 0) { $("#followed").textContent = "There is no later request of this workload in the recording."; return; }
  pause();
  moveTo(Math.max(recording.fromNs, recording.arrivalNs[followed]));
  tellFollowed();
}

play.addEventListener("click", () => playing ? pause() : start());
$("#step").addEventListener("click", () => step(true));
$("#step-back").addEventListener("click", () => step(false));
slider.addEventListener("input", () => { pause(); moveTo(recording.fromNs + slider.value / 1000 * (recording.toNs - recording.fromNs)); });
$("#level").addEventListener("change", e => { level = recording.levels.findIndex(l => l.name === e.target.value); followed = -1; $("#followed").textContent = ""; chooseLevel(); });
$("#follow").addEventListener("click", followNext);
$("#record").addEventListener("click", () => again(Math.round(Math.max(0, Number($("#from").value.replace(",", ".")) || 0) * 1e9)));
table.addEventListener("toggle", draw);
canvas.addEventListener("keydown", e => {
  const keys = { " ": () => playing ? pause() : start(), ArrowRight: () => step(true), ArrowLeft: () => step(false), Home: () => moveTo(recording.fromNs), End: () => moveTo(recording.toNs) };
  if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  keys[e.key]();
});
canvas.addEventListener("click", e => {
  const hit = cells.findLast(([x, y, size]) => e.offsetX >= x && e.offsetX < x + size && e.offsetY >= y && e.offsetY < y + size);
  if (!hit) return;
  followed = hit[3];
  flowOf.value = workloadOf(followed);
  draw();
});
new ResizeObserver(draw).observe(canvas);
