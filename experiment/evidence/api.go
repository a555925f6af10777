package evidence

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
)

// selectors are the queries of Prometheus.Ask: one for each metric, so that no answer is too large.
var selectors = []string{
	metrics.RejectedTotal, metrics.DispatchedTotal, metrics.WaitSeconds + `_bucket{execute="true"}`, metrics.WaitSeconds + `_count{execute="true"}`, metrics.ExecutionSeconds + "_sum", metrics.ExecutionSeconds + "_count",
	metrics.QueueLength + "_bucket", metrics.EstimatedSeats + "_sum", metrics.EstimatedSeats + "_count", metrics.EstimatedSeats + `_bucket{le="1"}`, metrics.NoAccommodation,
	metrics.SeatUtilization + "_sum", metrics.SeatUtilization + "_count", metrics.SeatUtilization + `_bucket{le=~"0.99|1|1.0"}`, metrics.RequestUtilization + `_sum{phase="waiting"}`, metrics.RequestUtilization + `_count{phase="waiting"}`,
	metrics.DemandSeats + "_sum", metrics.DemandSeats + "_count", metrics.NominalLimit, metrics.ConcurrencyLimit, metrics.LowerLimit, metrics.UpperLimit, metrics.CurrentLimit, metrics.DemandAverage, metrics.DemandHigh, metrics.DemandSmoothed,
	metrics.ExecutingSeats, metrics.ConcurrencyInUse, metrics.InQueue, requestTotal + `{code="429"}`,
}

// importSelectors are the further queries of an import.
var importSelectors = []string{metrics.ExecutionSeconds + "_bucket", metrics.EstimatedSeats + "_bucket", metrics.ExecutingRequests, buildInfo}

// Prometheus is a server of Prometheus' HTTP API, of which samples are read.
type Prometheus struct {
	URL      string
	From, To time.Time
	Import   bool               // ask for what an import needs, too
	Asked    func(query string) // is called with each query; nil to call nothing
}

// mostHours bounds how long a time is asked for: the samples of a large cluster fill the memory otherwise.
const mostHours = 24

// Ask asks for the samples of the series of flow control, as they were scraped. Each answer is a file of a diagnosis. It only reads.
func (p *Prometheus) Ask(ctx context.Context) ([]File, error) {
	base, err := url.Parse(p.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%q: want the URL of Prometheus, such as http://localhost:9090", format.Printable(p.URL))
	}
	length := p.To.Sub(p.From)
	if length < time.Second || length > mostHours*time.Hour {
		return nil, fmt.Errorf("the time from %s to %s: want 1 s to %d h", p.From.Format(time.RFC3339), p.To.Format(time.RFC3339), mostHours)
	}
	api := base.JoinPath("api/v1/query")
	var files []File
	all := selectors
	if p.Import {
		all = slices.Concat(selectors, importSelectors)
	}
	for _, selector := range all {
		text, err := p.query(ctx, api, fmt.Sprintf("%s[%ds]", selector, int64(length.Seconds())))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base.Redacted(), err)
		}
		if text != nil {
			name, _, _ := strings.Cut(selector, "{")
			files = append(files, File{Name: name, Kind: incident.QueryRange, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, BeginMs: p.From.UnixMilli()})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no series of flow control between %s and %s", base.Redacted(), p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
	}
	return files, nil
}

// query returns the answer to a query at the end of the time, nil if it has no series.
func (p *Prometheus) query(ctx context.Context, api *url.URL, query string) ([]byte, error) {
	if p.Asked != nil {
		p.Asked(query)
	}
	at := *api
	at.RawQuery = url.Values{"query": {query}, "time": {strconv.FormatInt(p.To.Unix(), 10)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) { // which has the whole URL
			err = failed.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	text, err := readAll(response.Body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error string `json:"error"`
		queried
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("the answer to %s %s", query, otherText(text))
	}
	if answer.Error != "" || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the query %s failed: %s", query, cmp.Or(format.Printable(answer.Error), response.Status))
	}
	if bytes.Equal(bytes.TrimSpace(answer.Data.Result), []byte("[]")) {
		return nil, nil
	}
	return text, nil
}
