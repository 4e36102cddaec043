package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// Open connects to what one string names, such as an environment variable of a deployment. It is
// [ParseURL] and then [Config.New]:
//
//	client, err := cluster.Open(ctx, os.Getenv("REDIS_URL"))
func Open(ctx context.Context, url string) (*Client, error) {
	config, addrs, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return config.New(ctx, addrs)
}

// ParseURL returns the settings and addresses that a string names, for [Config.New]. It accepts
//
//	host[:port][,host[:port]...]
//	redis://[[user]:password@]host[:port][,host[:port]...][/database][?parameters]
//	rediss://...
//	unix://[[user]:password@]/path/of/the/socket[?parameters]
//	redis-sentinel://[[user]:password@]host[:port][,host[:port]...][/database]?master_name=name[&parameters]
//	rediss-sentinel://...
//
// rediss is TLS 1.2 or newer with the system's certificates, and rediss-sentinel the same to the
// Sentinels as to the servers. User and password are those of the servers, percent-encoded. The port
// is 6379 by default, 26379 for Sentinels. The client finds out whether the servers are a cluster.
//
// The parameters are
//
//   - db: Dialer.Database, as the path
//   - client_name: Dialer.ClientName
//   - protocol: Dialer.Protocol
//   - timeout: Dialer.Timeout, a duration such as 500ms, also of connections to Sentinels
//   - standalone, lazy: Config.Standalone and Config.Lazy, true or false
//   - master_name, sentinel_username, sentinel_password: Config.Sentinel, and the user and
//     password of the Sentinels
//
// Errors hold nothing that may be a password.
func ParseURL(s string) (Config, []string, error) {
	c, addrs, err := parse(strings.TrimSpace(s))
	if err == nil {
		err = wire.CheckDialer(c.Dialer)
	}
	if err != nil {
		return Config{}, nil, fmt.Errorf("cluster: ParseURL: %w", err)
	}
	return c, addrs, nil
}

var (
	errScheme = errors.New("want host:port,host:port or a URL with redis://, rediss://, unix://, redis-sentinel:// or rediss-sentinel://")
	errForm   = errors.New("want scheme://user:password@host:port/database?name=value, with /, ?, #, @ and % percent-encoded in user, password and values")
	errUser   = errors.New("a user without a password before @: write a password alone as :password@")
	errSocket = errors.New("want unix:///path/of/the/socket")
)

// sentinelPort is the port of Sentinels by default.
const sentinelPort = "26379"

func parse(s string) (c Config, addrs []string, err error) {
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		if strings.ContainsAny(s, "@/?#") {
			return c, nil, errScheme
		}
		addrs, err = addresses(s, "6379")
		return c, addrs, err
	}
	hosts, u, err := split(rest)
	if err != nil {
		return c, nil, err
	}
	if c.Dialer.Username = u.User.Username(); u.User != nil {
		c.Dialer.Password, _ = u.User.Password()
	}
	if c.Dialer.Username != "" && c.Dialer.Password == "" {
		return c, nil, errUser
	}
	port, base := "6379", strings.ToLower(scheme)
	if name, sentinel := strings.CutSuffix(base, "-sentinel"); sentinel && name != "unix" {
		port, base = sentinelPort, name
	}
	switch base {
	case "unix":
		if hosts != "" || len(u.Path) < len("/s") {
			return c, nil, errSocket
		}
		addrs = []string{u.Path}
	case "rediss":
		c.Dialer.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		fallthrough
	case "redis":
		if addrs, err = addresses(strings.ReplaceAll(hosts, "%25", "%"), port); err == nil && len(u.Path) > len("/") {
			err = c.set("db", u.Path[1:])
		}
	default:
		err = errScheme
	}
	if err != nil {
		return c, nil, err
	}
	return c, addrs, c.setAll(u.RawQuery, port == sentinelPort)
}

// split returns the list of hosts and the other parts of what follows the scheme. Package net/url knows no
// list of hosts, and its errors quote what it cannot parse, passwords included.
func split(rest string) (hosts string, u *url.URL, err error) {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	at := strings.LastIndexByte(authority, '@') + 1
	u, err = url.Parse("redis://" + authority[:at] + "host" + tail)
	if err != nil || strings.ContainsAny(tail, "#@") {
		return "", nil, errForm
	}
	return authority[at:], u, nil
}

// addresses returns a list's addresses, with the port where they have none. Errors
// do not quote them: :password without an @ looks like a port.
func addresses(list, port string) ([]string, error) {
	var addrs []string
	for i, addr := range strings.Split(list, ",") {
		addr = strings.TrimSpace(addr)
		host, own, err := net.SplitHostPort(addr)
		bare := strings.Trim(addr, "[]")
		_, notIP := netip.ParseAddr(bare)
		switch {
		case err == nil && own == "":
			own = port
		case err != nil && (notIP == nil || !strings.Contains(addr, ":")):
			host, own = bare, port
		case err != nil:
			return nil, fmt.Errorf("address %d: want host or host:port", i+1)
		}
		if host == "" {
			return nil, fmt.Errorf("address %d has no host", i+1)
		}
		if n, err := strconv.ParseUint(own, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("the port of address %d: want a number from 1 to 65535", i+1)
		}
		addrs = append(addrs, net.JoinHostPort(host, own))
	}
	return addrs, nil
}

// setAll sets the parameters of a query.
func (c *Config) setAll(query string, sentinel bool) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errForm
	}
	for name, value := range values {
		if err := c.set(name, value[0]); err != nil {
			return err
		}
	}
	if sentinel && c.Sentinel == "" {
		return errors.New("parameter master_name is missing: the name that the Sentinels know the primary by")
	}
	c.SentinelDialer.TLS, c.SentinelDialer.Timeout = c.Dialer.TLS, c.Dialer.Timeout
	return nil
}

// set sets one parameter. Values are not quoted: any may be a password that was put in the wrong place.
func (c *Config) set(name, value string) (err error) {
	want := ""
	switch name {
	case "db":
		want = "number"
		c.Dialer.Database, err = strconv.Atoi(value)
	case "client_name":
		c.Dialer.ClientName = value
	case "protocol":
		want = "number"
		c.Dialer.Protocol, err = strconv.Atoi(value)
	case "timeout":
		want = "duration such as 500ms"
		c.Dialer.Timeout, err = time.ParseDuration(value)
	case "standalone":
		want = "boolean, true or false"
		c.Standalone, err = strconv.ParseBool(value)
	case "lazy":
		want = "boolean, true or false"
		c.Lazy, err = strconv.ParseBool(value)
	case "master_name":
		c.Sentinel = value
	case "sentinel_username":
		c.SentinelDialer.Username = value
	case "sentinel_password":
		c.SentinelDialer.Password = value
	default:
		return errors.New("a parameter is not known: want db, client_name, protocol, timeout, standalone, lazy, master_name, sentinel_username or sentinel_password")
	}
	if err != nil {
		return fmt.Errorf("parameter %s: want a %s", name, want)
	}
	return nil
}
