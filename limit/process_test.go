package limit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// childEnv makes this program a process of TestProcesses: its value is the addresses
// of the servers and the end, in Unix milliseconds.
const childEnv = "REDISLANES_LIMIT_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		if err := child(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leak.Main(m)
}

// What each process asks for, some ten times as often as is allowed.
var processRules = []Rule{
	{Name: "fixed", Quota: 100, Window: time.Second},
	{Name: "sliding", Quota: 100, Window: time.Second, Algorithm: SlidingWindow},
	{Name: "bucket", Quota: 100, Burst: 20, Window: time.Second, Algorithm: TokenBucket},
}

// admissions are how many hits were allowed, by rule and by the window in which the
// call began.
type admissions map[string]map[int64]int64

func child(task string) error {
	addrs, until, _ := strings.Cut(task, " ")
	var end int64
	if _, err := fmt.Sscan(until, &end); err != nil {
		return err
	}
	ctx := context.Background()
	client, err := cluster.Config{}.New(ctx, strings.Split(addrs, ","))
	if err != nil {
		return err
	}
	defer client.Close()
	limiter, err := Config{Budget: 5 * time.Second}.New(client)
	if err != nil {
		return err
	}
	defer limiter.Close()
	var limits []*Limit
	allowed := make(admissions)
	for _, rule := range processRules {
		limit, err := rule.New(limiter)
		if err != nil {
			return err
		}
		limits = append(limits, limit)
		allowed[rule.Name] = make(map[int64]int64)
	}
	for ; time.Now().UnixMilli() < end; time.Sleep(5 * time.Millisecond) {
		for _, limit := range limits {
			now := time.Now()
			var r Result
			limiter.allowAt(ctx, now, time.Now(), []Request{{Limit: limit, Key: "k"}}, nil, &r)
			if r.Err != nil {
				return r.Err
			}
			if r.Allowed {
				allowed[limit.rule.Name][window.At(now, time.Second).Number]++
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(allowed)
}

// TestProcesses: eight processes on a real cluster never allow more together than
// the limit says and, since they ask for far more, never fewer.
func TestProcesses(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	const processes, windows = 8, 4
	now := time.Now()
	end := now.Add(window.At(now, time.Second).Left() + (windows+1)*time.Second)
	task := fmt.Sprintf("%s %d", strings.Join(real.Addrs(), ","), end.UnixMilli())
	var children [processes]*exec.Cmd
	var out, said [processes]bytes.Buffer
	for i := range children {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env, c.Stdout, c.Stderr = append(os.Environ(), childEnv+"="+task), &out[i], &said[i]
		require.NoError(t, c.Start())
		children[i] = c
	}
	sum := admissions{"fixed": {}, "sliding": {}, "bucket": {}}
	for i, c := range children {
		require.NoError(t, c.Wait(), said[i].String())
		var part admissions
		require.NoError(t, json.Unmarshal(out[i].Bytes(), &part), out[i].String())
		for name, of := range part {
			for number, n := range of {
				sum[name][number] += n
			}
		}
	}
	last := window.At(end, time.Second).Number - 1
	t.Log(sum)
	total := int64(0)
	for number := range sum["fixed"] {
		require.LessOrEqual(t, sum["fixed"][number], int64(100), "window %d", number)
		require.LessOrEqual(t, sum["sliding"][number], int64(100), "window %d", number)
		total += sum["bucket"][number]
	}
	span := int64(len(sum["fixed"])) // seconds, at most
	require.LessOrEqual(t, total, 20+100*(span+1))
	for number := last - windows + 2; number < last; number++ { // those in which all were there from beginning to end
		require.EqualValues(t, 100, sum["fixed"][number], "window %d", number)
		require.InDelta(t, 100, sum["bucket"][number], 30, "window %d", number)
	}
}
