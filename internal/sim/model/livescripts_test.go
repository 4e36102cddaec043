package model

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The model replies as real servers do where replies depend on several clients, on
// time, or on what the servers are.
func TestFidelityOfScripts(t *testing.T) {
	eachServer(t, func(t *testing.T, server, binary string) {
		s := newStage(t, server, binary)
		t.Run("protocol", s.protocol)
		t.Run("blocking", s.blocking)
		t.Run("messages", s.messages)
		t.Run("pauses", s.pauses)
		t.Run("refusals", s.refusals)
		t.Run("loading", s.loading)
		t.Run("migration", s.migration)
		if s.model.dialect.atomic {
			t.Run("migration at once", s.migrationAtOnce)
		}
		t.Run("failover", s.failover) // changes roles
		t.Run("master down", s.masterDown)
	})
}

func (s *stage) in(t *testing.T) *stage {
	c := *s
	tw := *s.twin
	tw.t = t
	c.twin, c.conns, c.blocked = &tw, make(map[string][2]*wire), 0
	return &c
}

func (s *stage) protocol(t *testing.T) {
	for _, b := range []string{
		"*1\r\n!3\r\n", "*x\r\n", "*1\r\n$x\r\n", "*1\r\n$-1\r\n", "*3000000000\r\n", "*1\r\n$600000000\r\n", "*01\r\n", "*1\r\n$01\r\n",
	} {
		s := s.in(t)
		s.send("0", []byte(b))
		s.receive("0", strconv.Quote(b))
		s.receive("0", strconv.Quote(b)+", once more")
	}
	s = s.in(t)
	s.play(`
		0! "*0\r\n*-1\r\nPING\r\n\r\n  PING  x \r\n*2\r\n$4\r\nECHO\r\n$3\r\n\r\nx\r\n"
		0<
		0<
		0<
		0 NOSUCH x
		0 QUIT
		0<
		0c! "*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n"
		0c<
		0c<
	`)
}

func (s *stage) blocking(t *testing.T) {
	s = s.in(t)
	s.play(`
		0 DEL {bar}l {bar}m
		0a. BLPOP {bar}l {bar}m 0
		0b. BRPOP {bar}m {bar}l 0
		0c. BLMOVE {bar}l {bar}m LEFT RIGHT 0
		0 RPUSH {bar}l 1
		0a<
		0 RPUSH {bar}l 2 3 4
		0b<
		0c<
		0 LRANGE {bar}l 0 -1
		0 LRANGE {bar}m 0 -1
		0 SET {bar}x 1
		0 FLUSHDB
		0 GET {bar}x
	`)
	s.served(3)
	s.play(`
		0a HELLO 3
		0a BLPOP {bar}l 0.01
		0a. BLPOP {bar}l 0
		0 MULTI
		0 LPUSH {bar}l 1
		0 DEL {bar}l
		0 SET {bar}l x
		0 EXEC
		0 DEL {bar}l
		0 MULTI
		0 LPUSH {bar}l 1 2
		0 BLPOP {bar}l 0
		0 BLPOP {bar}m 0
		0 EXEC
		0a<
	`)
	s.served(1)
	s.play(`
		0d. BLPOP {bar}l 0
		0d-
	`)
	s.served(1)
	s.awaitBlocked(0)
	s.play(`
		0 LPUSH {bar}l 1
		0 BRPOP {bar}l 0
		0a. BLMOVE {bar}l {bar}x LEFT LEFT 0
		0 SET {bar}x wrong
		0 LPUSH {bar}l 1
		0a<
		0 LRANGE {bar}l 0 -1
		0 DEL {bar}l {bar}x
	`)
}

func (s *stage) messages(t *testing.T) {
	s = s.in(t)
	s.play(`
		0a SUBSCRIBE x y
		0a<
		0a PING
		0a GET x
		0b HELLO 3
		0b SUBSCRIBE x
		0b PING
		0 PUBLISH x hello
		0a<
		0b<
		0 PUBLISH z hello
		0 MULTI
		0 PUBLISH x one
		0 PUBLISH y two
		0 EXEC
		0a<
		0a<
		0b<
		1 PUBLISH y three
		0a<
		0a UNSUBSCRIBE x
		0a UNSUBSCRIBE
		0a UNSUBSCRIBE
		0a PING
		0 PUBLISH x end
		0b<
		0d HELLO 3
		0d! "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\ny\r\n*3\r\n$7\r\nPUBLISH\r\n$1\r\ny\r\n$2\r\nhi\r\n*1\r\n$4\r\nPING\r\n"
		0d<
		0d<
		0d<
		0d<
		0b RESET
		0b PING
	`)
}

func (s *stage) pauses(t *testing.T) {
	s = s.in(t)
	s.play(`
		0 DEL {bar}n
		0 CLIENT PAUSE x
		0 CLIENT PAUSE -1
		0 CLIENT PAUSE 1 x
		0 CLIENT PAUSE 100000 WRITE
		0 GET {bar}n
		0a> INCR {bar}n
		0b MULTI
		0b> INCR {bar}n
		0c MULTI
		0c GET {bar}n
		0c EXEC
		0 CLIENT UNPAUSE
		0a<
		0b<
		0 INCR {bar}n
		0b EXEC
		0 CLIENT PAUSE 30
		0 PING
		0 INCR {bar}n
	`)
}

func (s *stage) refusals(t *testing.T) {
	s = s.in(t)
	a := s.model.Nodes()[0]
	s.play("0 SET {bar}k 1")
	s.twin.do(0, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	slot := strconv.Itoa(int(s.slots[0]))
	s.twin.do(0, "CLUSTER", "DELSLOTS", slot)
	s.model.Unassign(s.slots[0], s.slots[0])
	s.play(`
		0 GET {bar}k
		0 MULTI
		0 GET {bar}k
		0 GET {a9}k
		0 EXEC
		0 CLUSTER SLOTS
	`)
	s.twin.do(0, "CONFIG", "SET", "cluster-require-full-coverage", "yes")
	s.twin.do(0, "CLUSTER", "ADDSLOTS", slot)
	s.twin.do(0, "CLUSTER", "DELSLOTS", slot) // looks at the coverage
	s.until(0, "", "cluster_state:fail")
	a.Down(true)
	s.play(`
		0 GET {bar}k
		0 GET {a9}k
		0 GET {foo}k
		0 PING
	`)
	s.twin.do(0, "CLUSTER", "ADDSLOTS", slot)
	s.until(0, "", "cluster_state:ok")
	a.Down(false)
	s.model.Assign(s.slots[0], s.slots[0], a)
	s.play("0 SET {bar}k 3\n0 SET {a9}k 3")
}

func (s *stage) loading(t *testing.T) {
	s = s.in(t)
	s.twin.do(1, "DEBUG", "POPULATE", "2000", "{foo}", "2000")
	s.twin.do(1, "CONFIG", "SET", "loading-process-events-interval-bytes", "1024")
	s.twin.do(1, "CONFIG", "SET", "key-load-delay", "3000")
	s.play("1b READONLY\n1c WATCH {foo}k")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.real.Nodes()[1].Do(s.ctx, nil, "DEBUG", "RELOAD")
	}()
	s.until(1, "persistence", "\nloading:1")
	s.model.Nodes()[1].Loading(time.Hour)
	s.play(`
		1a PING
		1a HELLO 3
		1a GET {foo}k
		1a GET {bar}k
		1a CLUSTER SLOTS
		1a CLUSTER MYID
		1a CLIENT SETNAME x
		1a READONLY
		1a READWRITE
		1a ASKING
		1a ECHO x
		1a SELECT 0
		1a MULTI
		1a GET {foo}k
		1a EXEC
		1a SCRIPT EXISTS x
		1a DBSIZE
		1a NOSUCH
		1b GET {foo}k
	`)
	s.twin.do(1, "CONFIG", "SET", "key-load-delay", "0")
	<-done
	s.model.Nodes()[1].Loading(0)
	s.play("1a FLUSHALL\n1a GET {foo}k")
}

// until waits until a node's INFO, or CLUSTER INFO if no section is named, says so.
func (s *stage) until(node int, section, what string) {
	require.Eventually(s.t, func() bool {
		var info string
		args := []string{"INFO", section}
		if section == "" {
			args = []string{"CLUSTER", "INFO"}
		}
		require.NoError(s.t, s.real.Nodes()[node].Do(s.ctx, &info, args[0], args[1]))
		return strings.Contains(info, what)
	}, 30*time.Second, 5*time.Millisecond, what)
}

func (s *stage) migration(t *testing.T) {
	s = s.in(t)
	slot := strconv.Itoa(int(s.slots[1]))
	ids := []string{s.real.Nodes()[0].ID(), s.real.Nodes()[1].ID()}
	s.play("0 SET {a9}k 1\n0. BLPOP {a9}l 0")
	s.twin.do(1, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
	s.twin.do(0, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
	require.True(t, s.model.Migrate(s.slots[1], s.model.Nodes()[1]))
	s.play(`
		0b GET {a9}k
		0b GET {a9}l
		0b EVAL return 1 {a9}l
		1 GET {a9}k
		1 ASKING
		1 GET {a9}k
	`)
	s.twin.do(0, "MIGRATE", "127.0.0.1", strconv.Itoa(s.real.Nodes()[1].Port()), "", "0", "5000", "KEYS", "{a9}k")
	for _, node := range []int{1, 0} {
		s.twin.do(node, "CLUSTER", "SETSLOT", slot, "NODE", ids[1])
	}
	s.model.FinishMigration(s.slots[1])
	s.play(`
		0<
		0b GET {a9}k
		1 GET {a9}k
		0b CLUSTER SLOTS
		1 CLUSTER SLOTS
	`)
}

// migrationAtOnce moves the slot of migration back.
func (s *stage) migrationAtOnce(t *testing.T) {
	s = s.in(t)
	s.play("0 GET {a9}k\n1 GET {a9}k\n1b. BLPOP {a9}l 0\n1c MULTI\n1c GET {a9}k\n1c INCR {a9}k\n1d WATCH {a9}k\n1d MULTI\n1d GET {a9}k")
	slot := strconv.Itoa(int(s.slots[1]))
	if s.model.dialect.valkey {
		s.twin.do(1, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", s.real.Nodes()[0].ID())
	} else {
		s.twin.do(0, "CLUSTER", "MIGRATION", "IMPORT", slot, slot)
	}
	moved := func() bool { return s.real.Nodes()[0].Do(s.ctx, nil, "GET", "{a9}k") == nil }
	require.Eventually(t, moved, 10*time.Second, time.Millisecond)
	_, finish := s.model.Move([]uint16{s.slots[1]}, s.model.Nodes()[0])
	finish()
	s.play(`
		1b<
		1c EXEC
		1d EXEC
		1 ASKING
		1 GET {a9}k
		1 SET {a9}k 2
		0 INCR {a9}k
		0 CLUSTER SLOTS
		1 CLUSTER SLOTS
	`)
}

func (s *stage) failover(t *testing.T) {
	s = s.in(t)
	s.play("0a SET {bar}k 7\n0b. BLPOP {bar}l 0\n0c READONLY")
	require.NoError(t, s.real.Nodes()[2].Failover(s.ctx, ""))
	s.until(0, "replication", "role:slave")
	s.until(0, "replication", "master_link_status:up")
	require.Eventually(t, func() bool {
		var ranges [][]any
		require.NoError(t, s.real.Nodes()[2].Do(s.ctx, &ranges, "CLUSTER", "SLOTS"))
		return len(ranges[0]) == 4
	}, 10*time.Second, time.Millisecond, "the new replica is listed")
	require.True(t, s.model.FailoverGracefully(s.model.Nodes()[2], time.Millisecond))
	require.Eventually(t, func() bool { return s.model.Primary(s.model.Nodes()[0]) != nil }, time.Second, time.Millisecond)
	s.play(`
		0a SET {bar}k 8
		0b<
		0b PING
		0c GET {bar}k
		0c SET {bar}k 8
		0c MULTI
		0c GET {bar}k
		0c EXEC
		0c MULTI
		0c SET {bar}k 8
		0c EXEC
		0c FLUSHALL
		2 SET {bar}k 9
		2 CLUSTER SLOTS
		0c HELLO 3
		2 HELLO 2
	`)
}

func (s *stage) masterDown(t *testing.T) {
	s = s.in(t)
	s.twin.do(0, "CONFIG", "SET", "replica-serve-stale-data", "no")
	require.NoError(t, s.real.Nodes()[2].Kill())
	s.until(0, "replication", "master_link_status:down")
	s.model.Nodes()[2].Kill()
	s.model.Nodes()[0].MasterDown(true)
	s.play(`
		0a GET {bar}k
		0a READONLY
		0a GET {bar}k
		0a SET {bar}k 1
		0a CLUSTER KEYSLOT x
		0a HELLO 3
		0a MULTI
		0a PING
		0a GET {bar}k
		0a EXEC
		0a DBSIZE
	`)
}
