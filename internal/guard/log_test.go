package guard

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLineWithOtherValues: a value too many, or too few, costs no other.
func TestLineWithOtherValues(t *testing.T) {
	require.Equal(t, []any{"where", 1, "after", 2, "!BADKEY", 3}, OutageOver.args([]any{1, 2, 3}))
	require.Equal(t, []any{"where", 1}, OutageOver.args([]any{1}))
}

// TestLogWithoutALogger: nothing is written, and nothing panics.
func TestLogWithoutALogger(t *testing.T) {
	l := NewLog(nil)
	l.Note(OutageOver, "a:1", time.Second)
	l.Call("Trace.Waited", func() { panic("boom") })
}

// TestLogOfARudeHandler: a log that panics costs its own line.
func TestLogOfARudeHandler(t *testing.T) {
	for _, in := range []string{"Enabled", "Handle"} {
		NewLog(slog.New(rude{in})).Note(OutageOver)
	}
}

func TestThrottle(t *testing.T) {
	var all Throttle
	now := time.Unix(1000, 0)
	told := 0
	for i := range 1000 { // ten a second
		if n, due := all.Due(now.Add(time.Duration(i) * 100 * time.Millisecond)); due {
			require.Equal(t, map[bool]int{true: 1, false: 50}[told == 0], n)
			told++
		}
	}
	require.Equal(t, 20, told)
	n, due := all.Due(now.Add(time.Hour))
	require.True(t, due)
	require.Equal(t, 50, n, "with those that were not told of")
	all.Due(now.Add(time.Hour))
	all.Over()
	n, due = all.Due(now.Add(2 * time.Hour))
	require.True(t, due)
	require.Equal(t, 1, n, "what is over is over")
}

// TestLogRoundsDurations: a second that a log reports as 1.0176468s takes longer to read.
func TestLogRoundsDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1017646800: "1.018s", 61*time.Second + 2: "1m1s", 12345678: "12ms", 123456: "0s", -3: "0s",
	} {
		var b bytes.Buffer
		NewLog(slog.New(slog.NewTextHandler(&b, nil))).Note(OutageOver, "a:1", d)
		require.Contains(t, b.String(), `msg="outage over" where=a:1 after=`+want+"\n")
	}
}
