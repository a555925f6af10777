// Directjumps makes the jumps of a WebAssembly program direct that Go has compiled. The same run takes a fifth less time then.
//
//	directjumps FILE
//
// Go compiles a jump as the choice of a number, and a branch back to the beginning of the function, where a table of branches
// leads to the place of that number. A place that comes later in the function can be branched to at once, which V8 compiles
// much better. The file is replaced. It is left as it was if it is not WebAssembly as Go writes it.
package main

import (
	"fmt"
	"io"
	"os"

	"apfsim/internal/atomicfile"
)

func main() { os.Exit(run(os.Stdout, os.Stderr, os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(stdout, stderr io.Writer, args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: directjumps FILE")
		return 2
	}
	if err := replace(stdout, args[0]); err != nil {
		fmt.Fprintf(stderr, "directjumps: %s: %v\n", args[0], err)
		return 1
	}
	return 0
}

// replace makes the jumps of a program direct.
func replace(stdout io.Writer, file string) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, n, err := convert(before)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(file, after); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d of %d jumps are direct\n", file, n.direct, n.jumps)
	return nil
}
