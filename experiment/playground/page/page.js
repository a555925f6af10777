import { engine } from "./engine.js";
import { editor } from "./editor.js";
import { story, valuesAt } from "./story.js";
import { Player, recolour } from "./picture.js";

const $ = (selector, within = document) => within.querySelector(selector);
const make = (name, attributes = {}, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
};

// What is set. A link has all of it but what was dropped.
const state = {
  library: "elephants-and-mice", // "" for a text that is nobody's
  original: "", // text of the library
  name: "", // which of several scenarios
  values: {}, // of the controls that were moved, by path
  seed: "", // "" for that of the scenario
  config: "", // dropped objects
  files: {}, // of a dropped log, as the simulator reads it
  dropped: "", // the file that the text comes from
  step: -1, // of the story
};
let checked = null; // the answer of the latest check
let checking = 0, running = null, kept = null, latest = null;
let log = null; // the files of the log that is shown, and what is known of its server: { files, config, metrics }

const status = text => { $("#status").textContent = text; };
const text = editor($("#editor"), () => { clearTimeout(checking); checking = setTimeout(() => check(), 300); });

// setting returns what is set as a call takes it.
function setting() {
  const summary = current();
  const set = summary ? summary.controls.filter(c => c.path in state.values).map(c => `${c.path}=${state.values[c.path]}${c.unit}`) : [];
  return { text: text.text, name: state.name, set, config: state.config, files: state.files, seed: state.seed === "" ? null : Number(state.seed) };
}
const current = () => checked && (checked.scenarios.find(s => s.name === state.name) || checked.scenarios[0]);

// check asks for the errors of the text, and shows its controls. It returns whether there are no errors.
async function check() {
  const answer = await ask("check", { ...setting(), set: [] });
  if (!answer) return false;
  showErrors(answer.errors || []);
  if (answer.errors) return false;
  checked = answer;
  const summary = current();
  state.name = summary.name;
  $("#description").textContent = summary.description;
  $("#part").replaceChildren(...answer.scenarios.map(s => new Option(s.name, s.name)));
  $("#part").value = summary.name;
  for (const e of document.querySelectorAll(".several")) e.hidden = answer.scenarios.length < 2;
  for (const path of Object.keys(state.values)) if (!summary.controls.some(c => c.path === path)) delete state.values[path];
  showControls(summary);
  return true;
}

// ask calls the engine for a short answer. What goes wrong with the call itself is shown, and null returned.
async function ask(name, args) {
  try {
    return await engine.call(name, args);
  } catch (e) {
    status(e.message);
    return null;
  }
}

function showErrors(all) {
  text.errors = all;
  if (all.length && !$("#yaml").open && all.some(e => !e.file && e.line)) $("#yaml").open = true;
  $("#errors").replaceChildren(...all.slice(0, 30).map(e => {
    const place = e.line ? `${e.file ? e.file + ", line" : "Line"} ${e.line}: ` : e.file ? e.file + ": " : "", what = make("span", {}, `${place}${e.path ? e.path + ": " : ""}${e.message}`);
    if (e.file || !e.line) return make("li", {}, what);
    const button = make("button", { type: "button", class: "link" }, what);
    button.addEventListener("click", () => { $("#yaml").open = true; text.goto(e.line, e.column); });
    return make("li", {}, button);
  }));
}

function showControls(summary) {
  const only = state.step >= 0 ? story[state.step].move : null;
  $("#sliders").replaceChildren(...summary.controls.map((c, i) => {
    const id = "control-" + i, value = state.values[c.path] ?? c.value;
    const range = make("input", { type: "range", id, min: c.minimum, max: c.maximum, step: c.step, value });
    const out = make("output", { for: id });
    const show = () => { out.textContent = `${range.value}${c.unit ? (c.unit.startsWith("/") ? "" : " ") + c.unit : ""}`; range.setAttribute("aria-valuetext", out.textContent); };
    range.value = String(value);
    show();
    range.addEventListener("input", () => { state.values[c.path] = Number(range.value); show(); remember(); });
    range.addEventListener("change", () => { if (state.step >= 0) run(); });
    return make("div", { class: "control" + (c.name === only ? " move" : "") }, make("label", { for: id }, c.name), out, range);
  }));
  $("#seed").placeholder = String(summary.seed);
}

// fresh forgets what was set, but the objects of the reader.
function fresh(next) {
  Object.assign(state, { library: "", original: "", name: "", values: {}, seed: "", files: {}, dropped: "" }, next);
  log = null;
  $("#again").hidden = true;
  $("#seed").value = "";
  $("#nobodys").textContent = state.dropped || "A scenario of your own";
}

// open shows a scenario of the library.
async function open(name) {
  const answer = await ask("scenario", { name });
  if (!answer || answer.errors) { if (answer) status(answer.errors[0].message); return false; }
  fresh({ library: name, original: answer.text });
  $("#scenario").value = name;
  text.text = answer.text;
  return check();
}

// run runs what is set, in a worker of its own.
async function run(fromNs = 0) {
  cancel();
  const mine = running = new AbortController();
  if (!checked && !await check()) return;
  $("#cancel").hidden = $("#progress").hidden = false;
  status("Running…");
  const began = performance.now();
  const started = setting();
  let answer;
  try {
    answer = await engine.call("run", { ...started, recording: { server: 0, fromNs, requests: 20000 } }, share => { $("#progress").value = share; }, mine.signal);
  } catch (e) {
    if (running === mine) { finish(); status(e.name === "AbortError" ? "Cancelled." : e.message); }
    return;
  }
  if (running !== mine) return;
  finish();
  if (answer.errors) { showErrors(answer.errors); status("The scenario has errors."); return; }
  showErrors([]);
  status(`Simulated in ${((performance.now() - began) / 1e3).toFixed(1)} s with seed ${answer.seed}. Fingerprint of the decisions: ${answer.fingerprint}.`);
  const mood = { harm: "bad", ok: "good" }[answer.status] || "";
  $("#answer").className = "answer " + mood;
  $("#answer").replaceChildren(make("b", {}, (answer.status || "").toUpperCase()), " " + answer.sentence);
  frame($("#report"), answer.page);
  if (answer.recording) showPicture(answer.recording);
  if (state.step >= 0) tellStory(answer);
  latest = answer;
  remember();
}

// The moving picture of the run.
const film = new Player($("#picture .film"), {
  onFollow: (workload, sentences) => {
    if (workload) $("#flow").value = workload;
    else $("#flow").replaceChildren(...film.workloads.map(name => new Option(name, name)));
    if ($("#followed").textContent !== sentences) $("#followed").textContent = sentences;
  },
});
function showPicture(recording) {
  $("#picture").hidden = false; // a picture that is not shown has no width
  $("#picture").hidden = !film.show([recording]);
  $("#from").value = String(recording.fromNs / 1e9);
}
$("#follow").addEventListener("click", () => film.followNext($("#flow").value));
$("#record").addEventListener("click", () => run(Math.round(Math.max(0, Number($("#from").value.replace(",", ".")) || 0) * 1e9)));

function finish() {
  running = null;
  $("#cancel").hidden = $("#progress").hidden = true;
  $("#progress").value = 0;
}

function cancel() {
  if (running) running.abort();
  running = null;
}

// frame shows a page in a frame that is as high as the page. The policy of this page holds there, too: of all scripts, only
// that of reports is run.
function frame(holder, page) {
  holder.hidden = false;
  const old = $("iframe", holder), next = old.cloneNode();
  next.addEventListener("load", () => {
    const fit = () => { next.style.height = `${Math.ceil(next.contentDocument.body.getBoundingClientRect().height) + 2}px`; };
    fit();
    // The landmarks of a report are told from those of this page and of the other report by the names of the frames.
    for (const e of next.contentDocument.querySelectorAll("header, main, footer, .screen")) {
      e.setAttribute("aria-label", next.title + (e.ariaLabel ? ": " + e.ariaLabel : ""));
    }
    new ResizeObserver(fit).observe(next.contentDocument.body);
  });
  next.srcdoc = theming(page);
  old.replaceWith(next);
}
// The page in a frame has the theme of this one.
function theming(page) {
  const theme = document.documentElement.dataset.theme;
  return theme ? page.replace('<html lang="en">', `<html lang="en" data-theme="${theme}">`) : page;
}

// The story.
async function tell(step, moved = {}) {
  state.step = step;
  const at = story[step];
  $("#story").hidden = false;
  $("#scenario").value = "story";
  $("#story-step").textContent = `First story: step ${step + 1} of ${story.length}`;
  $("#story-title").textContent = at.title;
  $("#story-text").textContent = at.text;
  $("#story-move").replaceChildren("Now: ", make("b", {}, at.move), ". " + at.hint);
  $("#story-result").replaceChildren();
  $("#story-back").disabled = step === 0;
  $("#story-next").textContent = step === story.length - 1 ? "End" : "Next";
  latest = null;
  if (at.scenario) {
    if (!await open(at.scenario)) return;
  } else {
    const response = await fetch("story.yaml");
    fresh({});
    text.text = await response.text();
    if (!await check()) return;
  }
  const values = valuesAt(step);
  for (const c of current().controls) if (c.name in values) state.values[c.path] = values[c.name];
  Object.assign(state.values, moved);
  showControls(current());
  await run();
}

// What a step has changed: of each workload, what was rejected and how long the others waited.
const wait = ns => ns == null ? "–" : ns < 1e6 ? "less than 1 ms" : ns < 999.5e6 ? `${+(ns / 1e6).toPrecision(3)} ms` : `${+(ns / 1e9).toPrecision(3)} s`;
const share = w => w.arrived ? `${+(100 * w.rejected / w.arrived).toPrecision(3)} %` : "–";
function tellStory(answer) {
  const before = latest && latest.workloads, cell = (w, what) => make("td", {}, w ? what(w) : "–");
  const columns = before ? ["before", "now"] : ["now"];
  $("#story-result").replaceChildren(make("table", {},
    make("caption", {}, "What happened to the requests"),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Clients"), ...columns.map(c => make("th", { scope: "col" }, `rejected, ${c}`)), ...columns.map(c => make("th", { scope: "col" }, `99 % of the others waited at most, ${c}`)))),
    make("tbody", {}, ...answer.workloads.map(w => {
      const all = before ? [before.find(o => o.name === w.name), w] : [w];
      return make("tr", {}, make("th", { scope: "row" }, w.name), ...all.map(o => cell(o, share)), ...all.map(o => cell(o, o => wait(o.waitP99Ns))));
    }))));
}

$("#story-next").addEventListener("click", async () => {
  if (state.step === story.length - 1) return leave();
  await tell(state.step + 1);
  $("#story-title").focus();
});
$("#story-back").addEventListener("click", () => tell(state.step - 1));
$("#story-leave").addEventListener("click", leave);
async function leave() {
  if (running) { cancel(); finish(); }
  const was = state.step;
  state.step = -1;
  $("#story").hidden = true;
  if (story[was] && !story[was].scenario) { await open("elephants-and-mice"); run(); }
  else showControls(current());
  remember();
}

// A link has the scenario, the controls and the seed, in its fragment, which browsers send to nobody.
async function packed(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
async function fragment() {
  if (state.dropped) return ""; // a file of the reader stays here
  const link = { values: state.values, seed: state.seed, name: state.name };
  if (state.step >= 0) link.step = state.step;
  else if (state.library && text.text === state.original) link.library = state.library;
  else link.text = text.text;
  const bytes = await packed(new TextEncoder().encode(JSON.stringify(link)), new CompressionStream("deflate-raw"));
  return "#" + btoa(Array.from(bytes, b => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
let remembering = 0;
function remember() {
  const mine = ++remembering;
  fragment().then(f => { if (mine === remembering) history.replaceState(null, "", f || location.pathname); });
}
// MAX_LINK bounds the text of a link, which may come from anybody.
const MAX_LINK = 1 << 20;
async function follow(fragment) {
  const bytes = Uint8Array.from(atob(fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.length) > MAX_LINK) throw new Error("it is too long");
    chunks.push(value);
  }
  const link = JSON.parse(await new Blob(chunks).text());
  const values = {};
  for (const [path, value] of Object.entries(link.values || {})) if (Number.isFinite(value)) values[path] = value;
  if (Number.isInteger(link.step) && story[link.step]) return tell(link.step, values);
  if (typeof link.text === "string") {
    fresh({});
    $("#scenario").value = "";
    text.text = link.text;
    state.name = String(link.name || "");
    if (!await check()) return;
  } else {
    if (!await open(String(link.library || "elephants-and-mice"))) return;
    if (typeof link.name === "string" && checked.scenarios.some(s => s.name === link.name)) { state.name = link.name; await check(); }
  }
  for (const c of current().controls) if (c.path in values) state.values[c.path] = Math.min(c.maximum, Math.max(c.minimum, values[c.path]));
  if (/^[0-9]{1,15}$/.test(link.seed || "")) $("#seed").value = state.seed = link.seed;
  showControls(current());
  await run();
}

// Files of the reader: they stay in this page.
const MAX_FILE = 32 << 20;
const LOG = /\bauditID\b|audit\.k8s\.io\/v|HTTP\\*" +verb=/; // what a line of a log has
async function isLog(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return head[0] === 0x1f && head[1] === 0x8b || LOG.test(await file.slice(0, 1 << 16).text());
}
const METRICS = /^(# (HELP|TYPE) )?apiserver_/m;
const say = words => { $("#dropped").textContent = words; $("#own").open = true; };
async function droppedAll(files) {
  $("#imported").hidden = true;
  if (files.reduce((n, f) => n + f.size, 0) > MAX_FILE) return say(`${files.map(f => f.name).join(", ")}: more than ${MAX_FILE >> 20} MiB. Use the program, or a part.`);
  const logs = [], others = [];
  let metrics = "";
  for (const f of files) {
    if (await isLog(f)) logs.push(f);
    else if (METRICS.test(await f.slice(0, 1 << 16).text())) metrics = await f.text();
    else others.push(f);
  }
  let objects = false;
  for (const f of others) objects = await dropped(f, logs.length || log) || objects;
  if (logs.length) return readLog({ files: logs, config: state.config, metrics });
  if (log && (objects || metrics)) return readLog({ ...log, config: state.config || log.config, metrics: metrics || log.metrics });
  if (metrics) say("Metrics are used when a log is read: drop both together.");
}
// dropped takes a file that is no log. It returns whether that are objects, which are run unless a log is read with them.
async function dropped(file, read) {
  const content = await file.text();
  if (!content.trim()) { say(`${file.name} cannot be used: it is empty.`); return false; }
  if (/^kind: *["']?Scenario\b/m.test(content)) {
    show(content, file.name);
    if (await check()) { say(`${file.name} is a scenario. It runs now.`); run(); } else say(`${file.name} is a scenario with errors.`);
    return false;
  }
  const before = state.config;
  state.config = content;
  const answer = await ask("check", setting());
  if (!answer || answer.errors) {
    state.config = before;
    if (answer) showErrors(answer.errors);
    say(`${file.name} cannot be used: ${answer ? answer.errors[0].message : $("#status").textContent}.`);
    return false;
  }
  if (read) return true;
  $("#forget").hidden = false;
  const notes = answer.scenarios[0].warnings.map(w => w.message);
  say(`The objects of ${file.name} take the place of those of the scenario.${notes.length ? " " + notes.slice(0, 5).join(". ") + "." : ""} A link that you copy does not have them.`);
  run();
  return true;
}
// show shows a scenario that comes from a file.
function show(content, name, files = {}) {
  if (state.step >= 0) { state.step = -1; $("#story").hidden = true; }
  fresh({ files, dropped: name });
  $("#scenario").value = "";
  text.text = content;
}
// base64 returns the content of a file as a call takes it.
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
// readLog makes a scenario of the logs of servers, with what is known of them.
async function readLog(read) {
  cancel();
  const { files, config, metrics } = read, fit = $("#fit").checked;
  const mine = running = new AbortController(), names = files.map(f => f.name).join(" and ");
  $("#cancel").hidden = $("#progress").hidden = false;
  $("#progress").removeAttribute("value"); // nobody knows how long it takes
  say("");
  status(`Reading ${names}…`);
  let answer;
  try {
    const logs = await Promise.all(files.map(async f => ({ name: f.name, content: await base64(f), modifiedMs: f.lastModified })));
    if (running !== mine) return;
    answer = await engine.call("import", { logs, config, metrics, zone: $("#zone").value.trim(), fit }, () => {}, mine.signal);
  } catch (e) {
    if (running !== mine) return;
    finish();
    const cancelled = e.name === "AbortError";
    status(cancelled ? "Cancelled." : "");
    return cancelled || say(`${names} cannot be used: ${e.message}.`);
  }
  if (running !== mine) return;
  finish();
  status("");
  if (answer.errors) return say(`${names} cannot be used: ${answer.errors.map(e => e.message).join("; ")}.`);
  show(answer.text, names, answer.files);
  log = read;
  state.config = ""; // the scenario has the objects
  $("#forget").hidden = true;
  $("#again").hidden = false;
  const n = x => x.toLocaleString("en");
  say(`${names}: ${n(answer.of)} ${answer.of === 1 ? "request" : "requests"}, ${fit ? "to which this scenario is fitted" : `of which this scenario replays ${n(answer.requests)}`}.${answer.badLines ? ` ${n(answer.badLines)} lines could not be read.` : ""}${config ? " The configuration is that of your cluster." : ""} No link has them.`);
  $("#imported").hidden = false;
  $("#imported pre").textContent = answer.printed;
  if (await check()) run();
}
addEventListener("dragover", e => e.preventDefault());
addEventListener("drop", e => { e.preventDefault(); if (e.dataTransfer.files.length) droppedAll([...e.dataTransfer.files]); });
$("#file").addEventListener("change", e => { if (e.target.files.length) droppedAll([...e.target.files]); });
$("#again").addEventListener("click", () => readLog(log));
$("#forget").addEventListener("click", () => { state.config = ""; $("#forget").hidden = true; $("#file").value = ""; $("#dropped").textContent = ""; run(); });

// Controls.
$("#scenario").addEventListener("change", async e => {
  if (e.target.value === "story") return tell(0);
  state.step = -1;
  $("#story").hidden = true;
  if (await open(e.target.value)) run();
});
$("#part").addEventListener("change", async e => { state.name = e.target.value; state.values = {}; await check(); run(); });
$("#controls").addEventListener("submit", e => { e.preventDefault(); run(); });
$("#cancel").addEventListener("click", () => { cancel(); finish(); status("Cancelled."); });
$("#reset").addEventListener("click", async () => {
  if (state.step >= 0) return tell(state.step);
  if (state.library) await open(state.library);
  else { state.values = {}; showControls(current()); }
  remember();
});
$("#seed").addEventListener("input", e => { if (/^[0-9]{0,15}$/.test(e.target.value)) state.seed = e.target.value; else e.target.value = state.seed; });
$("#share").addEventListener("click", async () => {
  const f = await fragment();
  if (!f) return status(`There is no link: this comes from ${state.dropped}, a file of yours, and stays on this page.`);
  history.replaceState(null, "", f);
  try { await navigator.clipboard.writeText(location.href); status("The link is copied." + (state.config ? " It does not have the file that you loaded." : "")); } catch { status("The address of this page is the link."); }
});

// Two settings.
$("#keep").addEventListener("click", () => {
  if (!current()) return;
  kept = { setting: setting(), words: told() };
  $("#comparing").disabled = false;
  $("#kept").textContent = `A is kept: ${kept.words}.`;
});
// told says what is set, by the names of the controls that were moved.
const told = () => {
  const moved = current().controls.filter(c => c.path in state.values).map(c => `${c.name} ${state.values[c.path]}${c.unit && !c.unit.startsWith("/") ? " " : ""}${c.unit}`);
  return `${current().name}${moved.length ? " with " + moved.join(", ") : ""}${state.config ? ", with your objects" : ""}`;
};
// long makes a call that can take a while, in a section with a place for its page.
async function long(section, name, args) {
  cancel();
  const mine = running = new AbortController();
  $("#cancel").hidden = $("#progress").hidden = false;
  status("Computing…");
  try {
    const answer = await engine.call(name, args, share => { $("#progress").value = share; }, mine.signal);
    if (running !== mine) return;
    finish();
    if (answer.errors) return status(answer.errors.map(e => e.message).join("; "));
    status("Done.");
    if (answer.page) {
      frame($(".framed", section), answer.page);
      return answer;
    }
    const out = $("pre", section);
    out.hidden = false;
    out.textContent = answer.printed;
  } catch (e) {
    if (running === mine) { finish(); status(e.message); }
  }
}
$("#comparing").addEventListener("click", async () => {
  if (!current()) return;
  const a = kept, seeds = Math.min(20, Math.max(1, parseInt($("#seeds").value, 10) || 5)), captions = [`A: ${a.words}`, `B: ${told()}`];
  $("#kept").textContent = captions.join(". ") + ".";
  const answer = await long($("#compare"), "compare", { base: a.setting, head: { ...setting(), seed: a.setting.seed }, seeds, recording: { server: 0, fromNs: 0, requests: 20000 } });
  if (!answer) return;
  const holder = $("#compare .film");
  holder.hidden = false; // a picture that is not shown has no width
  holder.hidden = !both.show(answer.recordings, captions);
});
const both = new Player($("#compare .film")); // of A and B

// Questions.
$("#explain form").addEventListener("submit", async e => {
  e.preventDefault();
  const answer = await ask("explain", { ...setting(), ...Object.fromEntries(new FormData(e.target)) });
  const out = $("#explain pre");
  out.hidden = false;
  if (answer) out.textContent = answer.errors ? answer.errors.map(m => `${m.path ? m.path + ": " : ""}${m.message}`).join("\n") : answer.printed;
});
const numbers = value => value.split(/[\s,]+/).filter(Boolean).map(Number);
$("#collisions form").addEventListener("submit", e => {
  e.preventDefault();
  const args = Object.fromEntries([...new FormData(e.target)].map(([name, value]) => [name, numbers(value)]));
  if (Object.values(args).flat().some(n => !Number.isInteger(n))) return status("The hand sizes, queues and elephants are whole numbers.");
  long($("#collisions"), "collisions", args);
});

// The theme is that of the system until the reader chooses one.
const dark = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
function setTheme(name) {
  if (name) root.dataset.theme = name; else delete root.dataset.theme;
  const next = (name || (dark.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark";
  $("#theme").textContent = next;
  $("#theme").setAttribute("aria-label", next + " colours");
  recolour();
  for (const f of document.querySelectorAll("iframe[srcdoc]")) {
    const page = f.srcdoc.replace(/<html lang="en"[^>]*>/, '<html lang="en">');
    if (page) f.srcdoc = theming(page);
  }
}
$("#theme").addEventListener("click", () => {
  const name = $("#theme").textContent.toLowerCase();
  try { localStorage.setItem("apfsim-theme", name); } catch { /* no storage: not remembered */ }
  setTheme(name);
});
dark.addEventListener("change", () => setTheme(root.dataset.theme));
let theme;
try { theme = localStorage.getItem("apfsim-theme"); } catch { /* as above */ }
setTheme(theme === "dark" || theme === "light" ? theme : undefined);

// Begin.
addEventListener("unhandledrejection", e => { finish(); status("The page has failed: " + e.reason); });
$("#where").textContent = engine.where;
const library = ask("library", {}).then(answer => {
  if (!answer) return false;
  $("#release").textContent = `(by default, Kubernetes ${answer.release})`;
  $("#scenario").append(...answer.groups.map(g =>
    make("optgroup", { label: g.title }, ...g.scenarios.map(s => make("option", { value: s.name, title: s.title }, s.name)))));
  return true;
});
let followed = false;
if (location.hash.length > 1 && !["#results"].includes(location.hash) && await library) {
  followed = await follow(location.hash).then(() => true, e => { status(`The link cannot be read: ${e.message}`); return false; });
}
if (!followed) await tell(0);
if (await library) ask("schema", {}).then(answer => { if (answer && answer.schema) text.schema = answer.schema; }); // the first view does not need it
document.body.dataset.ready = "true";
