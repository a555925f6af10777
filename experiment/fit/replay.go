package fit

import (
	"bufio"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"

	"apfsim/experiment/fit/shape"
	"apfsim/sim/trace"
)

// item is a workload of the scenario.
type item struct {
	node  *yaml.Node
	kinds []*workload // of requests

	file    io.WriteCloser // of its requests, while they are written
	lines   *bufio.Writer
	written int64
}

// TracesFolder is the folder beside the scenario to which the requests of replayed workloads are written.
const TracesFolder = "traces"

// Replay replaces workloads of the scenario, by their indexes in the report, by replays of their requests: no process
// that a scenario can have has their bursts. The requests are read once more, and written to the files that create
// creates, whose names are relative to the scenario. Why says of each workload what is not as recorded.
func (f *Fitted) Replay(why map[int]string, create func(name string) (io.WriteCloser, error)) (err error) {
	byWorkload := map[*workload]*item{}
	defer func() {
		for _, it := range byWorkload {
			if it.file != nil {
				err = errors.Join(err, it.lines.Flush(), it.file.Close())
				it.file = nil
			}
		}
	}()
	for i := range f.Report.Workloads {
		reason, ok := why[i]
		if !ok {
			continue
		}
		w, it := &f.Report.Workloads[i], f.fitter.items[i]
		name := TracesFolder + "/" + w.Name + ".jsonl"
		if it.file, err = create(name); err != nil {
			return err
		}
		it.lines = bufio.NewWriter(it.file)
		for _, k := range it.kinds {
			byWorkload[k] = it
		}
		*it.node = yaml.Node{Kind: yaml.MappingNode}
		shape.SetField(it.node, "name", shape.ValueNode(w.Name))
		shape.SetField(it.node, "arrivals", shape.ValueNode(map[string]any{"trace": map[string]any{"file": name}}))
		w.NotFitted = append(w.NotFitted, Bursts)
		w.Notes = append(w.Notes, "not fitted: bursts; as "+w.Arrivals+", "+reason+"; all requests are replayed as they were, so that the number of clients cannot be changed")
		w.Arrivals = "replayed"
	}
	var line []byte
	var failed error
	err = EachEntry(f.open, f.fitter.options.File, func(e *Entry) {
		s := f.fitter.stream(e)
		if failed != nil || s == nil || s.leftOut || byWorkload[s.workload] == nil {
			return
		}
		it := byWorkload[s.workload]
		it.written++
		r := e.Record
		r.ID = it.written
		line = trace.AppendRecord(line[:0], &r)
		_, failed = it.lines.Write(line)
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	f.Scenario, err = f.fitter.text()
	return err
}
