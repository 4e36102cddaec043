package load

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestResultAsJSON reads back all that was written.
func TestResultAsJSON(t *testing.T) {
	r := NewResult()
	r.Callers, r.Requests, r.Took, r.CPU = 5, 3, time.Second, time.Millisecond
	r.Servers = ServerUse{Known: true, CPU: time.Second, Busiest: 0.5, Received: 7}
	r.Machine.Network = 9
	r.Use.Samples = []Sample{{At: time.Second, Open: 4}}
	r.Errors["deadline"] = Failure{2, "late"}
	for i, h := range []int64{1, 1000, 1_000_000} {
		require.NoError(t, r.Reads.RecordValues(h, int64(i+1)))
		require.NoError(t, r.LoadedTrips.RecordValue(h))
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	back := &Result{}
	require.NoError(t, json.Unmarshal(text, back))
	require.True(t, r.Reads.Equals(back.Reads))
	require.True(t, r.LoadedTrips.Equals(back.LoadedTrips))
	require.Zero(t, back.Writes.TotalCount())
	require.EqualValues(t, 6, back.All().TotalCount())
	for _, x := range []*Result{r, back} {
		x.Reads, x.Writes, x.Slow, x.IdleTrips, x.LoadedTrips = nil, nil, nil, nil, nil
	}
	require.Equal(t, r, back)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Reads": "nonsense"}`), back), "decoding latencies")
}
