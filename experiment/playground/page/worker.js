// A worker that runs the simulator. It gets the compiled program once, and then calls. The page ends it to cancel a call, and
// after each run, which gives the memory back.
"use strict";
importScripts("wasm_exec.js");
// From here on, nothing in this worker can reach the network, whatever it reads.
for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport", "importScripts", "Worker"]) self[name] = undefined;

let ready;
self.onmessage = async ({ data }) => {
  if (data.module) {
    const go = new Go();
    ready = WebAssembly.instantiate(data.module, go.importObject).then(instance => {
      go.run(instance).then(() => self.postMessage({ ended: "it has stopped" })); // it ends only if it panics
    });
    return;
  }
  await ready;
  let last = 0;
  let answer;
  try {
    answer = self.apfsimCall(data.name, data.text, share => {
      const now = performance.now();
      if (now - last < 50) return;
      last = now;
      self.postMessage({ id: data.id, share });
    });
  } catch (e) { // such as an overflow of the stack, after which the program cannot go on
    self.postMessage({ ended: String(e) });
    return;
  }
  self.postMessage({ id: data.id, answer });
};
