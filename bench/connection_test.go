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
	for _, kind := range []struct {
		name string
		of   func(n int) pool.Config
	}{
		{"fixed", func(n int) pool.Config { return pool.Fixed{Size: n} }},
		{"laned", func(n int) pool.Config { return pool.Laned{Lanes: n} }},
	} {
		for _, n := range []int{10, 100} {
			b.Run(fmt.Sprintf("%s-%d", kind.name, n), func(b *testing.B) {
				var sum footprint
				for b.Loop() {
					before := footprintOf(b, node)
					client := newClient(b, target{addrs: server.Addrs()}, kind.of(n))
					connect(b, client, n)
					sum = sum.plus(footprintOf(b, node).minus(before))
					if err := client.Close(); err != nil {
						b.Fatal(err)
					}
					settle(b, node, before)
				}
				sum.report(b, b.N*n)
			})
		}
	}
}

// connect waits until all connections are open.
func connect(b *testing.B, client *cluster.Client, n int) {
	b.Helper()
	if err := client.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
	l := newLoad(client, scenarios[0], newKeySet(), 1)
	if err := l.warmUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	if open := client.Stats().Nodes[0].Pool.Open; open != n {
		b.Fatalf("%d connections are open, want %d", open, n)
	}
}

// A footprint is what connections cost.
type footprint struct{ heap, stacks, files, serverBytes, serverFiles int64 }

func (f footprint) plus(g footprint) footprint {
	return footprint{f.heap + g.heap, f.stacks + g.stacks, f.files + g.files, f.serverBytes + g.serverBytes, f.serverFiles + g.serverFiles}
}

func (f footprint) minus(g footprint) footprint {
	return footprint{f.heap - g.heap, f.stacks - g.stacks, f.files - g.files, f.serverBytes - g.serverBytes, f.serverFiles - g.serverFiles}
}

func (f footprint) report(b *testing.B, connections int) {
	per := func(n int64, unit string) { b.ReportMetric(float64(n)/float64(connections), unit) }
	per(f.heap, "heap-B/conn")
	per(f.stacks, "stack-B/conn")
	per(f.files, "fds/conn")
	per(f.serverBytes, "server-B/conn")
	per(f.serverFiles, "server-fds/conn")
}

func footprintOf(b *testing.B, node *servers.Node) (f footprint) {
	b.Helper()
	runtime.GC()
	runtime.GC() // what pools of the runtime kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.heap, f.stacks = int64(m.HeapAlloc), int64(m.StackInuse)
	f.files, f.serverFiles = openFiles("self"), openFiles(fmt.Sprint(node.Pid()))
	f.serverBytes = usedMemory(b, node)
	return f
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
	for end := time.Now().Add(time.Minute); openFiles(fmt.Sprint(node.Pid())) > before.serverFiles; runtime.Gosched() {
		if time.Now().After(end) {
			b.Fatal("the server has not closed its connections")
		}
	}
}
