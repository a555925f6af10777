//go:build js

// Playground answers the calls of the playground's page as WebAssembly: a worker of a browser runs it
// (experiment/playground/page/worker.js). It sets the function apfsimCall and waits for calls. Go compiles it with GOOS=js and
// GOARCH=wasm only; make playground does.
package main

import (
	"context"
	"syscall/js"

	"apfsim/experiment/playground"
)

// apfsimCall(name, arguments, progress) returns the answer. Both are JSON. The worker does nothing else until then:
// a call is ended by ending its worker.
func main() {
	js.Global().Set("apfsimCall", js.FuncOf(func(_ js.Value, args []js.Value) any {
		progress := func(share float64) { args[2].Invoke(share) }
		return string(playground.Call(context.Background(), args[0].String(), []byte(args[1].String()), progress))
	}))
	select {}
}
