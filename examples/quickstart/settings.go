package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// settings is what the flags and the environment say.
type settings struct {
	addrs    []string // none: the embedded cluster
	dialer   lanes.Dialer
	kind     string
	size     int // 0: the kind's default
	pool     pool.Config
	keys     int
	requests int
}

const usage = `quickstart counts hits on several keys of a Redis Cluster in one call and shows
where they went.

  go run ./examples/quickstart
  go run ./examples/quickstart -pool fixed -size 10 -requests 1000
  REDIS_PASSWORD=... go run ./examples/quickstart -addrs redis.example:6379 -user limiter -tls

It writes to keys that begin with "quickstart:" and expire a minute after their
first hit. The environment variable REDIS_PASSWORD is the password, if the cluster wants one.

Flags:
`

// parse reads the flags. Its error is flag.ErrHelp if the user asked for the
// usage, which is then written to stderr.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	var addrs string
	var useTLS bool
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&addrs, "addrs", "", "`host:port,...` of one or more nodes of a cluster (default: one emulated in the process)")
	f.StringVar(&s.dialer.Username, "user", "", "ACL `name` to authenticate as, with the password in REDIS_PASSWORD")
	f.BoolVar(&useTLS, "tls", false, "connect with TLS")
	f.StringVar(&s.kind, "pool", "laned", "`kind` of the connection pool for each node: fixed, adaptive or laned")
	f.IntVar(&s.size, "size", 0, "connections to each node, at most (default: the pool's own)")
	f.IntVar(&s.keys, "keys", len(descriptors), "keys in each request")
	f.IntVar(&s.requests, "requests", linesShown, "requests to send; the last one is shown in full")

	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(stderr)
			_, writeErr := io.WriteString(stderr, usage)
			f.PrintDefaults()
			return s, errors.Join(err, writeErr)
		}
		return s, seeHelp(err)
	}
	if f.NArg() > 0 {
		return s, seeHelp(fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	s.dialer.Password = os.Getenv("REDIS_PASSWORD")
	if useTLS {
		s.dialer.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	var err error
	if s.addrs, err = splitAddrs(addrs); err != nil {
		return s, seeHelp(err)
	}
	if len(s.addrs) == 0 {
		if useTLS || s.dialer.Username != "" {
			return s, seeHelp(errors.New("-tls and -user need -addrs: the emulated cluster has neither"))
		}
		s.dialer.Password = ""
	}
	if err := s.check(); err != nil {
		return s, seeHelp(err)
	}
	return s, nil
}

func seeHelp(err error) error { return fmt.Errorf("%w (-help lists the flags)", err) }

func splitAddrs(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	addrs := strings.Split(list, ",")
	for i, addr := range addrs {
		if addrs[i] = strings.TrimSpace(addr); addrs[i] == "" {
			return nil, fmt.Errorf("-addrs: address %d is empty", i+1)
		}
	}
	return addrs, nil
}

// check sets the pool and finds values that make no sense. That of the pool's
// size is checked here too, so that the error names the flag.
func (s *settings) check() error {
	switch {
	case s.keys < 1:
		return fmt.Errorf("-keys %d: must be at least 1", s.keys)
	case s.requests < 1:
		return fmt.Errorf("-requests %d: must be at least 1", s.requests)
	case s.size < 0:
		return fmt.Errorf("-size %d: must not be negative", s.size)
	}
	switch s.kind {
	case "fixed":
		s.pool = pool.Fixed{Size: s.size}
	case "adaptive":
		s.pool = pool.Adaptive{Max: s.size}
	case "laned":
		s.pool = pool.Laned{Lanes: s.size}
	default:
		return fmt.Errorf("-pool %q: must be fixed, adaptive or laned", s.kind)
	}
	if err := pool.Validate(s.pool); err != nil {
		return fmt.Errorf("-size %d: %w", s.size, err)
	}
	return nil
}

// describePool says in words what the pool of each node is.
func (s *settings) describePool() string {
	switch s.kind {
	case "fixed":
		return fmt.Sprintf("fixed: %s, each serves one caller at a time", s.describeSize())
	case "adaptive":
		return fmt.Sprintf("adaptive: 1 to %s, as many as the load needs", s.describeSize())
	}
	if s.size == 0 {
		return "laned: a few connections to each node, which all callers share"
	}
	return fmt.Sprintf("laned: %s to each node, shared by all callers", count(s.size, "connection"))
}

func (s *settings) describeSize() string {
	if s.size == 0 {
		return count(pool.DefaultSize, "connection") + " to each node of a cluster"
	}
	return count(s.size, "connection") + " to each node"
}
