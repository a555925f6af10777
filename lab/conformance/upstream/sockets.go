package upstream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// listener is the socket of a server in a testing/synctest bubble. Real sockets would let time stand still
// until data arrives, and pass while it is on its way.
type listener struct {
	mu     sync.Mutex
	open   []net.Conn    // the server's ends
	accept chan net.Conn // those that wait to be accepted
	closed chan struct{} // by the server
	close  func()
	ended  chan struct{} // with the process
}

func newListener() *listener {
	l := &listener{accept: make(chan net.Conn), closed: make(chan struct{}), ended: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }

// dial opens a connection. Like a kernel, it refuses that when nobody listens.
func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-l.ended:
		return nil, syscall.ECONNREFUSED
	default:
	}
	client, server := sockets()
	select {
	case l.accept <- server:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open = append(l.open, server)
		return client, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end does what the kernel does when the process ends: it closes all sockets. The server, which is still there,
// is not to know that.
func (l *listener) end() {
	close(l.ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		c.Close()
	}
}

// socket is an end of a connection. A write does not wait until the other end reads, as one to a pipe does: two ends that
// close a TLS connection at the same instant would wait for each other.
type socket struct {
	net.Conn // of a pipe
	mu       sync.Mutex
	changed  sync.Cond
	unsent   []byte
	closed   bool
}

// sockets returns both ends of a connection.
func sockets() (client, server net.Conn) {
	a, b := net.Pipe()
	return newSocket(a), newSocket(b)
}

func newSocket(c net.Conn) *socket {
	s := &socket{Conn: c}
	s.changed.L = &s.mu
	go s.send()
	return s
}

// send sends what is written until the socket is closed.
func (s *socket) send() {
	defer s.Conn.Close()
	for {
		s.mu.Lock()
		for len(s.unsent) == 0 && !s.closed {
			s.changed.Wait()
		}
		unsent := s.unsent
		s.unsent = nil
		s.mu.Unlock()
		if len(unsent) == 0 {
			return
		}
		if _, err := s.Conn.Write(unsent); err != nil {
			return
		}
	}
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	s.unsent = append(s.unsent, p...)
	s.changed.Signal()
	return len(p), nil
}

// Close implements net.Conn. What is unsent has a while to be read.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.changed.Signal()
		s.Conn.SetReadDeadline(time.Now())
		s.Conn.SetWriteDeadline(time.Now().Add(time.Second))
	}
	return nil
}

// SetDeadline implements net.Conn.
func (s *socket) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn: a write takes no time.
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

// transport returns a client's transport as client-go makes it, without connections yet.
func (l *listener) transport(http1 bool) *http.Transport {
	t := &http.Transport{
		DialContext:     l.dial,
		Proxy:           func(*http.Request) (*url.URL, error) { return nil, nil },
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // by nobody in particular
	}
	if http1 {
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
		return t
	}
	return utilnet.SetTransportDefaults(t)
}

// certificate returns a certificate for any server, always the same. Its key is of the kind that takes little time.
var certificate = sync.OnceValue(func() dynamiccertificates.CertKeyContentProvider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "server"}, key)
	must(err)
	certPEM, err := certutil.EncodeCertificates(cert)
	must(err)
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	must(err)
	c, err := dynamiccertificates.NewStaticCertKeyContent("server", certPEM, keyPEM)
	must(err)
	return c
})

// serverTLS is the certificate of a server that does not belong to Kubernetes.
func serverTLS() *tls.Config {
	cert, err := tls.X509KeyPair(certificate().CurrentCertKeyContent())
	must(err)
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
