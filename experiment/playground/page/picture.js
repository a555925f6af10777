// The moving pictures: the queues and seats of a priority level over virtual time, drawn from the recordings of runs. A player
// moves one picture, or several at the same time.

const ms = ns => {
  const a = Math.abs(ns);
  return a === 0 ? "0 ms" : a < 999.5e3 ? +(ns / 1e3).toPrecision(3) + " µs" : a < 999.5e6 ? +(ns / 1e6).toPrecision(3) + " ms" : +(ns / 1e9).toPrecision(4) + " s";
};
const seconds = ns => (ns / 1e9).toFixed(4) + " s";
const LEFT = ["", "served", "rejected", "timed out in its queue", "its server ended"];
const COLOURS = 6; // of lines in the style sheet, after that of text
const SPEEDS = [[20, "whole in 20 s"], [60, "whole in 1 min"], [300, "whole in 5 min"], [5, "whole in 5 s"]];

const make = (name, ...children) => { const e = document.createElement(name); e.append(...children); return e; };

let colours;
const players = [];
export function recolour() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const get = name => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  colours = { ink: get("ink"), soft: get("soft"), line: get("line"), card: get("card"), workloads: Array.from({ length: COLOURS + 1 }, (_, i) => get("line" + i)) };
  probe.remove();
  for (const p of players) p.draw();
}

// Picture is the picture of one recording. Its player says which level and which time it shows.
class Picture {
  constructor(player) {
    this.player = player;
    this.root = document.querySelector("#one-picture").content.firstElementChild.cloneNode(true);
    const part = name => this.root.querySelector("." + name);
    this.canvas = part("canvas");
    this.caption = part("caption");
    this.moment = part("moment");
    this.table = part("table");
    this.followed = -1;
    this.drawn = []; // what was drawn where: [x, y, size, request]
    this.table.addEventListener("toggle", () => this.draw());
    this.canvas.addEventListener("keydown", e => player.key(e));
    this.canvas.addEventListener("click", e => {
      const hit = this.drawn.findLast(([x, y, size]) => e.offsetX >= x && e.offsetX < x + size && e.offsetY >= y && e.offsetY < y + size);
      if (hit) player.followed(this, hit[3]);
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // show takes a recording, and the level of a name. It returns the times at which something happens there.
  show(recording, name) {
    this.recording = recording;
    this.level = recording.levels.findIndex(l => l.name === name);
    this.followed = -1;
    const times = [];
    for (let i = 0; i < recording.requests; i++) if (this.ofLevel(i)) times.push(recording.arrivalNs[i], recording.dispatchNs[i], recording.endNs[i]);
    this.assignSlots();
    return times;
  }

  // waiting and executing say whether a request is in that state at a time.
  waiting(i, t) {
    const r = this.recording;
    return r.queue[i] >= 0 && r.arrivalNs[i] <= t && (r.dispatchNs[i] < 0 || r.dispatchNs[i] > t) && (r.endNs[i] < 0 || r.endNs[i] > t);
  }
  executing(i, t) {
    const r = this.recording;
    return r.dispatchNs[i] >= 0 && r.dispatchNs[i] <= t && (r.endNs[i] < 0 || r.endNs[i] > t);
  }
  ofLevel(i) { return this.recording.flows[this.recording.flow[i]].level === this.level; }
  workloadOf(i) { return this.recording.workloads[this.recording.workload[i]] ?? "other"; }

  // assignSlots gives each request the lowest free seats at its dispatch, so that it stays at its place while it executes.
  assignSlots() {
    const { recording } = this, events = [], used = [];
    this.slots = new Map();
    for (let i = 0; i < recording.requests; i++) {
      if (!this.ofLevel(i) || recording.dispatchNs[i] < 0) continue;
      events.push([recording.dispatchNs[i], 1, i]);
      if (recording.endNs[i] >= 0) events.push([recording.endNs[i], 0, i]);
    }
    events.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    for (const [, begins, i] of events) {
      if (!begins) {
        for (const s of this.slots.get(i) || []) used[s] = false;
        continue;
      }
      const own = [];
      for (let s = 0; own.length < recording.seats[i]; s++) if (!used[s]) { used[s] = true; own.push(s); }
      this.slots.set(i, own);
    }
  }

  // stateAt returns what is at the level at a time: requests by queue, and those in seats.
  stateAt(t) {
    const { recording } = this, queues = Array.from({ length: recording.levels[this.level].queues }, () => []), seats = [];
    let turned = 0;
    for (let i = 0; i < recording.requests && recording.arrivalNs[i] <= t; i++) {
      if (!this.ofLevel(i)) continue;
      if (this.waiting(i, t)) (queues[recording.queue[i]] ||= []).push(i);
      else if (this.executing(i, t)) seats.push(i);
      else if (recording.left[i] >= 2 && recording.endNs[i] >= recording.fromNs) turned++;
    }
    return { queues, seats, turned };
  }

  draw() {
    const { recording, player, canvas } = this, now = player.now, width = canvas.clientWidth;
    if (!recording || !colours || !width) return;
    if (this.level < 0) {
      canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
      this.moment.textContent = "This level does not exist here, or no request reached it.";
      return;
    }
    const l = recording.levels[this.level], state = this.stateAt(now), limit = l.limits.reduce((limit, l) => l.atNs <= now ? l.value : limit, 0);
    const inUse = state.seats.reduce((n, i) => n + recording.seats[i], 0), waits = state.queues.reduce((n, q) => n + q.length, 0);
    const seatCount = Math.max(limit, ...state.seats.map(i => Math.max(...(this.slots.get(i) || [0])) + 1));
    const seat = Math.max(5, Math.min(18, Math.floor(Math.sqrt(width * 110 / Math.max(1, seatCount))))), perRow = Math.max(1, Math.floor(width / seat));
    const seatRows = Math.ceil(seatCount / perRow), top = 4, queueTop = top + seatRows * seat + 26, columns = l.queues;
    const column = columns ? width / columns : 0, deepest = l.queueLengthLimit || 1;
    const cell = columns ? Math.max(2, Math.min(14, column - (column > 4 ? 1 : 0), 320 / deepest)) : 0;
    const height = queueTop + (columns ? deepest * cell + 22 : 0), scale = devicePixelRatio || 1, size = width + "×" + height + "×" + scale;
    if (this.size !== size) {
      this.size = size;
      canvas.style.height = height + "px";
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    this.drawn = [];
    const followed = this.followed, hand = followed >= 0 ? recording.flows[recording.flow[followed]].hand : [];
    const square = (x, y, size, i) => {
      c.fillStyle = colours.workloads[player.colourOf(this.workloadOf(i))];
      c.globalAlpha = followed >= 0 && recording.flow[i] !== recording.flow[followed] ? .35 : 1;
      c.fillRect(x, y, Math.max(1, size - 1), Math.max(1, size - 1));
      c.globalAlpha = 1;
      if (i === followed) { c.strokeStyle = colours.ink; c.lineWidth = 2; c.strokeRect(x - 1, y - 1, size + 1, size + 1); }
      this.drawn.push([x, y, size, i]);
    };
    c.strokeStyle = colours.line;
    c.lineWidth = 1;
    for (let s = 0; s < limit; s++) c.strokeRect((s % perRow) * seat + .5, top + Math.floor(s / perRow) * seat + .5, seat - 2, seat - 2);
    for (const i of state.seats) for (const s of this.slots.get(i) || []) square((s % perRow) * seat, top + Math.floor(s / perRow) * seat, seat, i);
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
      c.fillText("▲ hand of the followed request", 0, height - 1);
    }
    const text = `${seconds(now)}: ${inUse} of ${limit} seats in use, ${waits} requests waiting, ${state.turned} rejected since ${seconds(recording.fromNs)}`;
    this.moment.textContent = text;
    const which = this.caption.hidden ? "" : this.caption.textContent + ". ";
    canvas.setAttribute("aria-label", `${which}Queues and seats of ${l.name} at ${text}. Space plays and pauses, left and right step.`);
    if (this.table.open) this.fillTable(state);
  }

  fillTable(state) {
    const { recording } = this, now = this.player.now;
    const rows = state.queues.map((q, i) => [i, q]).filter(([, q]) => q.length).sort((a, b) => b[1].length - a[1].length).slice(0, 50);
    const head = text => { const e = make("th", text); e.scope = "col"; return e; };
    const t = make("table", make("thead", make("tr", ...["Queue", "Waiting", "Oldest is of", "Has waited"].map(head))),
      make("tbody", ...rows.map(([i, q]) => {
        const queue = make("th", String(i));
        queue.scope = "row";
        return make("tr", queue, make("td", String(q.length)), make("td", recording.flows[recording.flow[q[0]]].name), make("td", ms(now - recording.arrivalNs[q[0]])));
      })));
    this.table.querySelector("div").replaceChildren(rows.length ? t : make("p", "All queues are empty."));
  }

  // story says where a request is.
  story(i) {
    const { recording } = this, flow = recording.flows[recording.flow[i]], sentences = [`Request ${recording.number[i]} of ${this.workloadOf(i)} (flow ${flow.name}) arrived at ${seconds(recording.arrivalNs[i])}.`];
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
    return sentences.join(" ");
  }

  // next returns the next request of a workload after one, or after a time: rather one that waits, which has more to show.
  next(workload, after, now) {
    const { recording } = this;
    let next = -1;
    for (let i = after + 1; i < recording.requests; i++) {
      if (!this.ofLevel(i) || this.workloadOf(i) !== workload || recording.arrivalNs[i] < now && after < 0) continue;
      if (next < 0) next = i;
      if (recording.queue[i] >= 0 && recording.dispatchNs[i] > recording.arrivalNs[i]) return i;
      if (i > next + 500) break;
    }
    return next;
  }
}

// Player shows recordings beside each other, and moves them in time together.
export class Player {
  // The elements of the player are put into root. onFollow is called with the workload of a followed request, and the sentences
  // about it; "" for none.
  constructor(root, { onFollow = null } = {}) {
    players.push(this);
    root.append(document.querySelector("#player").content.cloneNode(true));
    const part = name => root.querySelector("." + name);
    Object.assign(this, { root, onFollow, now: 0, playing: 0, pictures: [], holder: part("pictures"), slider: part("time"), button: part("play"), speed: part("speed"), levels: part("level"), legend: part("legend") });
    this.button.addEventListener("click", () => this.playing ? this.pause() : this.start());
    part("step").addEventListener("click", () => this.step(true));
    part("step-back").addEventListener("click", () => this.step(false));
    this.slider.addEventListener("input", () => { this.pause(); this.moveTo(this.from + this.slider.value / 1000 * (this.to - this.from)); });
    this.levels.addEventListener("change", () => this.chooseLevel());
  }

  // show shows recordings, of which each has a caption if there are several. It returns whether there is something to see.
  show(recordings, captions = []) {
    this.pause();
    this.recordings = recordings;
    this.names = [...new Set(recordings.flatMap(r => r.workloads))];
    this.from = Math.max(...recordings.map(r => r.fromNs));
    this.to = Math.min(...recordings.map(r => r.toNs));
    if (this.pictures.length !== recordings.length) this.pictures = recordings.map(() => new Picture(this));
    this.holder.replaceChildren(...this.pictures.map(p => p.root));
    this.pictures.forEach((p, k) => {
      p.caption.hidden = !captions[k];
      p.caption.textContent = captions[k] || "";
      p.table.querySelector("div").setAttribute("aria-label", "Queues at this moment" + (captions[k] ? ", " + captions[k] : ""));
    });
    const counts = new Map(); // of requests, by level
    for (const r of recordings) for (const f of r.flow) { const name = r.levels[r.flows[f].level].name; counts.set(name, (counts.get(name) || 0) + 1); }
    if (!counts.size) return false;
    const kept = this.levels.value, most = [...counts].reduce((a, b) => b[1] > a[1] ? b : a)[0];
    this.levels.replaceChildren(...[...counts].map(([name, n]) => new Option(`${name} (${n.toLocaleString("en")} requests)`, name)));
    this.levels.value = counts.has(kept) ? kept : most;
    this.speed.replaceChildren(...SPEEDS.map(([s, text]) => new Option(text, String((this.to - this.from) / s))));
    this.chooseLevel();
    return true;
  }

  colourOf(name) { return 1 + Math.max(0, this.names.indexOf(name)) % COLOURS; }

  chooseLevel() {
    const set = new Set([this.from, this.to]), names = new Set();
    this.pictures.forEach((p, k) => {
      for (const t of p.show(this.recordings[k], this.levels.value)) if (t >= this.from && t <= this.to) set.add(t);
      for (let i = 0; i < p.recording.requests; i++) if (p.ofLevel(i)) names.add(p.workloadOf(i));
    });
    this.times = [...set].sort((a, b) => a - b);
    this.workloads = [...names].sort();
    this.legend.replaceChildren(...this.workloads.flatMap(name => {
      const mark = make("i");
      mark.style.background = `var(--line${this.colourOf(name)})`;
      return [mark, name + "  "];
    }));
    const l = this.pictures.filter(p => p.level >= 0).map(p => p.recording.levels[p.level]), one = l[0];
    const alike = l.every(o => o.queues === one.queues && o.handSize === one.handSize && o.queueLengthLimit === one.queueLengthLimit);
    this.legend.append(!alike ? "Each small square is a request: above in a seat, below in a queue." :
      one.queues > 0 ? `Each small square is a request: above in a seat, below in ${one.queues === 1 ? "the queue" : "one of " + one.queues + " queues"}. ${one.queues === 1 ? "It" : `A hand has ${one.handSize} of them; a queue`} holds ${one.queueLengthLimit}.` :
        "Each small square is a request in a seat. This level has no queues: it rejects a request that finds no seat.");
    this.legend.append(` Shown: ${+(this.from / 1e9).toFixed(3)} s to ${+(this.to / 1e9).toFixed(3)} s of the run.`);
    if (this.onFollow) this.onFollow("", "");
    this.moveTo(this.from);
  }

  moveTo(t) {
    this.now = Math.max(this.from, Math.min(this.to, t));
    this.slider.value = String(Math.round(1000 * (this.now - this.from) / (this.to - this.from || 1)));
    this.slider.setAttribute("aria-valuetext", seconds(this.now));
    this.draw();
  }

  draw() { for (const p of this.pictures) p.draw(); }

  // step moves to the next or the previous event.
  step(forward) {
    this.pause();
    const t = forward ? this.times.find(t => t > this.now) : this.times.findLast(t => t < this.now);
    if (t !== undefined) this.moveTo(t);
  }

  pause() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.button.textContent = "▶ Play";
  }

  start() {
    if (this.now >= this.to) this.now = this.from;
    this.button.textContent = "⏸ Pause";
    let last = performance.now();
    const frame = at => {
      this.moveTo(this.now + (at - last) * Number(this.speed.value) / 1e3);
      last = at;
      if (this.now >= this.to) return this.pause();
      this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
  }

  key(e) {
    const keys = { " ": () => this.playing ? this.pause() : this.start(), ArrowRight: () => this.step(true), ArrowLeft: () => this.step(false), Home: () => this.moveTo(this.from), End: () => this.moveTo(this.to) };
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  }

  // followed follows a request of a picture.
  followed(picture, i) {
    if (!this.onFollow) return;
    picture.followed = i;
    this.onFollow(picture.workloadOf(i), picture.story(i));
    picture.draw();
  }

  // followNext follows the next request of a workload, and moves to its arrival.
  followNext(workload) {
    const [p] = this.pictures, now = p.followed >= 0 && p.workloadOf(p.followed) === workload ? p.followed : -1, next = p.next(workload, now, this.now);
    this.pause();
    if (next < 0) {
      p.followed = -1;
      this.onFollow(workload, "There is no later request of this workload in the recording.");
      return p.draw();
    }
    this.followed(p, next);
    this.moveTo(Math.max(this.from, p.recording.arrivalNs[next]));
  }
}
