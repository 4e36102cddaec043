package servers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// authority is a certificate authority made for one cluster, and the
// certificate of all its servers.
type authority struct {
	pool *x509.CertPool
	own  tls.Certificate // of the servers; clients may show it, too
	dir  string          // of ca.pem, cert.pem and key.pem
}

func newAuthority(dir string) (*authority, error) {
	ca, caKey, err := certificate(nil, nil)
	if err != nil {
		return nil, err
	}
	cert, key, err := certificate(ca, caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("servers: key: %w", err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem":   {Type: "CERTIFICATE", Bytes: ca.Raw},
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw},
		"key.pem":  {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, fmt.Errorf("servers: %w", err)
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	own := tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
	return &authority{pool, own, dir}, nil
}

// certificate makes a server's certificate, or an authority's if parent is nil.
func certificate(parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("servers: key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "redistest"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		template.Subject.CommonName = "redistest CA"
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("servers: certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

func (a *authority) directives(clientCerts bool) []string {
	demand := "optional"
	if clientCerts {
		demand = "yes"
	}
	file := func(name string) string { return strconv.Quote(filepath.Join(a.dir, name)) } // it may have blanks
	return []string{
		"tls-ca-cert-file " + file("ca.pem"), "tls-cert-file " + file("cert.pem"), "tls-key-file " + file("key.pem"),
		"tls-auth-clients " + demand, "tls-replication yes", "tls-cluster yes",
	}
}

type tlsDialer struct{ config *tls.Config }

func (d tlsDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return (&tls.Dialer{Config: d.config}).DialContext(ctx, network, addr)
}
