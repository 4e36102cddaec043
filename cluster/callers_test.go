package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

// TestActionsDoNotMix: exchanges use memory again that those of other callers have
// used. Each caller has its own reply and its own error, also where calls were given up
// while their commands were under way.
func TestActionsDoNotMix(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 2*time.Minute)
	var callers sync.WaitGroup
	for i := range 16 {
		key := fmt.Sprint("{", i, "}key")
		value := strings.Repeat(key, 1+i*i)
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, value)))
		callers.Go(func() {
			var errs []error
			for round := range 100 {
				soon, cancel := context.WithTimeout(ctx, time.Duration(round%4)*50*time.Microsecond)
				_ = client.Do(soon, radix.Cmd(nil, "APPEND", key+"2", value))
				cancel()
				var got, again string
				p := radixPipeline(radix.Cmd(&got, "GET", key), radix.Cmd(&again, "GETRANGE", key, "0", "-1"))
				if err := client.Do(ctx, p); err != nil || got != value || again != value {
					t.Errorf("%s: %q, %q, %v", key, got, again, err)
				}
				errs = append(errs, client.Do(ctx, radix.Cmd(nil, "HGET", key, value)))
			}
			for _, err := range errs {
				var failed *redislanes.Error
				if !errors.As(err, &failed) || failed.Command != "HGET" || !strings.Contains(err.Error(), "WRONGTYPE") {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
	callers.Wait()
}
