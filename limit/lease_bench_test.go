package limit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

func BenchmarkLease(b *testing.B) {
	real := servers.StartCluster(b, servers.Options{Primaries: 3})
	for _, no := range []bool{true, false} {
		for _, callers := range []int{8, 100, 1000} {
			b.Run(fmt.Sprintf("no=%v/callers=%d", no, callers), func(b *testing.B) {
				client, err := cluster.Config{}.New(b.Context(), real.Addrs())
				require.NoError(b, err)
				defer client.Close()
				l, err := New(client, Config{})
				require.NoError(b, err)
				defer l.Close()
				limit, err := l.Limit(Rule{Name: fmt.Sprintf("b%v%d", no, callers), Limit: 1e9, Window: time.Second, NoLease: no})
				require.NoError(b, err)
				var n, failed atomic.Int64
				before := processed(b, client)
				var w sync.WaitGroup
				end := time.Now().Add(time.Duration(2) * time.Second)
				for range callers {
					w.Go(func() {
						for k := int64(0); ; k++ {
							if k&63 == 0 && time.Now().After(end) {
								n.Add(k)
								return
							}
							if r := l.Allow(context.Background(), Request{Limit: limit, Key: "hot"}); !r.Allowed || r.Err != nil {
								failed.Add(1)
							}
						}
					})
				}
				w.Wait()
				b.ReportMetric(float64(n.Load())/2, "decisions/s")
				b.ReportMetric(float64(processed(b, client)-before)/float64(n.Load()), "commands/decision")
				b.ReportMetric(float64(failed.Load()), "failed")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func processed(b *testing.B, client *cluster.Client) (n int64) {
	require.NoError(b, client.ForEachPrimary(context.Background(), func(ctx context.Context, node radix.Client) error {
		var info string
		if err := node.Do(ctx, radix.Cmd(&info, "INFO", "stats")); err != nil {
			return err
		}
		_, rest, _ := strings.Cut(info, "total_commands_processed:")
		rest, _, _ = strings.Cut(rest, "\r\n")
		some, err := strconv.ParseInt(rest, 10, 64)
		n += some
		return err
	}))
	return n
}
