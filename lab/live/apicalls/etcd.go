package apicalls

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"apfsim/live/guard"
)

// history is what etcd says of the writes of a sequence. Answers do not tell all: not the revisions of
// deletions, and not which ones other writers have made.
type history struct {
	url    string
	cancel context.CancelFunc
	events chan []write // in order of their revisions; closed when the watch has ended
	failed error        // why, once it is closed
}

// write is a revision of etcd.
type write struct {
	revision int64
	key      string
}

// etcd answers on its JSON gateway; a key and the end of a range that are a zero byte are all keys.
const (
	anyKey    = "AA=="
	readOne   = `{"key":"` + anyKey + `","count_only":true}`
	watchFrom = `{"create_request":{"key":"` + anyKey + `","range_end":"` + anyKey + `","start_revision":%d}}`
)

// newHistory watches all keys of an etcd from now on.
func newHistory(ctx context.Context, url string) (*history, error) {
	ctx, cancel := context.WithCancel(ctx)
	h := &history{url: url, cancel: cancel, events: make(chan []write, 1<<16)}
	from, err := h.revision(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v3/watch", strings.NewReader(fmt.Sprintf(watchFrom, from+1)))
	if err != nil {
		cancel()
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		cancel()
		return nil, err
	}
	go h.read(response)
	return h, nil
}

// read sends what the watch receives to the channel until the watch ends.
func (h *history) read(response *http.Response) {
	defer close(h.events)
	defer response.Body.Close()
	in := json.NewDecoder(response.Body)
	for {
		var line struct {
			Result struct {
				Events []struct {
					KV struct {
						Key         string
						ModRevision int64 `json:"mod_revision,string"`
					}
				}
			}
		}
		if h.failed = in.Decode(&line); h.failed != nil {
			return
		}
		var writes []write
		for _, e := range line.Result.Events {
			key, err := base64.StdEncoding.DecodeString(e.KV.Key)
			if err != nil {
				h.failed = err
				return
			}
			writes = append(writes, write{e.KV.ModRevision, string(key)})
		}
		h.events <- writes
	}
}

// revision returns the latest revision.
func (h *history) revision(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v3/kv/range", bytes.NewReader([]byte(readOne)))
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, guard.MostAnswer)).Decode(&answer); err != nil {
		return 0, fmt.Errorf("etcd: %w", err)
	}
	return answer.Header.Revision, nil
}

// until returns all writes since the start of the watch, when it has received those up to a revision.
func (h *history) until(ctx context.Context, revision, start int64) ([]write, error) {
	var all []write
	for last := start; last < revision; {
		select {
		case writes, open := <-h.events:
			if !open {
				return nil, fmt.Errorf("the watch of etcd ended: %w", h.failed)
			}
			all = append(all, writes...)
			if len(all) > 0 {
				last = all[len(all)-1].revision
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return all, nil
}
