//go:build race

package pipeline_test

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

const misuseEnv = "PIPELINE_TEST_MISUSE"

// TestMisuse is no test by itself: it is what TestMisuseIsDetected runs in a
// process of its own.
func TestMisuse(t *testing.T) {
	how := os.Getenv(misuseEnv)
	if how == "" {
		return
	}
	e := redistest.StartEmulated(t, 1)
	p := pipeline.New(open(t, cluster.Config{}, e.Addrs()))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if how == "append" {
				p.IncrBy("k", 1)
				return
			}
			_ = p.Do(within(t, 5*time.Second))
		})
	}
	wg.Wait()
}

// TestMisuseIsDetected: the race detector finds a pipeline that two goroutines
// use at once.
func TestMisuseIsDetected(t *testing.T) {
	for _, how := range []string{"append", "do"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestMisuse$")
			cmd.Env = append(os.Environ(), misuseEnv+"="+how)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "DATA RACE")
		})
	}
}
