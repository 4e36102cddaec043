package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

// A soleClient makes a radix.Client, which radix's Cluster is not, of a MultiClient.
type soleClient struct{ radix.MultiClient }

func (soleClient) Addr() net.Addr { return nil }

// found returns what the scanner finds, sorted.
func (p *program) found(s radix.Scanner) []string {
	keys := make(map[string]bool)
	for key := ""; s.Next(p.ctx, &key); {
		keys[key] = true
	}
	p.saw("the end", told(s.Close()))
	return slices.Sorted(maps.Keys(keys))
}

func scanAll(p *program) {
	for i := range 100 {
		p.do(radix.FlatCmd(nil, "SET", fmt.Sprint("key", i), i))
	}
	p.do(radix.Cmd(nil, "RPUSH", "list", "x"))
	for _, config := range []radix.ScannerConfig{{}, {Pattern: "key1*"}, {Count: 7}, {Type: "list"}, {Pattern: "absent"}} {
		all := p.found(config.NewMulti(p.client))
		p.saw(fmt.Sprint(config), len(all), all)
	}
	stopped := radix.ScannerConfig{}.NewMulti(p.client)
	var key string
	p.saw("one only", stopped.Next(p.ctx, &key), told(stopped.Close()))
}

// scanOne scans a collection, and the keys of a client as if it were of one node.
func scanOne(p *program) {
	for i := range 300 {
		p.do(radix.FlatCmd(nil, "SADD", "set", i))
		p.do(radix.FlatCmd(nil, "SET", fmt.Sprint("key", i), i))
	}
	client := radix.Client(soleClient{p.client})
	p.saw("SSCAN", len(p.found(radix.ScannerConfig{Command: "SSCAN", Key: "set", Count: 10}.New(client))))

	_, isClient := p.client.(radix.Client)
	p.differs("ScannerConfig.New compiles", fmt.Sprint(isClient), "false", "true")
	keys := p.found(radix.ScannerConfig{}.New(client))
	p.saw("the keys of one node", 0 < len(keys) && len(keys) < 300)
}

func clients(p *program) {
	sets, err := p.client.Clients()
	require.NoError(p, err)
	p.saw("primaries", slices.Sorted(maps.Keys(sets)))
	for _, addr := range slices.Sorted(maps.Keys(sets)) {
		var replicas []string
		for _, replica := range sets[addr].Secondaries {
			replicas = append(replicas, replica.Addr().String())
			p.saw("replica", told(replica.Do(p.ctx, radix.Cmd(nil, "PING"))))
		}
		p.saw("node", sets[addr].Primary.Addr(), replicas)
		var size int
		p.saw("DBSIZE", told(sets[addr].Primary.Do(p.ctx, radix.Cmd(&size, "DBSIZE"))), size)
	}
	slot := cluster.Slot("k")
	owner, err := p.servers.Owner(p.ctx, slot)
	require.NoError(p, err)
	for addr, set := range sets {
		if addr != owner.Addr() {
			p.saw("another node", told(set.Primary.Do(p.ctx, radix.Cmd(nil, "SET", "k", "v"))))
		}
	}
	p.do(radix.Cmd(nil, "SET", "k", "v"))
	for got := ""; got != "v"; { // replication takes its time
		require.NoError(p, p.client.DoSecondary(p.ctx, radix.Cmd(&got, "GET", "k")))
	}
	var role []any
	p.saw("DoSecondary of a write", told(sets[owner.Addr()].Secondaries[0].Do(p.ctx, radix.Cmd(nil, "SET", "k", "w"))) != "no error")
	p.saw("ROLE", told(p.client.DoSecondary(p.ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
		return conn.Do(ctx, radix.Cmd(&role, "ROLE"))
	}))), fmt.Sprintf("%s", role[0]))
}

// topology: radix's Cluster has Topo, and any client the command it is made of.
func topology(p *program) {
	var asked radix.ClusterTopo
	p.do(radix.Cmd(&asked, "CLUSTER", "SLOTS"))
	p.saw("CLUSTER SLOTS", asked.Primaries())
	if theirs, ok := p.client.(*radix.Cluster); ok {
		require.Equal(p, asked.Map(), theirs.Topo().Map())
		require.NoError(p, theirs.Sync(p.ctx))
		return
	}
	ours := p.client.(*cluster.Client)
	require.NoError(p, ours.Sync(p.ctx))
	for _, node := range asked.Primaries() {
		for _, slots := range node.Slots {
			require.Equal(p, node.Addr, ours.Primary(slots[0]))
			require.Equal(p, node.Addr, ours.Primary(slots[1]-1))
		}
	}
}

// redirects sends commands for a slot that is on the move. It is the owner's again at
// the end.
func redirects(p *program) {
	const tag = "{moving}"
	slot := cluster.Slot(tag)
	from, err := p.servers.Owner(p.ctx, slot)
	require.NoError(p, err)
	to := p.servers.Nodes()[0]
	if to == from {
		to = p.servers.Nodes()[1]
	}
	p.do(radix.Cmd(nil, "SET", tag+"moved", "1"))
	require.NoError(p, p.servers.MigrateSlotStart(p.ctx, slot, to))
	require.NoError(p, p.servers.MigrateKeys(p.ctx, slot, to, tag+"moved"))
	var n int
	p.saw("Cmd by ASK", told(p.client.Do(p.ctx, radix.Cmd(&n, "INCR", tag+"moved"))), n)
	p.saw("a script by ASK", told(p.client.Do(p.ctx, radix.NewEvalScript("return redis.call('INCR', KEYS[1])").Cmd(&n, []string{tag + "moved"}))), n)
	incr := func() (string, int) {
		got := 0
		pipe := radix.NewPipeline()
		pipe.Append(radix.Cmd(&got, "INCR", tag+"moved"))
		return told(p.client.Do(p.ctx, pipe)), got
	}
	ask, _ := incr()
	p.differs("a pipeline by ASK", ask, fmt.Sprintf("ASK %d %s", slot, to.Addr()), "no error")

	require.NoError(p, p.servers.MigrateSlotFinish(p.ctx, slot, to))
	moved, _ := incr()
	p.differs("a pipeline by MOVED", moved, fmt.Sprintf("MOVED %d %s", slot, to.Addr()), "no error")
	again, _ := incr()
	p.saw("the pipeline after that", again)
	p.saw("Cmd after that", told(p.client.Do(p.ctx, radix.Cmd(nil, "INCR", tag+"moved"))))

	require.NoError(p, p.servers.MigrateSlotStart(p.ctx, slot, from))
	require.NoError(p, p.servers.MigrateKeys(p.ctx, slot, from, tag+"moved"))
	require.NoError(p, p.servers.MigrateSlotFinish(p.ctx, slot, from))
	p.saw("Cmd by MOVED", told(p.client.Do(p.ctx, radix.Cmd(nil, "INCR", tag+"moved"))))
}

// streams reads by radix.StreamReader.
func streams(p *program) {
	client := soleClient{p.client}
	for i := range 5 {
		p.do(radix.FlatCmd(nil, "XADD", "{s}a", fmt.Sprint(i+1, "-0"), "n", i))
	}
	p.do(radix.Cmd(nil, "XADD", "{s}b", "1-0", "n", "b"))
	p.do(radix.Cmd(nil, "XGROUP", "CREATE", "{s}a", "g", "0"))
	read := func(what string, config radix.StreamReaderConfig, from map[string]radix.StreamConfig) {
		reader := config.New(client, from)
		for {
			ctx, cancel := context.WithTimeout(p.ctx, 300*time.Millisecond)
			stream, entry, err := reader.Next(ctx)
			cancel()
			if err != nil {
				p.saw(what, "ends", errors.Is(err, radix.ErrNoStreamEntries), told(err))
				return
			}
			p.saw(what, stream, entry.ID, entry.Fields)
		}
	}
	after := func(id uint64) radix.StreamConfig { return radix.StreamConfig{After: radix.StreamEntryID{Time: id}} }
	read("XREAD", radix.StreamReaderConfig{Count: 2}, map[string]radix.StreamConfig{"{s}a": after(1)})
	read("without blocking", radix.StreamReaderConfig{NoBlock: true}, map[string]radix.StreamConfig{"{s}b": {}})
	read("absent", radix.StreamReaderConfig{NoBlock: true}, map[string]radix.StreamConfig{"{s}absent": {}})
	group := radix.StreamReaderConfig{Group: "g", Consumer: "c"}
	read("XREADGROUP", group, map[string]radix.StreamConfig{"{s}a": {Latest: true}})
	read("pending", group, map[string]radix.StreamConfig{"{s}a": {PendingThenLatest: true}})
	read("a group that is not there", radix.StreamReaderConfig{Group: "absent", NoBlock: true}, map[string]radix.StreamConfig{"{s}a": {Latest: true}})

	got := make(chan string, 1)
	reader := radix.StreamReaderConfig{}.New(client, map[string]radix.StreamConfig{"{s}b": after(1)})
	go func() {
		_, entry, err := reader.Next(p.ctx)
		got <- fmt.Sprint(entry.ID, told(err))
	}()
	p.do(radix.Cmd(nil, "XADD", "{s}b", "2-0", "n", "later"))
	p.saw("blocked", <-got)

	var entries []radix.StreamEntry
	p.do(radix.Cmd(&entries, "XRANGE", "{s}a", "-", "+"))
	p.saw("XRANGE", entries)
	var id radix.StreamEntryID
	p.do(radix.Cmd(&id, "XADD", "{s}a", "9-"+strconv.Itoa(9), "n", "x"))
	p.saw("XADD", id)
	var raw resp3.RawMessage
	p.saw("XREAD", told(p.client.Do(p.ctx, radix.Cmd(&raw, "XREAD", "COUNT", "1", "STREAMS", "{s}a", "0"))), string(raw))
}
