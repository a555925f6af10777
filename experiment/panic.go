package experiment

import (
	"fmt"
	"runtime/debug"
)

// Panic is an error instead of a panic: a defect of the program, which the user can only report.
type Panic struct {
	Run   string // the run in which it happened; "" if in none
	Seed  uint64 // of the run
	Value any    // what the program panicked with
	Stack []byte
}

// Error implements error.
func (p *Panic) Error() string {
	if p.Run != "" {
		return fmt.Sprintf("%s: internal error: %v", p.Run, p.Value)
	}
	return fmt.Sprintf("internal error: %v", p.Value)
}

// Recover turns a panic into the error err, of type *Panic. It must be deferred. A goroutine without it would
// end the process before files that are being written can be removed.
func Recover(err *error) {
	if value := recover(); value != nil {
		*err = &Panic{Value: value, Stack: debug.Stack()}
	}
}
