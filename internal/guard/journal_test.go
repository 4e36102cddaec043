package guard

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A stuck is a slog.Handler that does not return before it is released.
type stuck struct {
	release chan struct{}
	lines   *[]string
}

func (s stuck) Enabled(context.Context, slog.Level) bool { return true }
func (s stuck) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s stuck) WithGroup(string) slog.Handler            { return s }
func (s stuck) Handle(_ context.Context, r slog.Record) error {
	<-s.release
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	*s.lines = append(*s.lines, text)
	return nil
}

// TestJournalOfAStuckLog: a log that does not return holds nobody up, what waits for
// it is bounded, and all of that is written once it goes on.
func TestJournalOfAStuckLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := stuck{make(chan struct{}), &lines}
		j := NewJournal(slog.New(log))
		j.Note(OutageOver)
		synctest.Wait() // the log has it
		for range 3 * maxLines {
			j.Note(OutageOver)
		}
		written := j.Close()
		j.Note(NotReady)
		synctest.Wait()
		select {
		case <-written:
			t.Fatal("the log has not written anything")
		default:
		}
		close(log.release)
		<-written
		require.Len(t, lines, 1+maxLines+1)
		require.Equal(t, fmt.Sprint("lines dropped: the log is too slow lines=", 2*maxLines), lines[1+maxLines])
		require.NotContains(t, lines, NotReady.Message, "it came too late")
		<-j.Close() // again
	})
}

// TestJournalIsInOrder: lines of one goroutine are written in their order, with what
// they say, also after a time without any.
func TestJournalIsInOrder(t *testing.T) {
	var text bytes.Buffer
	j := NewJournal(slog.New(slog.NewTextHandler(&text, nil)))
	for i := range 100 {
		j.Note(LinesDropped, i)
	}
	<-j.Close()
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	require.Len(t, lines, 100)
	for i, line := range lines {
		require.True(t, strings.HasSuffix(line, fmt.Sprint(` level=WARN msg="lines dropped: the log is too slow" lines=`, i)), line)
	}
}

// TestLineWithOtherValues: a value too many, or too few, costs no other.
func TestLineWithOtherValues(t *testing.T) {
	require.Equal(t, []any{"where", 1, "after", 2, "!BADKEY", 3}, OutageOver.args([]any{1, 2, 3}))
	require.Equal(t, []any{"where", 1}, OutageOver.args([]any{1}))
}

// TestJournalWithoutALog: nothing is kept where nobody reads it.
func TestJournalWithoutALog(t *testing.T) {
	var none *Journal
	none.Note(OutageOver)
	<-none.Close()
	for name, log := range map[string]*slog.Logger{"nil": nil, "none": slog.New(slog.DiscardHandler)} {
		j := NewJournal(log)
		require.Zero(t, testing.AllocsPerRun(100, func() { j.Note(OutageOver) }), name)
		<-j.Close()
	}
}

// TestJournalOfARudeLog: a log that panics costs its own line.
func TestJournalOfARudeLog(t *testing.T) {
	for _, in := range []string{"Enabled", "Handle"} {
		j := NewJournal(slog.New(rude{in}))
		var notes sync.WaitGroup
		for range 10 {
			notes.Go(func() { j.Note(OutageOver) })
		}
		notes.Wait()
		<-j.Close()
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

// TestJournalRoundsDurations: a second that a log reports as 1.0176468s takes longer to read.
func TestJournalRoundsDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1017646800:                   "1.018s",
		61*time.Second + 2:           "1m1s",
		12345678:                     "12ms",
		123456:                       "0s",
		-3:                           "0s",
		250 * time.Millisecond:       "250ms",
		time.Hour + time.Microsecond: "1h0m0s",
	} {
		var lines []string
		log := stuck{make(chan struct{}), &lines}
		close(log.release)
		j := NewJournal(slog.New(log))
		j.Note(OutageOver, "node a:1", d)
		<-j.Close()
		require.Equal(t, []string{"outage over where=node a:1 after=" + want}, lines)
	}
}
