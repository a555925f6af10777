// Package apiserver builds, starts and ends a kube-apiserver with an etcd of its own. Both listen on
// loopback, and keep their files in a folder that is removed at the end.
package apiserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"apfsim/lab/live/certificate"
)

// Options say how the server is started.
type Options struct {
	MaxRequestsInflight         int
	MaxMutatingRequestsInflight int
	RequestTimeout              time.Duration
	Users                       []User // who may authenticate, besides Administrator

	// Arguments are further ones of kube-apiserver. They come last, so that they replace others.
	Arguments []string
}

// Server is a running kube-apiserver.
type Server struct {
	URL      string
	EtcdURL  string // of its etcd, without TLS
	AuditLog string // file
	HTTPLog  string // file: what the server writes to stderr

	dir         string
	port        int
	options     Options
	certificate *certificate.Pair
	etcd, kube  *process // etcd is nil if that of another server is used
}

// How long the programs are given to start and to end.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 10 * time.Second
)

// auditPolicy has an event written for each request when it is received and when it is answered.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
`

// Start starts etcd and kube-apiserver, and returns when the server is ready. Stop must be called at
// the end, and when the context ends the programs end too.
func Start(ctx context.Context, b *Binaries, o Options) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "apfsim-live-")
	if err != nil {
		return nil, err
	}
	s := newServer(dir, o)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	if s.certificate, err = certificate.Loopback(); err != nil {
		return nil, err
	}
	etcdURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	s.EtcdURL = etcdURL
	s.etcd, err = startProcess(ctx, filepath.Join(dir, "etcd.log"), b.Etcd,
		"--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL,
		"--unsafe-no-fsync", "--log-level=warn")
	if err != nil {
		return nil, err
	}
	return s, s.begin(ctx, b)
}

// StartAnother starts one more kube-apiserver over the etcd of this server, with the same certificate, and returns when it is
// ready. It must be stopped before this one.
func (s *Server) StartAnother(ctx context.Context, b *Binaries, o Options) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "apfsim-live-")
	if err != nil {
		return nil, err
	}
	another := newServer(dir, o)
	another.EtcdURL, another.certificate = s.EtcdURL, s.certificate
	if err := another.begin(ctx, b); err != nil {
		return nil, errors.Join(err, another.Stop())
	}
	return another, nil
}

func newServer(dir string, o Options) *Server {
	return &Server{dir: dir, options: o, AuditLog: filepath.Join(dir, "audit.log"), HTTPLog: filepath.Join(dir, "kube-apiserver.log")}
}

// begin starts kube-apiserver, and returns when it is ready.
func (s *Server) begin(ctx context.Context, b *Binaries) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	s.URL, s.port = fmt.Sprintf("https://127.0.0.1:%d", ports[0]), ports[0]
	if err := s.writeFiles(); err != nil {
		return err
	}
	return s.StartAgain(ctx, b)
}

// StartAgain starts a kube-apiserver that has ended, at the same address and with the same logs, and returns when it is ready.
func (s *Server) StartAgain(ctx context.Context, b *Binaries) (err error) {
	if s.kube, err = startProcess(ctx, s.HTTPLog, b.KubeAPIServer, s.arguments(s.EtcdURL, s.port, s.options)...); err != nil {
		return err
	}
	return s.waitUntilReady(ctx)
}

// Terminate tells kube-apiserver to stop, as a SIGTERM does, and does not wait for its end.
func (s *Server) Terminate() error { return s.kube.cmd.Process.Signal(syscall.SIGTERM) }

// Ended returns a channel that is closed when kube-apiserver has ended.
func (s *Server) Ended() <-chan struct{} { return s.kube.done }

// Behind returns the server as clients reach it at another address, such as that of a load balancer. It must not be stopped.
func (s *Server) Behind(url string) *Server { return &Server{URL: url, certificate: s.certificate} }

func (s *Server) arguments(etcdURL string, port int, o Options) []string {
	return append([]string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--cert-dir=" + s.dir, "--tls-cert-file=" + s.file("tls.crt"), "--tls-private-key-file=" + s.file("tls.key"),
		"--service-account-issuer=https://loopback.example",
		"--service-account-key-file=" + s.file("account.key"), "--service-account-signing-key-file=" + s.file("account.key"),
		"--token-auth-file=" + s.file("tokens.csv"), "--authorization-mode=AlwaysAllow",
		"--audit-policy-file=" + s.file("audit-policy.yaml"), "--audit-log-path=" + s.AuditLog,
		"--audit-log-maxsize=100000", // MB: it is read as one file, and a busy case writes more than the default, 100
		fmt.Sprintf("--max-requests-inflight=%d", o.MaxRequestsInflight),
		fmt.Sprintf("--max-mutating-requests-inflight=%d", o.MaxMutatingRequestsInflight),
		fmt.Sprintf("--request-timeout=%v", o.RequestTimeout),
		"--http2-max-streams-per-connection=10000", // else a client holds back what is over the limit
		"--etcd-count-metric-poll-period=5s",       // of the objects, on which the seats of a list depend
		"--v=3", "--vmodule=apf_controller=4",      // 3: httplog; 4: each adjustment of a limit
	}, o.Arguments...)
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// writeFiles writes what the server reads when it starts.
func (s *Server) writeFiles() error {
	accountKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(accountKey)
	if err != nil {
		return err
	}
	var tokens bytes.Buffer
	if err := WriteTokens(&tokens, append([]User{Administrator}, s.options.Users...)); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"tls.crt":           s.certificate.Certificate,
		"tls.key":           s.certificate.Key,
		"account.key":       pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		"tokens.csv":        tokens.Bytes(),
		"audit-policy.yaml": []byte(auditPolicy),
	} {
		if err := os.WriteFile(s.file(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// waitUntilReady returns when the server says that it is ready, or with an error that has the end of
// its log.
func (s *Server) waitUntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := s.Client(Administrator)
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-s.kube.done:
			return fmt.Errorf("kube-apiserver ended before it was ready; its log ends with:\n%s", s.kube.logEnd())
		case <-s.etcd.ended():
			return fmt.Errorf("etcd ended before kube-apiserver was ready; its log ends with:\n%s", s.etcd.logEnd())
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w; its log ends with:\n%s", ctx.Err(), s.kube.logEnd())
		}
	}
}

// Stop ends both programs and removes their files. It may be called again.
func (s *Server) Stop() error {
	s.kube.stop()
	s.etcd.stop()
	return os.RemoveAll(s.dir)
}

// Running returns an error if one of the programs has ended.
func (s *Server) Running() error {
	for _, p := range []*process{s.kube, s.etcd} {
		select {
		case <-p.ended():
			return fmt.Errorf("%s has ended; its log ends with:\n%s", p.name, p.logEnd())
		default:
		}
	}
	return nil
}

// freePorts returns ports of loopback on which nothing listens.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // at the end, so that no port is returned twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
