//go:build js

// Playground answers the calls of the playground's page as WebAssembly: a worker of a browser runs it
// (experiment/playground/page/worker.js). It sets the function apfsimCall and waits for calls. Go compiles it with GOOS=js and
// GOARCH=wasm only; make playground does.
package main

import (
	"context"
	"runtime/debug"
	"syscall/js"

	"apfsim/experiment/playground"
)

// A worker has one thread, which garbage collection takes from the run: a cycle that has begun stays open while the run goes on,
// and each write of a pointer costs more until then. Most runs allocate less than a hundred megabytes in all, and the memory is
// given back with the worker, so that no garbage is collected until there are this many bytes.
const memoryLimit = 512 << 20

// apfsimCall(name, arguments, progress) returns the answer. Both are JSON. The worker does nothing else until then:
// a call is ended by ending its worker.
func main() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	js.Global().Set("apfsimCall", js.FuncOf(func(_ js.Value, args []js.Value) any {
		progress := func(share float64) { args[2].Invoke(share) }
		return string(playground.Call(context.Background(), args[0].String(), []byte(args[1].String()), progress))
	}))
	select {}
}
