package wire

import (
	"errors"
	"strings"
)

var (
	errAddrList = errors.New("it is a list: give each host:port by itself; cluster.ParseURL reads lists")
	errBareIPv6 = errors.New("an IPv6 address needs brackets and a port, such as [::1]:6379")
)

var errNoAddr = errors.New("it is a URL or the like, want host:port; a password goes into Dialer.Password or Credentials, " +
	"a user into Dialer.Username, TLS into Dialer.TLS; cluster.ParseURL reads URLs")

// IsPath tells whether the address is the path of a unix socket.
func IsPath(addr string) bool { return strings.HasPrefix(addr, "/") }

func network(addr string) string {
	if IsPath(addr) {
		return "unix"
	}
	return "tcp"
}

// CheckAddr refuses what is not one address: a URL, which may hold a password, a list,
// and an IPv6 address without brackets. Its error does not show the address.
func CheckAddr(addr string) error {
	switch {
	case strings.Contains(addr, "://") || strings.ContainsAny(addr, "@?#"):
		return errNoAddr
	case IsPath(addr):
		return nil
	case strings.Contains(addr, ","):
		return errAddrList
	case strings.Count(addr, ":") > 1 && !strings.HasPrefix(addr, "["):
		return errBareIPv6
	}
	return nil
}
