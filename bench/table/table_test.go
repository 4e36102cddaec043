package table

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	require.Empty(t, New("a").String())
	all := New("a", "b")
	all.Add("µs", "1|2")
	require.Equal(t, "| a  | b    |\n|----|------|\n| µs | 1\\|2 |\n", all.String())
	numbers := &Table{Head: []string{"run", "req/s", "why"}, Text: 1, Last: true}
	numbers.Add("a", "1", "x")
	require.Equal(t, "| run | req/s | why |\n|-----|------:|-----|\n| a   |     1 | x   |\n", numbers.String())
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 5: "5ns", 1234: "1.23µs", 12345: "12.3µs", 123456: "123µs", 1234567: "1.23ms", 61234567890: "1m1.2s",
	} {
		require.Equal(t, want, Duration(d))
	}
	for v, want := range map[float64]string{0: "0 B", 999: "999 B", 1234: "1.23 KB", 5e6: "5 MB", 2.5e9: "2.5 GB"} {
		require.Equal(t, want, Bytes(v))
	}
	require.Equal(t, "12.3", Number(12.34))
	require.Equal(t, "1234", Number(1234.4))
}
