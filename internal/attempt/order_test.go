package attempt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
)

// steps are how the tables write a Step.
var steps = map[string]Step{"ran": Ran, "stands": Stands, "follow": Follow, "ask": Ask, "turn": OtherReplica, "retry": Retry}

func (s Step) String() string {
	for name, step := range steps {
		if step == s {
			return name
		}
	}
	return fmt.Sprint(uint8(s))
}

// ended makes commands of lines "SET k: ran". All keys are in one slot but those that begin
// with x. EXPIRE is marked as such, and AHEAD goes again in front of the next one; "GET k?: retry" may have run in an earlier try.
func ended(t *testing.T, lines ...string) (all []Command) {
	t.Helper()
	for i, line := range lines {
		text, step, found := strings.Cut(line, ": ")
		require.True(t, found, line)
		unknown := strings.HasSuffix(text, "?")
		args := strings.Fields(strings.TrimSuffix(text, "?"))
		c := Command{Index: i, Unknown: unknown, Reads: args[0] == "GET", Expiry: args[0] == "EXPIRE", Ahead: args[0] == "AHEAD"}
		if c.Step, found = steps[step]; !found {
			t.Fatal(line)
		}
		if len(args) > 1 && strings.HasPrefix(args[1], "x") {
			c.Slot = 1
		} else if len(args) == 1 {
			c.Slot = -1
		}
		c.Encoded = resp.AppendCommand(nil, args[0], args[1:]...)
		all = append(all, c)
	}
	return all
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   []string
		want string // the steps; o: overtaken, e: early, a: along, l: leads
	}{
		"all have run":                          {[]string{"SET k: ran", "SET k: ran"}, "ran ran"},
		"none has run":                          {[]string{"SET k: retry", "SET k: retry"}, "retry retry"},
		"the later one goes again":              {[]string{"SET k: ran", "SET k: retry"}, "ran retry"},
		"the later one has run":                 {[]string{"SET k: retry", "SET k: ran"}, "stands/o ran"},
		"the later one may have run":            {[]string{"SET k?: retry", "SET k: ran"}, "ran/o ran"},
		"the later one stands":                  {[]string{"SET k: retry", "SET k: stands"}, "retry stands"},
		"of another slot":                       {[]string{"SET k: retry", "SET x: ran"}, "retry ran"},
		"without a key":                         {[]string{"PING: retry", "PING: ran"}, "retry ran"},
		"MOVED is overtaken":                    {[]string{"SET k: follow", "SET j: ran"}, "stands/o ran"},
		"ASK is overtaken by its key":           {[]string{"SET k: ask", "SET k: ran"}, "stands/o ran"},
		"ASK is not overtaken by other keys":    {[]string{"SET k: ask", "SET j: ran"}, "ask ran"},
		"a read behind which a read has run":    {[]string{"GET k: retry", "GET k: ran"}, "retry ran"},
		"a read behind which a write has run":   {[]string{"GET k: retry", "SET k: ran"}, "stands/o ran"},
		"a write behind which a read has run":   {[]string{"SET k: retry", "GET k: ran"}, "stands/o ran"},
		"EXPIRE ran before its command":         {[]string{"INCRBY k 1: retry", "EXPIRE k 9: ran"}, "retry retry/e"},
		"both go again":                         {[]string{"INCRBY k 1: retry", "EXPIRE k 9: retry"}, "retry retry"},
		"they go to different places":           {[]string{"INCRBY k 1: retry", "EXPIRE k 9: ask"}, "retry ask"},
		"EXPIRE was refused for good":           {[]string{"INCRBY k 1: retry", "EXPIRE k 9: stands"}, "retry retry/a"},
		"EXPIRE was refused":                    {[]string{"INCRBY k 1: ran", "EXPIRE k 9: retry"}, "ran retry"},
		"EXPIRE was refused, a later one ran":   {[]string{"INCRBY k 1: ran", "EXPIRE k 9: retry", "SET k 2: ran"}, "ran stands/o ran"},
		"the command stands":                    {[]string{"INCRBY k 1: stands", "EXPIRE k 9: retry"}, "stands stands"},
		"the command stands, EXPIRE unknown":    {[]string{"INCRBY k 1: stands", "EXPIRE k 9?: retry"}, "stands ran"},
		"the command stands, EXPIRE ran":        {[]string{"INCRBY k 1: stands", "EXPIRE k 9: ran", "SET x: retry"}, "stands ran retry"},
		"several EXPIREs":                       {[]string{"INCRBY k 1: follow", "EXPIRE k 9: ran", "EXPIRE k 8: ran"}, "follow follow/e follow/e"},
		"the unit is overtaken":                 {[]string{"INCRBY k 1: retry", "EXPIRE k 9: retry", "SET k 2: ran"}, "stands/o stands/o ran"},
		"the unit is overtaken, EXPIRE ran":     {[]string{"INCRBY k 1: retry", "EXPIRE k 9: ran", "SET k 2: ran"}, "stands/o ran ran"},
		"an EXPIRE stops nothing":               {[]string{"SET k: ask", "INCRBY k 1: stands", "EXPIRE k 9: ran"}, "ask stands ran"},
		"the first unit is behind the second":   {[]string{"INCRBY k 1: retry", "EXPIRE k 9: ran", "INCRBY j 1: retry", "EXPIRE j 9: ran"}, "retry retry/e retry retry/e"},
		"ASK for the command, wait for EXPIRE":  {[]string{"INCRBY k 1: ask", "EXPIRE k 9: retry", "SET j: ran"}, "ask retry ran"},
		"what goes ahead has run":               {[]string{"AHEAD k: ran", "INCRBY k 1: retry"}, "retry/e/l retry"},
		"what goes ahead was refused":           {[]string{"AHEAD k: stands", "INCRBY k 1: ask"}, "ask/l ask"},
		"both go elsewhere":                     {[]string{"AHEAD k: retry", "INCRBY k 1: follow"}, "follow/l follow"},
		"what goes ahead is not in front":       {[]string{"AHEAD k: ran", "INCRBY x 1: ran", "INCRBY k 1: retry"}, "ran ran retry"},
		"all three":                             {[]string{"AHEAD k: ran", "INCRBY k 1: retry", "EXPIRE k 9: ran"}, "retry/e/l retry retry/e"},
		"the counter has run":                   {[]string{"AHEAD k: retry", "INCRBY k 1: ran"}, "stands/o ran"},
		"the counter is overtaken":              {[]string{"AHEAD k: ran", "INCRBY k 1: retry", "SET k: ran"}, "ran stands/o ran"},
		"ASK for the command, EXPIRE ran there": {[]string{"INCRBY k 1: ask", "EXPIRE k 9: ran", "SET j: ran"}, "ask ask/e ran"},
	} {
		all := ended(t, test.in...)
		Order(all)
		var got []string
		for _, c := range all {
			s := c.Step.String()
			for i, set := range []bool{c.Overtaken, c.Early, c.Along, c.Leads} {
				if set {
					s += "/" + "oeal"[i:i+1]
				}
			}
			got = append(got, s)
		}
		require.Equal(t, test.want, strings.Join(got, " "), name)
	}
}

// TestOrderOfPartsOfARequest: an EXPIRE whose command has ended before stands for itself.
func TestOrderOfPartsOfARequest(t *testing.T) {
	t.Parallel()
	all := ended(t, "INCRBY k 1: stands", "EXPIRE k 9: retry")
	all[1].Index = 5
	Order(all)
	require.Equal(t, Retry, all[1].Step)
}

// TestOrderKeepsItsPromises: of random commands, none is sent again behind a write to its key
// that has run, and no EXPIRE stays behind when its command is sent again.
func TestOrderKeepsItsPromises(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"SET %s 1", "GET %s", "INCRBY %s 1", "EXPIRE %s 9"}
	names := []string{"ran", "stands", "follow", "ask", "retry"}
	for range 20_000 {
		var lines []string
		key := "a"
		for range 1 + r.IntN(8) {
			kind := kinds[r.IntN(len(kinds))]
			if kind == kinds[3] && (len(lines) == 0 || strings.HasPrefix(lines[len(lines)-1], "GET")) {
				kind = kinds[0] // EXPIRE is of a write
			}
			if kind != kinds[3] { // EXPIRE is of the key before it
				key = string(rune('a' + r.IntN(3)))
			}
			lines = append(lines, fmt.Sprintf(kind, key)+": "+names[r.IntN(len(names))])
		}
		before, after := ended(t, lines...), ended(t, lines...)
		Order(after)
		for i, c := range after {
			require.False(t, before[i].Step == Stands && c.Step == Ran, lines)
			if !c.Step.Again() {
				continue
			}
			for _, later := range after[i+1:] {
				shares := string(later.Encoded) != "" && strings.Fields(lines[later.Index])[1][:1] == strings.Fields(lines[i])[1][:1]
				stops := later.Step == Ran && !later.Expiry && !(c.Reads && later.Reads)
				own := c.Early || c.Along || c.Expiry && i > 0 && after[i-1].Step.Again() // goes with its command
				require.False(t, stops && !own && (shares || c.Step != Ask), "%v: %v", lines, after)
			}
			if !c.Expiry && !c.Reads && i+1 < len(after) && after[i+1].Expiry {
				require.True(t, after[i+1].Step.Again(), lines)
			}
		}
	}
}

func TestSetsExpiry(t *testing.T) {
	t.Parallel()
	command := func(line string) []byte {
		args := strings.Fields(line)
		return resp.AppendCommand(nil, args[0], args[1:]...)
	}
	for line, want := range map[string]bool{
		"EXPIRE k 1": true, "expire k 1": true, "PEXPIRE k 1 NX": true, "EXPIREAT k 1": false, "PEXPIREAT k 1": false,
		"EXPIRE j 1": false, "EXPIRE k 0": false, "PEXPIRE k -1": false, "EXPIRE k": false, "EXPIRETIME k": false, "PERSIST k": false, "EXISTS k": false, "PFCOUNT k": false, "EXPIRE": false,
	} {
		require.Equal(t, want, SetsExpiry(command(line), command("INCRBY k 1")), line)
	}
	for line, want := range map[string]bool{
		"incr k": true, "SET k v": true, "HSET k f v": true, "SADD k a": true, "EXPIRE k 5 NX": true, "DEL k": true,
		"GET k": false, "TTL k": false, "COPY k j": false, "RENAME k j": false, "DEL k j": false, "EVAL x 1 k": false, "X.ADD k": false, "MULTI": false, "INCR j": false,
	} {
		require.Equal(t, want, SetsExpiry(command("EXPIRE k 1"), command(line)), line)
	}
}
