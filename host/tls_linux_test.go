// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/sse"
)

// trusting is a client of the certificate in a file, which says in its Subject
// who made it.
func trusting(t *testing.T, cert string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func streamer(c *Context) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"c"}}); err != nil {
			http.Error(w, "no stream", http.StatusServiceUnavailable)
		}
	}), nil
}

// TestTLSHoldsStreamsAndCutsThemAtTheEnd: one process.
func TestTLSHoldsStreamsAndCutsThemAtTheEnd(t *testing.T) {
	cert, key := validPair(t, t.TempDir(), "site")
	url, out, exit := started(t, App{Handler: streamer,
		Args: []string{"--tls-cert", cert, "--tls-key", key}})
	if !strings.HasPrefix(url, "https://") {
		t.Errorf("listening on %s, want https", url)
	}
	resp, err := trusting(t, cert).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("GET over TLS is %s, want HTTP/2", resp.Proto)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatalf("first line of the stream = %q, %v", line, err)
	}
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d with a held stream over TLS, want 0\n%s", code, out)
	}
	if rest, err := io.ReadAll(resp.Body); err == nil || !strings.Contains(string(rest), "retry: ") {
		t.Errorf("the stream ended with %v behind %q, want it cut behind a retry", err, rest)
	}
}

// TestHangupReadsTheCertificateAgain: one process has no supervisor that would
// replace it, and must not end.
func TestHangupReadsTheCertificateAgain(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	cert, key := validPair(t, dir, "site")
	url, out, exit := started(t, App{Handler: hello,
		Args: []string{"--tls-cert", cert, "--tls-key", key}})
	newCert, newKey := writePair(t, t.TempDir(), "site", now.Add(-time.Minute), now.Add(time.Hour))
	rename(t, newCert, cert)
	rename(t, newKey, key)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for !strings.Contains(out.String(), "host: certificate read") {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for the certificate to be read again:\n%s", patience, out)
		}
		time.Sleep(time.Millisecond)
	}
	resp, err := trusting(t, cert).Get(url) // it trusts the new one alone
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if code := stop(t, exit); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}
