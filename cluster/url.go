package cluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ports that are meant where an address has none.
const (
	defaultPort         = "6379"
	defaultSentinelPort = "26379"
)

// ParseURL reads what deployments write into one variable and returns the settings
// and addresses for [Config.New]. It accepts
//
//	host[:port][,host[:port]...]
//	redis://[[user]:password@]host[:port][,host[:port]...][/database][?parameters]
//	rediss://...
//	unix://[[user]:password@]/path/of/the/socket[?parameters]
//	redis-sentinel://[[user]:password@]host[:port][,host[:port]...][/database]?master_name=name[&parameters]
//	rediss-sentinel://...
//
// rediss is TLS 1.2 or newer with the system's certificates, and rediss-sentinel the
// same to the Sentinels as to the servers. User and password are those of the
// servers; what is special in a URL is percent-encoded in them. The port is 6379
// by default, 26379 for Sentinels. The client finds out whether the servers are a
// cluster.
//
// Parameters are db, another way to name the database; client_name; protocol (2 or 3);
// timeout and write_timeout (durations such as 500ms); standalone, lazy and warm
// (true or false); and for Sentinels master_name, sentinel_username and sentinel_password.
// timeout and write_timeout hold for connections to the Sentinels as well.
//
// Errors name the part that is wrong and never hold a password, or anything else
// that stands before an @.
func ParseURL(s string) (Config, []string, error) {
	u, err := splitURL(strings.TrimSpace(s))
	if err != nil {
		return Config{}, nil, fmt.Errorf("cluster: ParseURL: %w", err)
	}
	c, addrs, err := u.config()
	if err != nil {
		return Config{}, nil, fmt.Errorf("cluster: ParseURL: %w", err)
	}
	return c, addrs, nil
}

// parts are those of a URL. Package net/url knows no list of hosts, and quotes
// what it cannot parse, passwords included.
type parts struct {
	scheme             string // "" for a list of addresses
	username, password string
	hosts              string
	path               string
	query              url.Values
}

var schemes = []string{"redis", "rediss", "unix", "redis-sentinel", "rediss-sentinel"}

func splitURL(s string) (u parts, err error) {
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		if strings.ContainsAny(s, "@/?#") {
			return u, errors.New("want host:port,host:port or a URL with redis://, rediss://, unix://, redis-sentinel:// or rediss-sentinel://")
		}
		return parts{hosts: s}, nil
	}
	if u.scheme = strings.ToLower(scheme); !slices.Contains(schemes, u.scheme) {
		return u, fmt.Errorf("want one of the schemes %s", strings.Join(schemes, ", "))
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(rest, "#") || strings.ContainsAny(query, "@#") {
		return u, errors.New("?, # and @ must be percent-encoded in user, password and parameters")
	}
	if u.query, err = url.ParseQuery(query); err != nil {
		return u, errors.New("the parameters after ? are not of the form name=value&name=value, percent-encoded")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := u.setUser(rest[:at]); err != nil {
			return u, err
		}
		rest = rest[at+1:]
	}
	hosts, path, hasPath := strings.Cut(rest, "/")
	if u.hosts = strings.ReplaceAll(hosts, "%25", "%"); hasPath { // before a zone: RFC 6874
		u.path = "/" + path
	}
	return u, nil
}

// setUser sets the user and password of user:password, of which both may be empty.
func (u *parts) setUser(s string) (err error) {
	name, password, _ := strings.Cut(s, ":")
	var wrong error
	if u.username, err = url.PathUnescape(name); err != nil {
		wrong = err
	}
	if u.password, err = url.PathUnescape(password); err != nil {
		wrong = err
	}
	switch {
	case wrong != nil || strings.ContainsAny(s, "/@"):
		return errors.New("user and password before @: /, @ and % must be percent-encoded")
	case u.username != "" && u.password == "":
		return errors.New("a user without a password before @: write a password alone as :password@")
	}
	return nil
}

func (u parts) config() (c Config, addrs []string, err error) {
	c.Dialer.Username, c.Dialer.Password = u.username, u.password
	if strings.HasPrefix(u.scheme, "rediss") {
		c.Dialer.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	port := defaultPort
	if strings.HasSuffix(u.scheme, "-sentinel") {
		c.Sentinel, port = &Sentinel{}, defaultSentinelPort
		c.Sentinel.Dialer.TLS = c.Dialer.TLS
	}
	if u.scheme == "unix" {
		addrs, err = u.socket()
	} else if addrs, err = addresses(u.hosts, port); err == nil {
		err = c.setDatabase("the path", strings.TrimPrefix(u.path, "/"))
	}
	if err != nil {
		return c, nil, err
	}
	inPath, isInPath := c.Dialer.Database, u.scheme != "unix" && len(u.path) > len("/")
	for _, name := range slices.Sorted(maps.Keys(u.query)) {
		if len(u.query[name]) > 1 {
			return c, nil, fmt.Errorf("parameter %s is given %d times", name, len(u.query[name]))
		}
		if err := c.setParameter(name, u.query.Get(name)); err != nil {
			return c, nil, err
		}
	}
	if isInPath && c.Dialer.Database != inPath {
		return c, nil, fmt.Errorf("the database is %d in the path and %d in parameter db", inPath, c.Dialer.Database)
	}
	if s := c.Sentinel; s != nil {
		if s.Primary == "" {
			return c, nil, errors.New("parameter master_name is missing: the name that the Sentinels know the primary by")
		}
		s.Dialer.Timeout, s.Dialer.WriteTimeout = c.Dialer.Timeout, c.Dialer.WriteTimeout
	}
	if err := c.Dialer.Validate(); err != nil {
		return c, nil, err
	}
	return c, addrs, nil
}

// socket returns the path of unix://path.
func (u parts) socket() ([]string, error) {
	path, err := url.PathUnescape(u.path)
	if err != nil || u.hosts != "" || len(path) < len("/s") {
		return nil, errors.New("want unix:///path/of/the/socket")
	}
	return []string{path}, nil
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

func (c *Config) setDatabase(where, s string) error {
	if s == "" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("the database in %s: want a number from 0 on", where)
	}
	c.Dialer.Database = n
	return nil
}

// setParameter sets one field. Values are not quoted: any may be a password that
// was put in the wrong place.
func (c *Config) setParameter(name, value string) (err error) {
	switch name {
	case "db":
		return c.setDatabase("parameter db", value)
	case "client_name":
		c.Dialer.ClientName = value
	case "protocol":
		c.Dialer.Protocol, err = strconv.Atoi(value)
	case "timeout":
		c.Dialer.Timeout, err = time.ParseDuration(value)
	case "write_timeout":
		c.Dialer.WriteTimeout, err = time.ParseDuration(value)
	case "standalone":
		c.Standalone, err = strconv.ParseBool(value)
	case "lazy":
		c.Lazy, err = strconv.ParseBool(value)
	case "warm":
		c.Warm, err = strconv.ParseBool(value)
	default:
		return c.setSentinelParameter(name, value)
	}
	if err != nil {
		return fmt.Errorf("parameter %s: want a %s", name, kinds[name])
	}
	return nil
}

var kinds = map[string]string{
	"protocol": "number", "timeout": "duration such as 500ms", "write_timeout": "duration such as 500ms",
	"standalone": "boolean, true or false", "lazy": "boolean, true or false", "warm": "boolean, true or false",
}

func (c *Config) setSentinelParameter(name, value string) error {
	var field *string
	switch s := c.Sentinel; {
	case s == nil:
	case name == "master_name":
		field = &s.Primary
	case name == "sentinel_username":
		field = &s.Dialer.Username
	case name == "sentinel_password":
		field = &s.Dialer.Password
	}
	if field == nil {
		return errors.New("a parameter is not known: want db, client_name, protocol, timeout, write_timeout, standalone, lazy, warm and, " +
			"with redis-sentinel://, master_name, sentinel_username and sentinel_password")
	}
	*field = value
	return nil
}
