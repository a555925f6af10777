// Listcpu measures how much processor time of a kube-apiserver and of its etcd a list from etcd takes, and how long the list takes. A
// server that works for a list on one core at a time takes at least its processor time. See lab/list-costs.md.
//
//	listcpu [-repository DIR] [-lists N] [-profile DIR] OBJECTSxBYTES...
//
// For each argument, it starts a server without a watch cache for configmaps, fills it with so many configmaps of so many bytes, and
// sends one list after the other, with a selector that matches none. It prints the least latency, the median, the processor
// times of a list, and their quotients with the median. With -profile, it writes the profiles of the processor of the server there. Exit status:
// 0 everything was measured; 1 something failed; 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"apfsim/lab/live/apiserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status)
}

// size is what is stored.
type size struct{ objects, bytes int }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("listcpu", flag.ContinueOnError)
	flags.SetOutput(stderr)
	repository := flags.String("repository", ".", "the `folder` of apfsim's repository")
	lists := flags.Int("lists", 10, "the `number` of lists that are measured of each size")
	profiles := flags.String("profile", "", "the `folder` for profiles of the processor; \"\": none")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var sizes []size
	for _, text := range flags.Args() {
		s, err := parse(text)
		if err != nil {
			fmt.Fprintln(stderr, "listcpu:", err)
			return 2
		}
		sizes = append(sizes, s)
	}
	if len(sizes) == 0 || *lists < 1 {
		fmt.Fprintln(stderr, "listcpu: want -lists of 1 or more, and at least one OBJECTSxBYTES, such as 300x1000000")
		return 2
	}
	binaries, err := apiserver.Build(ctx, *repository, stderr)
	if err == nil {
		fmt.Fprintln(stdout, "objects  bytes  lists  least ms  median ms  server ms  etcd ms  server/median  both/median")
		for _, s := range sizes {
			var m measured
			if m, err = measure(ctx, binaries, s, *lists, *profiles); err != nil {
				break
			}
			median := m.latencies[len(m.latencies)/2].Seconds()
			fmt.Fprintf(stdout, "%d  %d  %d  %.0f  %.0f  %.0f  %.0f  %.2f  %.2f\n", s.objects, s.bytes, len(m.latencies), 1e3*m.latencies[0].Seconds(), 1e3*median,
				1e3*m.server, 1e3*m.etcd, m.server/median, (m.server+m.etcd)/median)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "listcpu:", err)
		return 1
	}
	return 0
}

// parse reads OBJECTSxBYTES.
func parse(text string) (s size, err error) {
	objects, bytes, _ := strings.Cut(text, "x")
	s.objects, err = strconv.Atoi(objects)
	if err == nil {
		s.bytes, err = strconv.Atoi(bytes)
	}
	if err != nil || s.objects < 1 || s.bytes < 1 || s.bytes > 1_400_000 {
		return s, fmt.Errorf("%q: want OBJECTSxBYTES with objects of at most 1400000 bytes, as etcd stores them, such as 300x1000000", text)
	}
	return s, nil
}

// measured are the figures of one size: the latencies in order, and the processor seconds of a list.
type measured struct {
	latencies    []time.Duration
	server, etcd float64
}

func measure(ctx context.Context, b *apiserver.Binaries, s size, lists int, profiles string) (m measured, err error) {
	dir, err := os.MkdirTemp("", "listcpu-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "debug")
	server, err := apiserver.Start(ctx, b, apiserver.Options{MaxRequestsInflight: 400, MaxMutatingRequestsInflight: 200, RequestTimeout: 5 * time.Minute,
		Arguments: []string{"--watch-cache-sizes=configmaps#0", "--debug-socket-path=" + socket, "--v=0", "--vmodule="}})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	client := server.Client(apiserver.Administrator)
	defer client.CloseIdleConnections()
	if err := fill(ctx, client, server.URL, s); err != nil {
		return m, err
	}
	if _, err := list(ctx, client, server.URL); err != nil { // which warms up the heap
		return m, err
	}
	time.Sleep(time.Second) // the collection of garbage that the writes have left
	var profiled sync.WaitGroup
	var profileErr error
	if profiles != "" {
		profiled.Go(func() {
			profileErr = save(ctx, socket, filepath.Join(profiles, fmt.Sprintf("%dx%d.pprof", s.objects, s.bytes)))
		})
	}
	var before, after apiserver.Seconds
	if before, err = server.Processor(ctx, client); err != nil {
		return m, err
	}
	for range lists {
		took, err := list(ctx, client, server.URL)
		if err != nil {
			return m, err
		}
		m.latencies = append(m.latencies, took)
	}
	if after, err = server.Processor(ctx, client); err != nil {
		return m, err
	}
	profiled.Wait()
	slices.Sort(m.latencies)
	m.server, m.etcd = (after.Server-before.Server)/float64(lists), (after.Etcd-before.Etcd)/float64(lists)
	return m, profileErr
}

// fill creates the objects, eight at a time.
func fill(ctx context.Context, client *http.Client, url string, s size) error {
	text := strings.Repeat("0123456789abcdef", s.bytes/16+1)[:s.bytes]
	next := make(chan int)
	errs := make(chan error, 8)
	for range 8 {
		go func() {
			var failed error
			for i := range next {
				if failed != nil {
					continue
				}
				body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"object-%d"},"data":{"text":"%s"}}`, i, text)
				_, failed = send(ctx, client, http.MethodPost, url+"/api/v1/namespaces/default/configmaps", strings.NewReader(body), http.StatusCreated)
			}
			errs <- failed
		}()
	}
	for i := range s.objects {
		next <- i
	}
	close(next)
	var all error
	for range 8 {
		all = errors.Join(all, <-errs)
	}
	return all
}

// list lists all configmaps with a selector that matches none, and returns how long that takes.
func list(ctx context.Context, client *http.Client, url string) (time.Duration, error) {
	began := time.Now()
	_, err := send(ctx, client, http.MethodGet, url+"/api/v1/configmaps?labelSelector=selects%3Dnothing", nil, http.StatusOK)
	return time.Since(began), err
}

// save writes a profile of 20 s of the processor of the server into a file. It comes from a socket of the server, as the client sends no
// request that reads the inside of a server.
func save(ctx context.Context, socket, file string) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	text, err := send(ctx, &http.Client{Transport: transport}, http.MethodGet, "http://server/debug/pprof/profile?seconds=20", nil, http.StatusOK)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o666)
}

// send sends a request, and returns the body of the response.
func send(ctx context.Context, client *http.Client, method, url string, body io.Reader, want int) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s %s: status %d: %.200s", method, url, response.StatusCode, text)
	}
	return string(text), err
}
