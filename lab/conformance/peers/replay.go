package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"apfsim/experiment/output"
)

// recordCommand is the command with which the program starts itself to write the request log that a regime
// replays. Its arguments are the name of the regime, the number of requests, and a folder. It is a process of its
// own, so that the memory of this run is not in the measurement.
const recordCommand = "record"

// recorded writes a request log of the regime's scenario into a folder, and returns the regime that replays it.
func recorded(r *regime, requests int, dir string) (*regime, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := runOutput(exec.CommandContext(context.Background(), self, recordCommand, r.name, strconv.Itoa(requests), dir)); err != nil {
		return nil, fmt.Errorf("recording a run: %w", err)
	}
	again := *r
	again.files = os.DirFS(dir)
	again.set = append(r.set[:len(r.set):len(r.set)],
		fmt.Sprintf("spec.workload=[{name: replay, arrivals: {trace: {file: %s}}}]", output.RequestsFile))
	return &again, nil
}

// recordRequests is the process that writes the request log, and the scenario file beside it.
func recordRequests(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s: want regime, requests, folder", recordCommand)
	}
	r := find(regimes, args[0], func(r *regime) string { return r.name })
	requests, err := strconv.Atoi(args[1])
	if r == nil || err != nil || requests < 1 {
		return fmt.Errorf("%s: %q is not a regime, a number of requests and a folder", recordCommand, args)
	}
	dir := args[2]
	l, err := r.load()
	if err != nil {
		return err
	}
	if _, err := simulate(r, l, requests, dir); err != nil {
		return err
	}
	sc, err := r.scenario(0)
	if err != nil {
		return err
	}
	log := filepath.Join(output.Folder(dir, sc.Metadata.Name), output.RequestsFile)
	if err := os.Rename(log, filepath.Join(dir, output.RequestsFile)); err != nil {
		return err
	}
	text, err := scenarios.ReadFile(r.file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.file), text, 0o666)
}
