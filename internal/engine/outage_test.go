package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
)

// TestOutages plays what befalls commands and asks when the outage of each site began.
func TestOutages(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	writes, reads, keys := site{addr: "a", class: writing}, site{addr: "a", class: reading}, site{addr: "a", class: keyless}
	scripts, other := site{addr: "a", class: maybeWriting}, site{addr: "b", class: writing}
	type event struct {
		at      site
		unsent  bool
		since   int // 0: the pool does not say
		success *class
		early   uint64 // how many commands had not met their outage when it was sent
	}
	earlier := func(e event) event {
		e.early = 1
		return e
	}
	success := func(s class) event { return event{at: site{addr: "a"}, success: &s} }
	for name, c := range map[string]struct {
		events []event // one each second
		of     site
		want   int // in which second the outage began that the next command at the site meets
	}{
		"nothing before":               {nil, writes, 0},
		"it keeps its beginning":       {[]event{{at: writes}, {at: writes}}, writes, 0},
		"whatever comes next":          {[]event{{at: writes, unsent: true}, {at: writes}}, writes, 0},
		"the pool knows better":        {[]event{{at: writes}, {at: writes, unsent: true, since: -5}}, writes, -5},
		"another node's":               {[]event{{at: other}}, writes, 1},
		"writes are not reads":         {[]event{{at: writes}}, reads, 1},
		"ended by a write":             {[]event{{at: writes}, success(writing)}, writes, 2},
		"not by an earlier one":        {[]event{{at: writes}, earlier(success(writing))}, writes, 0},
		"not by one before the last":   {[]event{{at: writes}, {at: writes}, earlier(success(writing))}, writes, 0},
		"not by a script":              {[]event{{at: writes}, success(maybeWriting)}, writes, 0},
		"a script's by a script":       {[]event{{at: scripts}, success(maybeWriting)}, scripts, 2},
		"a script's by a write":        {[]event{{at: scripts}, success(writing)}, scripts, 2},
		"a script's not by a read":     {[]event{{at: scripts}, success(reading)}, scripts, 0},
		"not by a read":                {[]event{{at: writes}, success(reading)}, writes, 0},
		"not by one without a key":     {[]event{{at: reads}, success(keyless)}, reads, 0},
		"a read ends that of reads":    {[]event{{at: reads}, success(reading)}, reads, 2},
		"a write ends that of reads":   {[]event{{at: reads}, success(writing)}, reads, 2},
		"and that without keys":        {[]event{{at: keys}, success(writing)}, keys, 2},
		"any reply ends not sent":      {[]event{{at: writes, unsent: true}, success(keyless)}, writes, 2},
		"not that of another node":     {[]event{{at: other}, success(writing)}, other, 0},
		"what nobody meets is no more": {append([]event{{at: writes}}, make([]event, 70)...), writes, 71},
	} {
		t.Run(name, func(t *testing.T) {
			var all outages
			for i, e := range c.events {
				switch {
				case e.success != nil:
					all.succeeded(e.at.addr, *e.success, all.events.Load()-e.early)
				case e.at == site{}: // nothing
				default:
					since := time.Time{}
					if e.since != 0 {
						since = at(e.since)
					}
					all.note(e.at, map[bool]string{false: "LOADING", true: ""}[e.unsent], since, at(i))
				}
			}
			now := at(len(c.events))
			got := all.note(c.of, "LOADING", time.Time{}, now)
			require.Equal(t, at(c.want), got.Since)
			require.Equal(t, len(all.at), int(all.open.Load()))
		})
	}
}

// TestOutagesAreForgotten once nobody meets them: nodes may come and go.
func TestOutagesAreForgotten(t *testing.T) {
	t.Parallel()
	var all outages
	now := time.Now()
	all.note(site{addr: "a"}, "LOADING", time.Time{}, now)
	all.note(site{addr: "b"}, "LOADING", time.Time{}, now.Add(2*forgetOutage))
	require.Equal(t, 1, len(all.at))
}

// TestClass: a command that the table does not have may be one that only reads, so its success does not
// prove that the server takes writes, wherever it is sent.
func TestClass(t *testing.T) {
	t.Parallel()
	client := newClient(Config{}.withDefaults(), []string{"a:1"})
	for want, commands := range map[class][][]string{
		keyless:      {{"PING"}},
		reading:      {{"GET", "k"}, {"MGET", "k"}},
		maybeWriting: {{"EVAL", "return 1", "1", "k"}, {"NOVELTY", "k"}},
		writing:      {{"SET", "k", "v"}, {"INCRBY", "k", "1"}},
	} {
		for _, words := range commands {
			list := NewCommands(client, false)
			r := &list.Request
			encoded := resp.AppendCommand(r.Buffer(), words[0], words[1:]...)
			require.NoError(t, client.Append(r, encoded))
			require.Equal(t, want, r.class(0), words)
			require.Equal(t, want, classOf(encoded), words)
		}
	}
}

// TestSitesAreNamed in errors.
func TestSitesAreNamed(t *testing.T) {
	t.Parallel()
	require.Equal(t, "node a:1", site{addr: "a:1", class: writing}.String())
	require.Equal(t, "slot 866", site{slot: 866}.String())
	require.Equal(t, "the whole cluster", site{slot: slots.NoKey}.String())
}
