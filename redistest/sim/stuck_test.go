package sim

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStuck: a process ends with the stacks of what waits if a mutex is held by a goroutine that waits for the network,
// and goes on if its holder works.
func TestStuck(t *testing.T) {
	if how := os.Getenv("REDISLANES_STUCK"); how != "" {
		synctest.Test(t, func(t *testing.T) {
			redis := Start(t, Config{})
			holds := map[string]func() error{
				"network": func() error { _, err := redis.Dial(t.Context(), "tcp", redis.Addrs()[0]); return err },
				"work":    func() error { _, err := io.Copy(io.Discard, os.Stdin); return err },
			}
			var mu sync.Mutex
			hold := holds[how]
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					mu.Lock()
					defer mu.Unlock()
					assert.NoError(t, hold())
					hold = func() error { return nil }
				})
			}
			all.Wait()
		})
		return
	}
	for how, want := range map[string]string{
		"network": `panic: sim: virtual time has stood still for 10 s(?s:.*)\[sync\.Mutex\.Lock(?s:.*)sim\.TestStuck(?s:.*)simnet\.\(\*Network\)\.dial\(`,
		"work":    `PASS`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStuck$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), "REDISLANES_STUCK="+how)
			works, err := cmd.StdinPipe()
			require.NoError(t, err)
			time.AfterFunc(13*time.Second, func() { _ = works.Close() })
			out, err := cmd.CombinedOutput()
			require.Equal(t, how == "network", err != nil)
			require.Regexp(t, want, string(out))
		})
	}
}
