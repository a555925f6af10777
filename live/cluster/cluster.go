// Package cluster reaches a cluster by a kubeconfig file: its address and user, what it serves, its
// objects of flow control and its metrics.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"apfsim/document"
	"apfsim/live/guard"
)

// Cluster is a cluster and the user of a kubeconfig file.
type Cluster struct {
	File    string   // the kubeconfig file
	Context string   // the context in it
	User    string   // the name of the context's user in the file, which need not be the user's name in the cluster
	Server  *url.URL // the address of the API server, without user and password
	Proxy   string   // scheme and host of the proxy through which it is reached; empty for none

	client   *http.Client
	config   *rest.Config
	maxBytes int64 // bytes of an answer that are read
}

// Open reads a context of a kubeconfig file; an empty name is the file's current context. It does not
// contact the server.
//
// All that is sent to the cluster passes a [guard.Transport], which refuses writes unless they are meant to last.
func Open(file, contextName string, writes bool) (*Cluster, error) {
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--kubeconfig: %s: there is no such file", file)
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("--kubeconfig: %s: is a folder; use a kubeconfig file", file)
	}
	raw, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: %w", file, err)
	}
	if contextName == "" {
		contextName = raw.CurrentContext
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	named := raw.Contexts[contextName]
	switch {
	case named == nil && contextName == "":
		return nil, fmt.Errorf("--kubeconfig: %s: has no current context; use --context%s", file, listed(names))
	case named == nil:
		return nil, fmt.Errorf("--context: %s: has no context %q%s%s", file, contextName, document.Suggest(contextName, names), listed(names))
	}
	if err := checkAddresses(raw, named); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: cluster %q: %w", file, named.Cluster, err)
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
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: %w", file, err)
	}
	server, err := guard.Server(address.String())
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: cluster %q: server: %w", file, named.Cluster, err)
	}
	config.UserAgent = "apfsim-live"
	// The first wrapper is the innermost one: it sees requests as they are sent, with the credentials.
	wrap := config.WrapTransport
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		next = &guard.Transport{Server: server, Writes: writes, Next: next}
		if wrap != nil {
			next = wrap(next)
		}
		return next
	}
	client, err := newClient(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: %w", file, err)
	}
	proxy, err := proxyOf(config, server)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %s: cluster %q: %w", file, named.Cluster, err)
	}
	return &Cluster{File: file, Context: contextName, User: named.AuthInfo, Server: server, Proxy: proxy, client: client, config: config, maxBytes: guard.MostAnswer}, nil
}

// newClient returns a client with connections of its own.
func newClient(config *rest.Config) (*http.Client, error) {
	alone := *config
	if alone.Dial == nil { // clients whose functions differ share no transport
		alone.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	client, err := rest.HTTPClientFor(&alone)
	if err != nil {
		return nil, err
	}
	own := *client
	// Neither credentials nor load go to where the server may refer to.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own, nil
}

// proxyOf returns the scheme and the host of the proxy of the file or of the environment; empty for none. A proxy
// could read the credentials for a server without TLS.
func proxyOf(config *rest.Config, server *url.URL) (string, error) {
	find := config.Proxy
	if find == nil {
		find = http.ProxyFromEnvironment
	}
	proxy, err := find(&http.Request{URL: server})
	switch {
	case err != nil:
		return "", errors.New("the proxy of the environment is not an address; see HTTPS_PROXY") // which may have a password
	case proxy == nil:
		return "", nil
	case server.Scheme != "https":
		return "", fmt.Errorf("the proxy %s could read the credentials, because the server is reached without TLS; use https, or no proxy", proxy.Host)
	}
	return proxy.Scheme + "://" + proxy.Host, nil
}

// mostFile is how many bytes of a kubeconfig file are read. Those of hundreds of clusters have a few megabytes.
const mostFile = 16 << 20

// read reads a kubeconfig file.
func read(file string) (*clientcmdapi.Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := guard.ReadAll(f, mostFile)
	if err != nil {
		return nil, err
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("is not a kubeconfig file: %w", err)
	}
	return raw, nil
}

// checkAddresses returns what is wrong with the addresses of a context. They may have passwords, so that no
// error contains one.
func checkAddresses(raw *clientcmdapi.Config, named *clientcmdapi.Context) error {
	cluster := raw.Clusters[named.Cluster]
	if cluster == nil || cluster.Server == "" {
		return errors.New("server: is missing; want https://HOST:PORT")
	}
	address := cluster.Server
	if !strings.Contains(address, "://") { // it is completed
		address = "https://" + address
	}
	if _, err := guard.Server(address); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if proxy, err := url.Parse(cluster.ProxyURL); err != nil || cluster.ProxyURL != "" && !slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme) {
		return errors.New("proxy-url: is not the address of a proxy; want http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT")
	}
	return nil
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

// NewClient returns another client of the same user, with connections of its own.
func (c *Cluster) NewClient() (*http.Client, error) { return newClient(c.config) }

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

// get returns the body of an answer to the user's own request, for the path with these segments.
func (c *Cluster) get(ctx context.Context, accept string, segments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	address := guard.Path(segments...)
	request := (&http.Request{Method: http.MethodGet, URL: guard.Under(c.Server, address), Header: http.Header{"Accept": {accept}}}).WithContext(ctx)
	response, err := c.client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer response.Body.Close()
	text, err := guard.ReadAll(response.Body, c.maxBytes)
	switch {
	case errors.As(err, new(guard.TooLong)):
		return nil, fmt.Errorf("GET %s: the answer %w", address.Path, err)
	case err != nil:
		return nil, unreachable(err)
	case response.StatusCode != http.StatusOK:
		return nil, &StatusError{address.Path, response.StatusCode, Message(text)}
	}
	return text, nil
}

// unreachable returns an error of a connection without the method and the address, which the caller knows.
func unreachable(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return err
}

// mostMessage is how many bytes of a message are shown.
const mostMessage = 1000

// Message returns the beginning of the message of an answer: that of a Status object, or any other text.
func Message(text []byte) string {
	var status struct{ Message string }
	s := string(text[:min(len(text), mostMessage+1)])
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		s = status.Message
	}
	if len(s) > mostMessage {
		s = strings.ToValidUTF8(s[:mostMessage], "") + "..."
	}
	return strings.Join(strings.Fields(s), " ")
}

func (c *Cluster) getJSON(ctx context.Context, into any, segments ...string) error {
	text, err := c.get(ctx, "application/json", segments...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("GET /%s: the answer is not that of a Kubernetes API server: %w", strings.Join(segments, "/"), err)
	}
	return nil
}

// Version returns the server's release, such as v1.37.1. It is the first contact, so that its error says
// that the server cannot be reached, or does not accept the user.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	var v struct{ GitVersion string }
	err := c.getJSON(ctx, &v, "version")
	switch {
	case err == nil:
		return v.GitVersion, nil
	case HasStatus(err, http.StatusUnauthorized):
		return "", fmt.Errorf("%s does not accept the user %q of %s: %w", c.Server, c.User, c.File, err)
	case HasStatus(err, http.StatusForbidden):
		return "", nil // anyone may read it by default, but need not
	}
	return "", fmt.Errorf("%s cannot be reached: %w", c.Server, err)
}

// Metrics returns what the server serves under /metrics.
func (c *Cluster) Metrics(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "text/plain", "metrics")
}
