package ours

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"apfsim/experiment/output"
	"apfsim/lab/conformance/trial"
	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/quantity"
)

// Metrics returns the metrics that apfsim writes of a trial, replayed as by Replay, by the
// time of the sample in milliseconds and by their names with labels. A sample is taken at
// every multiple of the interval, up to the last sample of the trial.
func Metrics(t *trial.Trial, intervalNs int64) (map[int64]map[string]float64, error) {
	sc, err := toScenario(t)
	if err != nil {
		return nil, err
	}
	sc.Spec.Duration = quantity.Duration(t.SamplesNs[len(t.SamplesNs)-1])
	run := sim.New(sc, sim.IgnoreDeadlines)
	var text bytes.Buffer
	m := record.NewOpenMetrics(&text, sc, run.Servers(), output.Epoch, intervalNs)
	run.Observe(m.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		return nil, err
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	samples := map[int64]map[string]float64{}
	own := strings.NewReplacer(`instance="trial",`, "", `job="apiserver",`, "", `{instance="trial",job="apiserver"}`, "")
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(own.Replace(line))
		if len(fields) != 3 {
			return nil, fmt.Errorf("no sample: %s", line)
		}
		value, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, err
		}
		seconds, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, err
		}
		ms := int64(math.Round(1000 * (seconds - float64(output.Epoch.Unix()))))
		if samples[ms] == nil {
			samples[ms] = map[string]float64{}
		}
		samples[ms][fields[0]] = value
	}
	return samples, nil
}
