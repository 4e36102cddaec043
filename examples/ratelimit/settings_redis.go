package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"
)

// passwordVariable has no flag: arguments can be seen by other users of the machine.
const passwordVariable = "RATELIMIT_PASSWORD"

type redisSettings struct {
	Addrs          string        `name:"addrs" placeholder:"HOST:PORT,..." help:"Some nodes of the cluster, or a server that stands alone; or a URL for cluster.ParseURL, with what else it takes: redis://host/database?name=value, rediss://, unix:///path or redis-sentinel://host:port,host:port?master_name=NAME. Without it, a cluster is emulated in the process."`
	ConnectTimeout time.Duration `name:"connect-timeout" default:"10s" help:"How long it may take to find the cluster at the start."`
	Username       string        `name:"username" help:"ACL user; the password is in RATELIMIT_PASSWORD or --password-file."`
	PasswordFile   string        `name:"password-file" placeholder:"FILE" help:"File with the password, read for each connection, so that it can change."`
	NoSetInfo      bool          `name:"no-set-info" help:"Leave out CLIENT SETINFO, for proxies that hang up on commands that they do not know."`
}

// config returns the addresses, and what else the URL and the settings say.
func (r *redisSettings) config() (c cluster.Config, addrs []string, err error) {
	if r.Addrs != "" {
		if c, addrs, err = cluster.ParseURL(r.Addrs); err != nil {
			return c, nil, fmt.Errorf("--addrs: %w", err)
		}
	}
	d := &c.Dialer
	d.NoSetInfo, d.ClientName = r.NoSetInfo, cmp.Or(d.ClientName, "ratelimit")
	password := os.Getenv(passwordVariable)
	switch {
	case r.PasswordFile != "" && password != "":
		return c, nil, fmt.Errorf("--password-file and %s are both set: leave one out", passwordVariable)
	case r.PasswordFile == "":
		d.Username, d.Password = cmp.Or(r.Username, d.Username), cmp.Or(password, d.Password)
		return c, addrs, nil
	}
	d.Credentials = func(context.Context) (string, string, error) {
		password, err := r.password()
		return r.Username, password, err
	}
	_, err = r.password()
	return c, addrs, err
}

// password reads the file. A line's end is not part of a password.
func (r *redisSettings) password() (string, error) {
	text, err := os.ReadFile(r.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", fmt.Errorf("--password-file = %q: the file is empty", r.PasswordFile)
	}
	return password, nil
}

type tlsSettings struct {
	On         bool   `name:"tls" help:"Connect to Redis with TLS."`
	CA         string `name:"tls-ca" placeholder:"FILE" help:"Certificates of the authorities, in PEM. Without it, those of the system."`
	Cert       string `name:"tls-cert" placeholder:"FILE" help:"Certificate of this client, in PEM, read with its key for each connection, so that both can change; needs --tls-key."`
	Key        string `name:"tls-key" placeholder:"FILE" help:"Key of the certificate, in PEM."`
	ServerName string `name:"tls-server-name" placeholder:"HOST" help:"Name that the servers' certificates must have. Without it, the host that is dialled."`
}

func (t *tlsSettings) check() error {
	switch {
	case !t.On && *t != tlsSettings{}:
		return errors.New("--tls-ca, --tls-cert, --tls-key and --tls-server-name need --tls")
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("--tls-cert and --tls-key: want both or neither")
	}
	return nil
}

func (t *tlsSettings) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca = %q: there is no certificate in PEM in it", t.CA)
		}
	}
	if t.Cert != "" && t.Key != "" {
		if _, err := t.pair(nil); err != nil {
			return nil, err
		}
		c.GetClientCertificate = t.pair
	}
	return c, nil
}

// pair reads the client's certificate and its key.
func (t *tlsSettings) pair(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return &pair, nil
}

type clusterSettings struct {
	RetryWindow  time.Duration     `name:"retry-window" default:"1s" help:"How long after a node went down commands are tried again, within the budget; negative for not at all."`
	WaitForNodes bool              `name:"wait-for-nodes" help:"Try commands for a node that is down again until the budget ends, however long it has been down."`
	AddrMap      map[string]string `name:"addr-map" placeholder:"HOST:PORT=HOST:PORT;..." help:"What to dial in place of addresses that the cluster names, behind NAT."`
}

func (c *clusterSettings) config(config *cluster.Config) {
	config.RetryWindow = c.RetryWindow
	if c.WaitForNodes {
		config.RetryWindow = cluster.WhileContextLasts
	}
	if len(c.AddrMap) > 0 {
		config.AddrMap = func(addr string) string { return cmp.Or(c.AddrMap[addr], addr) }
	}
}

// poolSettings are those of all kinds of pool. A number that is 0 has the library's
// default.
type poolSettings struct {
	Kind string `name:"pool" enum:"laned,fixed,adaptive" default:"laned" help:"Kind: laned (a few, which all share), fixed or adaptive."`
	Size int    `name:"pool-size" help:"How many lanes, or how many connections of a fixed pool; of an adaptive one, at most. Default 4 lanes, or 50 in a cluster and 10 to a server that stands alone."`

	MaxWaiters   int           `name:"max-waiters" help:"Batches that may wait for a connection; negative for none. Default 65536."`
	StallTimeout time.Duration `name:"stall-timeout" help:"How long a node may be silent until its connections are closed. Default 3s."`
	SuspectAfter time.Duration `name:"suspect-after" help:"How long a node may be silent until it is asked, and how long the answer may take. Default 500ms."`
	MaxAge       time.Duration `name:"max-age" help:"How long a connection is used, for balancers, and for --tls-cert and --password-file that change; at least 1s. Default: as long as it works."`
}

func (p *poolSettings) config() pool.Config {
	o := pool.Options{
		MaxWaiters: p.MaxWaiters, SuspectAfter: p.SuspectAfter, StallTimeout: p.StallTimeout, MaxAge: p.MaxAge,
	}
	switch p.Kind {
	case "fixed":
		return pool.Fixed{Size: p.Size, Options: o}
	case "adaptive":
		return pool.Adaptive{Max: p.Size, Options: o}
	default:
		return pool.Laned{Lanes: p.Size, Options: o}
	}
}
