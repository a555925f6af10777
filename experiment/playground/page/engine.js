// How calls of the page reach the simulator: a worker that runs it as WebAssembly, or the program that has served the page.
// An engine has call(name, arguments, progress, signal), which resolves to the answer, or rejects with an Error.

const aborted = () => new DOMException("cancelled", "AbortError");

function spawn(module) {
  const worker = new Worker("worker.js");
  worker.postMessage({ module });
  const calls = new Map();
  let last = 0, failed = null;
  const fail = why => { failed = why; for (const c of calls.values()) c.reject(why); calls.clear(); };
  worker.onmessage = ({ data }) => {
    if (data.ended) {
      worker.terminate();
      return fail(new Error(`the simulator has ended, probably because this is too large or too deep for a browser: ${data.ended}`));
    }
    const c = calls.get(data.id);
    if (!c) return;
    if (data.answer === undefined) return c.progress(data.share);
    calls.delete(data.id);
    c.resolve(JSON.parse(data.answer));
  };
  worker.onerror = e => { e.preventDefault(); fail(new Error(e.message || "the worker failed")); };
  return {
    call: (name, args, progress = () => {}) => new Promise((resolve, reject) => {
      if (failed) return reject(failed);
      calls.set(++last, { resolve, reject, progress });
      worker.postMessage({ id: last, name, text: JSON.stringify(args) });
    }),
    end: why => { worker.terminate(); fail(why); },
  };
}

// AFTER_ANSWER_MS is how long after an answer the next worker starts: the page shows the answer first.
const AFTER_ANSWER_MS = 300;

// workerEngine runs short calls in one worker and each long one in a worker of its own, which waits for it: to start the
// program takes longer than many runs.
function workerEngine() {
  const compiled = fetch("apfsim.wasm").then(response => {
    if (!response.ok) throw new Error(`apfsim.wasm cannot be loaded: ${response.status}`);
    const streamed = response.headers.get("Content-Type") === "application/wasm"; // which not all servers know
    return streamed ? WebAssembly.compileStreaming(response) : response.arrayBuffer().then(bytes => WebAssembly.compile(bytes));
  });
  let common = null, next = null;
  compiled.then(module => { common ??= spawn(module); next ??= spawn(module); }, () => {}); // each call says why it fails
  return {
    where: "on this page",
    async call(name, args, progress, signal) {
      const module = await compiled;
      if (!signal) {
        common ??= spawn(module);
        return common.call(name, args).catch(e => { common = null; throw e; });
      }
      if (signal.aborted) throw aborted();
      const worker = next ?? spawn(module), cancel = () => worker.end(aborted());
      next = null;
      signal.addEventListener("abort", cancel);
      try {
        return await worker.call(name, args, progress);
      } finally {
        signal.removeEventListener("abort", cancel);
        worker.end(aborted());
        setTimeout(() => { next ??= spawn(module); }, AFTER_ANSWER_MS);
      }
    },
  };
}

// nativeEngine calls the program that has served the page. A response is lines of JSON: shares of progress, then the answer.
function nativeEngine() {
  return {
    where: "by the program on this machine",
    async call(name, args, progress = () => {}, signal) {
      const response = await fetch("call/" + name, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(args), signal });
      if (!response.ok) throw new Error(`the program answers ${response.status}: ${await response.text()}`);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        text += value || "";
        const lines = text.split("\n");
        text = lines.pop();
        for (const line of lines) {
          const { share, answer } = JSON.parse(line);
          if (answer) return answer;
          progress(share);
        }
        if (done) throw new Error("the program has ended");
      }
    },
  };
}

export const engine = document.querySelector("meta[name=engine]").content === "native" ? nativeEngine() : workerEngine();
