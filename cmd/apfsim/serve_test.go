package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The page is served until the command is interrupted.
func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, "token") }()
	for path, want := range map[string]int{"/token/": http.StatusOK, "/": http.StatusForbidden} {
		response, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != want || want == http.StatusOK && !strings.Contains(string(text), "apfsim playground") {
			t.Errorf("%s: status %d, %v:\n%.300s", path, response.StatusCode, err, text)
		}
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
