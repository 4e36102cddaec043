package wire

import (
	"errors"
	"strings"
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

// CheckAddr refuses addresses that may hold a password, such as
// redis://:password@host, which errors and logs would show. Its error does not.
func CheckAddr(addr string) error {
	if strings.Contains(addr, "://") || strings.ContainsAny(addr, "@?#") {
		return errNoAddr
	}
	return nil
}
