package wire

import (
	"errors"
	"testing"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestMemberIsAsked: with what a server without cluster mode replies to the last
// two commands of the handshake, on connections of both kinds. Some servers take
// the first of them without cluster mode, too.
func TestMemberIsAsked(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	addr := server.Addrs()[0]
	const disabled = "-ERR This instance has cluster support disabled\r\n"
	for command, readOnly := range map[string]bool{"READWRITE": false, "READONLY": true} {
		var mode resp3.RawMessage
		require.NoError(t, server.Nodes()[0].Do(t.Context(), &mode, command))
		var told []string
		verdict := error(nil)
		purpose := Purpose{ReadOnly: readOnly, Admits: func(addr string, mode, id []byte) error {
			told = []string{addr, string(mode), string(id)}
			return verdict
		}}
		l, err := DialFor(t.Context(), lanes.Dialer{}, purpose, addr)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		require.Equal(t, []string{addr, string(mode), disabled}, told)
		verdict = errors.New("another one is meant")
		_, err = DialFor(t.Context(), lanes.Dialer{}, purpose, addr)
		require.ErrorIs(t, err, verdict)
		require.ErrorContains(t, err, addr)
	}
}

// TestAddressWithAPassword is refused without showing it.
func TestAddressWithAPassword(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"redis://:canary@h:1", "u:canary@h:1", "h:1?password=canary"} {
		_, err := Dial(t.Context(), lanes.Dialer{}, addr)
		require.ErrorContains(t, err, "Dialer.Password")
		require.NotContains(t, err.Error(), "canary")
	}
	for _, addr := range []string{"h:1", "[::1]:6379", "/run/redis.sock"} {
		require.NoError(t, CheckAddr(addr))
	}
}
