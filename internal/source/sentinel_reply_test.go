package source

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// fieldsOf is an instance as a Sentinel tells it: an array with RESP2, a map with
// RESP3.
func fieldsOf(kind string, pairs ...string) string {
	n := len(pairs)
	if kind == "%" {
		n /= 2
	}
	text := fmt.Sprintf("%s%d\r\n", kind, n)
	for _, p := range pairs {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(p), p)
	}
	return text
}

func TestParsePrimary(t *testing.T) {
	t.Parallel()
	const addr = "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n"
	for _, kind := range []string{"*", "%"} {
		got, err := parsePrimary([]byte(addr), []byte(fieldsOf(kind, "name", "m", "ip", "old", "port", "1", "flags", "master", "config-epoch", "7")))
		require.NoError(t, err)
		require.Equal(t, instance{addr: "127.0.0.1:6379", epoch: 7}, got)
	}
	got, err := parsePrimary([]byte("*2\r\n$3\r\n::1\r\n$1\r\n1\r\n"), []byte("-NOPERM\r\n"))
	require.NoError(t, err)
	require.Equal(t, instance{addr: "[::1]:1"}, got)
	for in, want := range map[string]error{
		"*-1\r\n":                                 errNoPrimary,
		"_\r\n":                                   errNoPrimary,
		"*2\r\n$1\r\na\r\n$1\r\n0\r\n":            errSentinelReply,
		"*2\r\n$1\r\na\r\n$5\r\n65536\r\n":        errSentinelReply,
		"*2\r\n$1\r\n \r\n$1\r\n1\r\n":            errSentinelReply,
		"*1\r\n$1\r\na\r\n":                       errSentinelReply,
		"*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n": errSentinelReply,
		"*2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n": errSentinelReply,
		":1\r\n": errSentinelReply,
	} {
		_, err := parsePrimary([]byte(in), nil)
		require.ErrorIs(t, err, want, in)
	}
	_, err = parsePrimary([]byte("-IDONTKNOW what you want\r\n"), nil)
	require.ErrorContains(t, err, "IDONTKNOW")
}

func TestParseInstances(t *testing.T) {
	t.Parallel()
	up := fieldsOf("*", "ip", "a", "port", "1", "flags", "slave")
	down := fieldsOf("%", "ip", "b", "port", "2", "flags", "s_down,slave,disconnected")
	got := parseInstances([]byte("*2\r\n" + up + down))
	require.Equal(t, []instance{{addr: "a:1", flags: []string{"slave"}}, {addr: "b:2", flags: []string{"s_down", "slave", "disconnected"}}}, got)
	require.False(t, got[0].gone())
	require.True(t, got[1].gone())
	for _, in := range []string{":0\r\n", "", "*1\r\n", "*1\r\n*1\r\n$5\r\na\r\n"} {
		require.Empty(t, parseInstances([]byte(in)), in)
	}
}

// TestOddInstanceCostsItself: the instances before and behind it are used.
func TestOddInstanceCostsItself(t *testing.T) {
	t.Parallel()
	good := fieldsOf("*", "ip", "a", "port", "1", "flags", "slave")
	for name, odd := range map[string]string{
		"no port":          fieldsOf("*", "ip", "a"),
		"port 0":           fieldsOf("*", "ip", "a", "port", "0"),
		"no host":          fieldsOf("*", "port", "1"),
		"odd host":         fieldsOf("*", "ip", "a b", "port", "1"),
		"value without":    "*1\r\n$1\r\na\r\n",
		"no array":         "$1\r\na\r\n",
		"an array in it":   "*2\r\n$2\r\nip\r\n*1\r\n$1\r\na\r\n",
		"null":             "*-1\r\n",
		"error":            "-ERR no\r\n",
		"more than enough": "*4096\r\n" + strings.Repeat("$1\r\na\r\n", 4096),
	} {
		require.Len(t, parseInstances([]byte("*3\r\n"+good+odd+good)), 2, name)
	}
	primary, err := parsePrimary([]byte("*2\r\n$5\r\n[::1]\r\n$1\r\n1\r\n"), []byte(fieldsOf("*", "ip", "?", "config-epoch", "7")))
	require.NoError(t, err)
	require.Equal(t, instance{addr: "[::1]:1", epoch: 7}, primary)
}

func FuzzParseSentinel(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n$1\r\n1\r\n"), []byte(fieldsOf("*", "ip", "a", "port", "1", "config-epoch", "1")))
	f.Add([]byte("*-1\r\n"), []byte("*1\r\n"+fieldsOf("%", "ip", "a", "port", "1", "flags", "s_down")))
	f.Fuzz(func(t *testing.T, addr, instances []byte) {
		if primary, err := parsePrimary(addr, instances); err == nil {
			requireAddr(t, primary.addr)
		}
		for _, i := range parseInstances(instances) {
			requireAddr(t, i.addr)
		}
		_ = AdmitPrimary(instances)
	})
}

func requireAddr(t *testing.T, addr string) {
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	require.NotEmpty(t, host)
	n, err := strconv.ParseUint(port, 10, 16)
	require.NoError(t, err)
	require.NotZero(t, n)
}

func TestAdmitPrimary(t *testing.T) {
	t.Parallel()
	require.NoError(t, AdmitPrimary([]byte("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n")))
	require.NoError(t, AdmitPrimary([]byte("-NOPERM no\r\n")))
	err := AdmitPrimary([]byte("*5\r\n$5\r\nslave\r\n$1\r\na\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"))
	require.ErrorIs(t, err, redislanes.ErrWrongServer)
	require.ErrorContains(t, err, "its role is slave")
}
