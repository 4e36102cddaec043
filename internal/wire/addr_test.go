package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckAddr(t *testing.T) {
	for addr, want := range map[string]error{
		"localhost:6379": nil, "10.0.0.1:6379": nil, "[::1]:6379": nil, "/var/run/a,b.sock": nil, "/run/redis@main/#1.sock": nil,
		"redis://h:1": errNoAddr, "u:canary@h:1": errNoAddr, "/run/a.sock?password=canary": errNoAddr,
		"a:1,b:2": errAddrList, "::1": errBareIPv6, "::1:6379": errBareIPv6, "fe80::1%eth0": errBareIPv6,
	} {
		require.ErrorIs(t, CheckAddr(addr), want, addr)
	}
}
