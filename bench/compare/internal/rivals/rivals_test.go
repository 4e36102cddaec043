package rivals

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const lines = `{"start":{"format":1}}
{"limit":1}
{"turn":{"callers":8,"scenario":"fixed_key","client":"rueidis","requests":100,"took":1000000000}}
{"turn":{"callers":8,"scenario":"fixed_key","client":"rueidis","requests":300,"took":1000000000}}
{"turn":{"callers":8,"scenario":"fixed_key","client":"rueidis","requests":90,"took":1000000000}}
{"turn":{"callers":8,"scenario":"fixed_key","client":"rueidis-20us","requests":55,"took":500000000}}
{"turn":{"callers":1,"scenario":"fixed_key","client":"rueidis-20us","requests":5,"took":500000000}}
{"turn":{"callers":8,"scenario":"fixed_key","client":"ours","requests":400,"took":1000000000}}
{"turn":{"callers":8,"scenario":"fixed_key","client":"ours-counters","requests":900,"took":1000000000}}
`

func TestBestModeByCallers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(lines), 0o600))
	_, err := Read([]string{name})
	require.ErrorContains(t, err, "did not end")
	require.NoError(t, os.WriteFile(name, []byte(lines+`{"end":"2026-11-23T23:07:00Z"}`), 0o600))
	f, err := Read([]string{name})
	require.NoError(t, err)
	callers, rates := f.Best("fixed_key", "rueidis", "rueidis-")
	require.Equal(t, []int{1, 8}, callers)
	require.Equal(t, []float64{10, 110}, rates)
	callers, rates = f.Best("fixed_key", "ours")
	require.Equal(t, []int{8}, callers)
	require.Equal(t, []float64{400}, rates)
	callers, _ = f.Best("mixed_10keys", "ours")
	require.Empty(t, callers)
}
