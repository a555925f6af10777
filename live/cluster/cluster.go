// Package cluster reaches a cluster by a kubeconfig file: its address and user, what it serves, its
// objects of flow control and its metrics.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"apfsim/document"
)

// Cluster is a cluster and the user of a kubeconfig file.
type Cluster struct {
	File    string // the kubeconfig file
	Context string // the context in it
	User    string // the name of the context's user in the file, which need not be the user's name in the cluster
	URL     string // of the API server, without a slash at the end

	client *http.Client
}

// Open reads a context of a kubeconfig file; an empty name is the file's current context. It does not
// contact the server.
func Open(file, contextName string) (*Cluster, error) {
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--kubeconfig: %s: there is no such file", file)
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("--kubeconfig: %s: is a folder; use a kubeconfig file", file)
	}
	raw, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: is not a kubeconfig file: %w", file, err)
	}
	if contextName == "" {
		contextName = raw.CurrentContext
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	of := raw.Contexts[contextName]
	switch {
	case of == nil && contextName == "":
		return nil, fmt.Errorf("--kubeconfig: %s: has no current context; use --context%s", file, listed(names))
	case of == nil:
		return nil, fmt.Errorf("--context: %s: has no context %q%s%s", file, contextName, document.Suggest(contextName, names), listed(names))
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, contextName, &clientcmd.ConfigOverrides{},
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: %w", file, err)
	}
	if config.Impersonate.UserName != "" {
		return nil, fmt.Errorf("--kubeconfig: %s: context %q already impersonates %q; use a context that does not, because the clients of the scenario are impersonated",
			file, contextName, config.Impersonate.UserName)
	}
	config.UserAgent = "apfsim-live"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: %w", file, err)
	}
	own := *client // it may be a client that others use, too
	// Neither credentials nor load go to where the server may refer to.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: %w", file, err)
	}
	return &Cluster{File: file, Context: contextName, User: of.AuthInfo, URL: strings.TrimSuffix(address.String(), "/"), client: &own}, nil
}

// listed returns a hint at the names that there are.
func listed(names []string) string {
	if len(names) == 0 {
		return "; the file has no context"
	}
	return "; there are " + strings.Join(names, ", ")
}

// Client returns the client that authenticates as the user.
func (c *Cluster) Client() *http.Client { return c.client }

// StatusError is an answer with another status than 200.
type StatusError struct {
	Path    string
	Status  int
	Message string // of the answer
}

// Error returns the path, the status and the message.
func (e *StatusError) Error() string {
	return fmt.Sprintf("GET %s: status %d: %s", e.Path, e.Status, e.Message)
}

// HasStatus says whether an error is an answer with one of the statuses.
func HasStatus(err error, statuses ...int) bool {
	var answer *StatusError
	return errors.As(err, &answer) && slices.Contains(statuses, answer.Status)
}

// askTimeout is how long one answer may take that is not a part of the load.
const askTimeout = 30 * time.Second

// get returns the body of an answer to the user's own request.
func (c *Cluster) get(ctx context.Context, path, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := c.client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, unreachable(err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &StatusError{path, response.StatusCode, Message(text)}
	}
	return text, nil
}

// unreachable returns an error of a connection without the method and the address, which the caller knows.
func unreachable(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return err
}

// Message returns the message of an answer: that of a Status object, or the beginning of any other text.
func Message(text []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		return status.Message
	}
	s := strings.Join(strings.Fields(string(text)), " ")
	if len(s) > 300 {
		s = s[:300] + "..."
	}
	return s
}

func (c *Cluster) getJSON(ctx context.Context, path string, into any) error {
	text, err := c.get(ctx, path, "application/json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("GET %s: the answer is not that of a Kubernetes API server: %w", path, err)
	}
	return nil
}

// Version returns the server's release, such as v1.37.1. It is the first contact, so that its error says
// that the server cannot be reached, or does not accept the user.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	var v struct{ GitVersion string }
	err := c.getJSON(ctx, "/version", &v)
	switch {
	case err == nil:
		return v.GitVersion, nil
	case HasStatus(err, http.StatusUnauthorized):
		return "", fmt.Errorf("%s does not accept the user %q of %s: %w", c.URL, c.User, c.File, err)
	case HasStatus(err, http.StatusForbidden):
		return "", nil // anyone may read it by default, but need not
	}
	return "", fmt.Errorf("%s cannot be reached: %w", c.URL, err)
}

// Metrics returns what the server serves under /metrics.
func (c *Cluster) Metrics(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "/metrics", "text/plain")
}
