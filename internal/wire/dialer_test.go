package wire

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

func TestDialRealServers(t *testing.T) {
	const user, password = "app", "canary-0123"
	for name, o := range map[string]servers.Options{
		"plain": {}, "TLS": {TLS: true}, "users": {Username: user, Password: password},
	} {
		t.Run(name, func(t *testing.T) {
			server := servers.StartServer(t, o)
			addr := server.Addrs()[0]
			good := []lanes.Dialer{{}, {Protocol: 3}, {ClientName: "me"}}
			if o.Password != "" {
				good = []lanes.Dialer{
					{Password: password}, {Username: user, Password: password},
					{Protocol: 3, Password: password}, {Protocol: 3, Username: user, Password: password},
				}
				refuseWrongPasswords(t, addr, user)
			}
			for _, d := range good {
				d.TLS = server.TLSConfig()
				l := dialWith(t, d, addr, noEvents{})
				require.NoError(t, l.ping(t))
				require.Equal(t, addr, l.Address())
				require.Equal(t, addr, NetAddr(l.Address()).String())
				require.Equal(t, "tcp", NetAddr(l.Address()).Network())
				b := newTrip([]string{"HGETALL", "nothing"}, []string{"CLIENT", "LIST"})
				RoundTrip(within(t, patience), l, b)
				empty := "*0\r\n"
				if d.Protocol == 3 {
					empty = "%0\r\n"
				}
				require.Equal(t, empty, b.texts()[0])
				require.Contains(t, b.texts()[1], " name="+d.ClientName+" ")
			}
		})
	}
}

func refuseWrongPasswords(t *testing.T, addr, user string) {
	const wrong = "canary-wrong"
	for _, d := range []lanes.Dialer{
		{Password: wrong}, {Username: user, Password: wrong}, {Username: "nobody", Password: wrong},
		{Protocol: 3, Password: wrong}, {Protocol: 3, Username: user, Password: wrong},
	} {
		_, err := Dial(within(t, patience), d, addr)
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Reply, "WRONGPASS")
		require.Contains(t, err.Error(), addr)
		require.NotContains(t, err.Error(), wrong)
	}
}

func TestDialTLSThatIsNotTrusted(t *testing.T) {
	server := servers.StartServer(t, servers.Options{TLS: true})
	config := server.TLSConfig()
	config.RootCAs = nil
	_, err := Dial(within(t, patience), lanes.Dialer{TLS: config}, server.Addrs()[0])
	require.ErrorContains(t, err, "TLS handshake")
	require.ErrorContains(t, err, server.Addrs()[0])
}

func TestDialNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	_, err = Dial(within(t, patience), lanes.Dialer{}, addr)
	require.ErrorContains(t, err, addr)
	var op *net.OpError
	require.ErrorAs(t, err, &op)

	_, err = Dial(within(t, patience), lanes.Dialer{NetDial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no route")
	}}, "host:1")
	require.EqualError(t, err, "host:1: no route")
}

func TestCheckDialerNamesTheField(t *testing.T) {
	require.NoError(t, CheckDialer(lanes.Dialer{}))
	require.NoError(t, CheckDialer(WithDefaults(lanes.Dialer{})))
	for want, d := range map[string]lanes.Dialer{
		"lanes: Dialer.Protocol = 4: must be 2 or 3":         {Protocol: 4},
		"lanes: Dialer.Timeout = -1ns: must be at least 1ms": {Timeout: -1},

		`lanes: Dialer.Username = "app" without a Password: set Password or Credentials (any text for a user with nopass)`: {Username: "app"},

		"lanes: Dialer.MaxReply = -1: must be from 0 to 68719476736": {MaxReply: -1},
		"lanes: Dialer.Protocol = -1: must be 2 or 3":                {Protocol: -1, Timeout: -1},
	} {
		assert.EqualError(t, CheckDialer(d), want)
		_, err := Dial(t.Context(), d, "127.0.0.1:1")
		assert.EqualError(t, err, want)
	}
}

func TestCheckAddr(t *testing.T) {
	for addr, want := range map[string]error{
		"h:1": nil, "localhost:6379": nil, "10.0.0.1:6379": nil, "[::1]:6379": nil, "/run/redis.sock": nil, "/var/run/a,b.sock": nil, "/run/redis@main/#1.sock": nil,
		"redis://h:1": errNoAddr, "u:canary@h:1": errNoAddr, "/run/a.sock?password=canary": errNoAddr,
		"a:1,b:2": errAddrList, "::1": errBareIPv6, "::1:6379": errBareIPv6, "fe80::1%eth0": errBareIPv6,
	} {
		require.ErrorIs(t, CheckAddr(addr), want, addr)
	}
}

// TestMemberIsAsked: with what a server without cluster mode replies to CLUSTER MYID, on connections of
// both kinds.
func TestMemberIsAsked(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	addr := server.Addrs()[0]
	const disabled = "-ERR This instance has cluster support disabled\r\n"
	var told []string
	verdict := error(nil)
	purpose := Purpose{Admits: func(addr string, id []byte) error {
		told = []string{addr, string(id)}
		return verdict
	}}
	l, err := DialFor(t.Context(), lanes.Dialer{}, purpose, addr, Owner{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, []string{addr, disabled}, told)
	verdict = errors.New("another one is meant")
	_, err = DialFor(t.Context(), lanes.Dialer{}, purpose, addr, Owner{})
	require.ErrorIs(t, err, verdict)
	require.ErrorContains(t, err, addr)
}
