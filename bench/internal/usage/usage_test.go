package usage

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseInfo(t *testing.T) {
	const info = "# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:2.25\r\nused_cpu_sys_children:9\r\n" +
		"# Stats\r\ntotal_net_input_bytes:1234\r\ntotal_net_output_bytes:5678\r\n"
	s, known := ParseInfo(info + "cmdstat_incrby:calls=4711,usec=1,usec_per_call=0.1\r\ncmdstat_incr:calls=1\r\n")
	require.True(t, known)
	require.Equal(t, Server{3750 * time.Millisecond, 1234, 5678, 4711}, s)
	require.Equal(t, Server{}, s.Since(s))
	_, known = ParseInfo("used_cpu_sys:1.5\r\n")
	require.False(t, known)
}

func TestMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems may not tell")
	}
	busy, all := Machine(t.Context())
	require.Positive(t, busy)
	require.GreaterOrEqual(t, all, busy)
}
