package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

var strategies = map[string]lanes.Strategy{
	"first-fit": lanes.FirstFit, "round-robin": lanes.RoundRobin, "least-used": lanes.LeastUsed,
	"affinity": lanes.Affinity, "power-of-two": lanes.PowerOfTwo,
}

var strategyNames = []string{"first-fit", "round-robin", "least-used", "affinity", "power-of-two"}

// config turns the variables into the settings of a client. A server that
// stands alone is served by the same client: it finds that out by itself.
func (v *variables) config() (cluster.Config, error) {
	d := lanes.Dialer{Timeout: v.Timeout}
	d.Username, d.Password = v.Auth.credentials()
	if v.TLS {
		var err error
		if d.TLS, err = v.tls(); err != nil {
			return cluster.Config{}, err
		}
	}
	c := cluster.Config{Pool: v.pool(), Dialer: d}
	if v.Type == "sentinel" {
		c.Sentinel = &cluster.Sentinel{Primary: v.primaryName(), Dialer: lanes.Dialer{Timeout: v.Timeout, TLS: d.TLS}}
		c.Sentinel.Dialer.Username, c.Sentinel.Dialer.Password = v.SentinelAuth.credentials()
	}
	return c, nil
}

func (v *variables) pool() pool.Config {
	o := pool.Options{MaxWaiters: v.MaxWaiters}
	if v.PoolOnEmpty == "error" {
		o.MaxWaiters = -1
	}
	switch v.Pool {
	case "fixed":
		return pool.Fixed{Size: v.PoolSize, Options: o}
	case "adaptive":
		return pool.Adaptive{Min: v.PoolMin, Max: v.PoolSize, Options: o}
	}
	return pool.Laned{Lanes: v.Lanes, Strategy: strategies[v.Strategy], Options: o}
}

func (v *variables) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if v.TLSCACert != "" {
		pem, err := os.ReadFile(v.TLSCACert)
		if err != nil {
			return nil, fmt.Errorf("REDIS_TLS_CACERT: want a file of certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("REDIS_TLS_CACERT = %q: want a file of certificates in PEM: there is none in it", v.TLSCACert)
		}
	}
	if v.TLSClientCert != "" {
		pair, err := tls.LoadX509KeyPair(v.TLSClientCert, v.TLSClientKey)
		if err != nil {
			return nil, fmt.Errorf("REDIS_TLS_CLIENT_CERT and REDIS_TLS_CLIENT_KEY: want files of a certificate and its key in PEM: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if v.TLSSkipHostnameVerification {
		// crypto/tls skips all checks or none, so the certificate is checked here,
		// without its name.
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, c.RootCAs) }
	}
	return c, nil
}

// verifyChain checks that an authority has signed the server's certificate.
func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server showed no certificate")
	}
	between := x509.NewCertPool()
	for _, cert := range s.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
