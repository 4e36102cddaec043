package bench

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
)

// BenchmarkConnections is what one idle connection costs: bytes of heap and of
// goroutine stacks and file descriptors of this process, and bytes and file
// descriptors of the server. It needs a redis-server of its own.
func BenchmarkConnections(b *testing.B) {
	if !servers.HaveServer() {
		b.Skip("needs redis-server")
	}
	server := servers.StartServer(b, servers.Options{})
	node := server.Nodes()[0]
	for name, of := range map[string]func(n int) pool.Config{
		"fixed": func(n int) pool.Config { return pool.Fixed{Size: n} },
		"laned": func(n int) pool.Config { return pool.Laned{Lanes: n} },
	} {
		for _, n := range []int{10, 100} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				var sum footprint
				for b.Loop() {
					before := footprintOf(b, node)
					client := target{addrs: server.Addrs()}.client(b, cluster.Config{Pool: of(n)})
					connect(b, client, n)
					for i, after := range footprintOf(b, node) {
						sum[i] += after - before[i]
					}
					if err := client.Close(); err != nil {
						b.Fatal(err)
					}
					settle(b, node, before)
				}
				for i, unit := range units {
					b.ReportMetric(float64(sum[i])/float64(b.N*n), unit)
				}
			})
		}
	}
}

// connect waits until all connections are open.
func connect(b *testing.B, client *cluster.Client, n int) {
	b.Helper()
	if err := warmUp(b.Context(), client, scenarios[0].callers(client, newKeySet(), 1)); err != nil {
		b.Fatal(err)
	}
	if open := client.Stats().Nodes[0].Pool.Open; open != n {
		b.Fatalf("%d connections are open, want %d", open, n)
	}
}

var units = [...]string{"heap-B/conn", "stack-B/conn", "fds/conn", "server-B/conn", "server-fds/conn"}

// A footprint is what connections cost, by unit.
type footprint [len(units)]int64

func footprintOf(b *testing.B, node *servers.Node) footprint {
	b.Helper()
	runtime.GC()
	runtime.GC() // what pools of the runtime kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{int64(m.HeapAlloc), int64(m.StackInuse), openFiles("self"), usedMemory(b, node), openFiles(fmt.Sprint(node.Pid()))}
}

// openFiles returns how many file descriptors a process has; 0 where the system
// does not tell.
func openFiles(process string) int64 {
	entries, _ := os.ReadDir("/proc/" + process + "/fd")
	return int64(len(entries))
}

func usedMemory(b *testing.B, node *servers.Node) int64 {
	b.Helper()
	var n int64
	if err := node.Do(b.Context(), &n, "EVAL", `return tonumber(string.match(redis.call("INFO", "memory"), "used_memory:(%d+)"))`, "0"); err != nil {
		b.Fatal(err)
	}
	return n
}

// settle waits until the server has closed the connections, too.
func settle(b *testing.B, node *servers.Node, before footprint) {
	b.Helper()
	for end := time.Now().Add(time.Minute); openFiles(fmt.Sprint(node.Pid())) > before[4]; runtime.Gosched() {
		if time.Now().After(end) {
			b.Fatal("the server has not closed its connections")
		}
	}
}
