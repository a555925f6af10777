// Package releases runs trials through the drivers of other releases of Kubernetes. The README of
// this folder describes what a driver is.
package releases

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"apfsim/lab/conformance/trial"
)

//go:embed versions.txt
var versions string

// Versions returns the names of the releases that have a driver, the oldest first.
func Versions() []string {
	var names []string
	for line := range strings.Lines(versions) {
		names = append(names, strings.Fields(line)[0])
	}
	return names
}

// Build builds the driver of a release in a folder and returns its path. source is the path of this
// package.
func Build(source, folder, version string) (driver string, err error) {
	driver, err = filepath.Abs(filepath.Join(folder, "driver-"+version))
	if err != nil {
		return "", err
	}
	out, err := exec.Command(filepath.Join(source, "build"), version, driver).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build the driver of %s: %v\n%s", version, err, out)
	}
	return driver, nil
}

// Drive returns what a driver makes of some trials.
func Drive(driver string, trials []*trial.Trial) ([]trial.Result, error) {
	folder, err := os.MkdirTemp("", "driver")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	input, output := filepath.Join(folder, "trials"), filepath.Join(folder, "results")
	if err := writeLines(input, trials); err != nil {
		return nil, err
	}
	command := exec.Command(driver, "-test.run", "^TestDrive$", "-test.timeout", "24h", "-trials", input, "-results", output)
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %v\n%s", driver, err, out)
	}
	file, err := os.Open(output)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	results := make([]trial.Result, len(trials))
	decoder := json.NewDecoder(file)
	for i := range results {
		if err := decoder.Decode(&results[i]); err != nil {
			return nil, fmt.Errorf("%s: result %d: %v", driver, i+1, err)
		}
	}
	return results, nil
}

func writeLines(file string, trials []*trial.Trial) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(f)
	for _, t := range trials {
		if err := encoder.Encode(t); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}
