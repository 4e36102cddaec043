package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// passwordVariable has no flag, as that of the Sentinels' password: arguments can be seen by other
// users of the machine.
const passwordVariable = "RATELIMIT_PASSWORD"

type redisSettings struct {
	Addrs          []string      `name:"addrs" placeholder:"HOST:PORT,..." help:"Some nodes of the cluster, or a server that stands alone, or with --sentinel-primary the Sentinels; a path is that of a unix socket. Without them, a cluster is emulated in the process."`
	ConnectTimeout time.Duration `name:"connect-timeout" default:"10s" help:"How long it may take to find the cluster at the start."`
	Username       string        `name:"username" help:"ACL user; the password is in RATELIMIT_PASSWORD or --password-file."`
	PasswordFile   string        `name:"password-file" placeholder:"FILE" help:"File with the password, read for each connection, so that it can change."`

	Database    int           `name:"database" default:"0" help:"Number of the database. A cluster has only 0."`
	Protocol    int           `name:"protocol" default:"2" help:"Version of RESP: 2 or 3."`
	ClientName  string        `name:"client-name" default:"ratelimit" help:"Name of the connections, for CLIENT LIST."`
	NoSetInfo   bool          `name:"no-set-info" help:"Leave out CLIENT SETINFO, for proxies that hang up on commands that they do not know."`
	DialTimeout time.Duration `name:"dial-timeout" default:"5s" help:"How long a connection may take to be ready."`
}

func (r *redisSettings) check() error {
	var errs []error
	for i, addr := range trimmed(r.Addrs) {
		switch {
		case strings.HasPrefix(addr, "/"):
		case strings.ContainsAny(addr, "@/"): // it may hold a password
			errs = append(errs, fmt.Errorf("--addrs: address %d: want host:port or the absolute path of a socket, without a scheme or credentials", i+1))
		case !strings.Contains(addr, ":"):
			errs = append(errs, fmt.Errorf("--addrs: address %d = %q: want host:port, or the absolute path of a socket", i+1, addr))
		}
	}
	if r.PasswordFile != "" && os.Getenv(passwordVariable) != "" {
		errs = append(errs, fmt.Errorf("--password-file and %s are both set: leave one out", passwordVariable))
	}
	return errors.Join(errs...)
}

func (r *redisSettings) dialer() (lanes.Dialer, error) {
	d := lanes.Dialer{
		Database: r.Database, Protocol: r.Protocol, ClientName: r.ClientName, NoSetInfo: r.NoSetInfo,
		Timeout: r.DialTimeout,
	}
	if r.PasswordFile == "" {
		d.Username = r.Username
		d.Password = os.Getenv(passwordVariable)
	} else {
		if _, err := r.password(); err != nil {
			return d, err
		}
		d.Credentials = func(context.Context) (string, string, error) {
			password, err := r.password()
			return r.Username, password, err
		}
	}
	return d, cluster.Config{Dialer: d}.Validate()
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
	if !t.On {
		return nil, nil
	}
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
	Standalone   bool              `name:"standalone" help:"Send no CLUSTER, READONLY or ROLE, to servers without cluster mode or proxies."`
	Lazy         bool              `name:"lazy" help:"Start before a server has answered; until one has, limits fail open or closed."`
	RefreshEvery time.Duration     `name:"refresh-every" default:"15s" help:"How often the map of the slots is fetched without need; negative for never."`
	RetryWindow  time.Duration     `name:"retry-window" default:"1s" help:"How long after a node went down commands are tried again, within the budget; negative for not at all."`
	WaitForNodes bool              `name:"wait-for-nodes" help:"Try commands for a node that is down again until the budget ends, however long it has been down."`
	Slow         []string          `name:"slow" placeholder:"COMMAND,..." help:"Commands that are slow, in place of those that the library knows."`
	AddrMap      map[string]string `name:"addr-map" placeholder:"HOST:PORT=HOST:PORT;..." help:"What to dial in place of addresses that the cluster names, behind NAT."`
}

func (c *clusterSettings) config() cluster.Config {
	config := cluster.Config{
		RefreshEvery: c.RefreshEvery, RetryWindow: c.RetryWindow,
		Standalone: c.Standalone, Lazy: c.Lazy,
	}
	if len(c.Slow) > 0 {
		config.Slow = trimmed(c.Slow)
	}
	if c.WaitForNodes {
		config.RetryWindow = cluster.WhileContextLasts
	}
	if len(c.AddrMap) > 0 {
		config.AddrMap = func(addr string) string {
			if to, ok := c.AddrMap[addr]; ok {
				return to
			}
			return addr
		}
	}
	return config
}
