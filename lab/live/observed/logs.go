// Package observed reads the logs and the metrics that a kube-apiserver wrote during a run.
package observed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/serverlog"
)

// Logs are what the logs of a server say of the requests whose audit IDs have a prefix.
type Logs struct {
	HTTP        map[string]serverlog.Entry // by audit ID
	Audit       map[string]serverlog.Entry // by audit ID, of those that are complete
	Adjustments []Adjustment               // in the order of time
}

// Adjustment is one adjustment of the limits.
type Adjustment struct {
	At     time.Time
	Limits map[string]int // by level
}

// ReadLogs reads both logs of a server that is on this machine.
func ReadLogs(httpLog, auditLog, prefix string) (*Logs, error) {
	l := &Logs{HTTP: map[string]serverlog.Entry{}, Audit: map[string]serverlog.Entry{}}
	options := logfile.Options{Reference: time.Now(), Zone: time.Local, Adjusted: l.adjusted}
	if err := l.read(httpLog, options, prefix); err != nil {
		return nil, err
	}
	if err := l.read(auditLog, options, prefix); err != nil {
		return nil, err
	}
	slices.SortStableFunc(l.Adjustments, func(a, b Adjustment) int { return a.At.Compare(b.At) })
	return l, nil
}

func (l *Logs) read(file string, options logfile.Options, prefix string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	reader, err := logfile.Open(f, file, options)
	if err != nil {
		return err
	}
	for {
		var e serverlog.Entry
		switch err := reader.Next(&e); {
		case err == io.EOF:
			return nil
		case errors.As(err, new(*serverlog.Problem)): // a message of several lines, or the line that is being written
		case err != nil:
			return err
		case !strings.HasPrefix(e.AuditID, prefix) || e.Stage != serverlog.Complete:
		case e.Log == serverlog.HTTP:
			l.HTTP[e.AuditID] = e
		default:
			l.Audit[e.AuditID] = e
		}
	}
}

// adjusted adds a level's limit to the adjustment of that time, which takes less than a second.
func (l *Logs) adjusted(a httplog.Adjustment) {
	at := time.Unix(0, a.TimeNs)
	if n := len(l.Adjustments); n == 0 || at.Sub(l.Adjustments[n-1].At) > time.Second {
		l.Adjustments = append(l.Adjustments, Adjustment{At: at, Limits: map[string]int{}})
	}
	l.Adjustments[len(l.Adjustments)-1].Limits[a.PriorityLevel] = a.Limit
}

// WaitForAdjustment returns when the limits were first adjusted after a time, as soon as the server has logged it.
func WaitForAdjustment(ctx context.Context, httpLog string, after time.Time) (time.Time, error) {
	f, err := os.Open(httpLog)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	const often = 20 * time.Millisecond
	var unread []byte // the beginning of the line that is being written
	for ; time.Since(after) < time.Minute; time.Sleep(often) {
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
		more, err := io.ReadAll(f)
		if err != nil {
			return time.Time{}, err
		}
		unread = append(unread, more...)
		end := bytes.LastIndexByte(unread, '\n') + 1
		for line := range bytes.Lines(unread[:end]) {
			if !bytes.Contains(line, []byte("Update CurrentCL")) {
				continue
			}
			var l Logs
			reader, err := logfile.Open(bytes.NewReader(line), httpLog, logfile.Options{Reference: time.Now(), Zone: time.Local, Adjusted: l.adjusted})
			if err != nil {
				return time.Time{}, err
			}
			for err == nil {
				err = reader.Next(new(serverlog.Entry))
			}
			if len(l.Adjustments) == 1 && l.Adjustments[0].At.After(after) {
				return l.Adjustments[0].At, nil
			}
		}
		unread = append(unread[:0], unread[end:]...)
	}
	return time.Time{}, errors.New(`kube-apiserver has not logged an adjustment of the limits for a minute; want a line "Update CurrentCL" every 10 s`)
}
