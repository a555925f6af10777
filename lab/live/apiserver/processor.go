package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"apfsim/live/guard"
)

// Seconds are the processor seconds that the programs have taken so far.
type Seconds struct{ Server, Etcd float64 }

// Processor returns the processor seconds of both programs, by their metrics. The client may read those of the server.
func (s *Server) Processor(ctx context.Context, client *http.Client) (all Seconds, err error) {
	if all.Server, err = processorSeconds(ctx, client, s.URL); err != nil {
		return all, err
	}
	all.Etcd, err = processorSeconds(ctx, http.DefaultClient, s.EtcdURL)
	return all, err
}

func processorSeconds(ctx context.Context, client *http.Client, url string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := guard.ReadAll(response.Body, guard.MostAnswer)
	if err != nil {
		return 0, err
	}
	_, value, found := strings.Cut(string(text), "\nprocess_cpu_seconds_total ")
	value, _, _ = strings.Cut(value, "\n")
	seconds, err := strconv.ParseFloat(value, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("%s/metrics has no process_cpu_seconds_total", url)
	}
	return seconds, nil
}
