package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// sentinelPasswordVariable has no flag either.
const sentinelPasswordVariable = "RATELIMIT_SENTINEL_PASSWORD"

type sentinelSettings struct {
	Primary  string `name:"sentinel-primary" placeholder:"NAME" help:"Name by which Sentinels know the primary, such as mymaster; --addrs are theirs."`
	Username string `name:"sentinel-username" help:"ACL user of the Sentinels; the password is in RATELIMIT_SENTINEL_PASSWORD."`
	TLS      bool   `name:"sentinel-tls" help:"Connect to the Sentinels with TLS, too, with the same files; needs --tls."`
}

func (s *sentinelSettings) check(withTLS bool) error {
	switch {
	case s.Primary == "" && (*s != sentinelSettings{} || os.Getenv(sentinelPasswordVariable) != ""):
		return fmt.Errorf("--sentinel-username, --sentinel-tls and %s need --sentinel-primary", sentinelPasswordVariable)
	case s.TLS && !withTLS:
		return fmt.Errorf("--sentinel-tls needs --tls")
	}
	return nil
}

// dialer connects to the Sentinels.
func (s *sentinelSettings) dialer(timeout time.Duration, secure *tls.Config) (lanes.Dialer, error) {
	d := lanes.Dialer{Username: s.Username, Password: os.Getenv(sentinelPasswordVariable), Timeout: timeout}
	if s.TLS {
		d.TLS = secure
	}
	return d, cluster.Config{Dialer: d}.Validate()
}
