package slots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/fate"
)

// Replies of redis-server 7.0.15, with one range of slots.
const (
	replyHead  = "*1\r\n*3\r\n:0\r\n:8000\r\n"
	replyID    = ":7001\r\n$40\r\n636174f2d8919ec24ac0f4be44b53219ffeb4f29\r\n"
	replyIPv4  = replyHead + "*4\r\n$8\r\n10.1.2.3\r\n" + replyID + "*0\r\n"
	replyIPv6  = replyHead + "*4\r\n$7\r\nfd00::7\r\n" + replyID + "%0\r\n"
	replyEmpty = replyHead + "*4\r\n$0\r\n\r\n" + replyID + "*2\r\n$8\r\nhostname\r\n$9\r\nh.example\r\n"
	replyName  = replyHead + "*4\r\n$9\r\nh.example\r\n" + replyID + "*2\r\n$2\r\nip\r\n$8\r\n10.1.2.3\r\n"
	// cluster-preferred-endpoint-type hostname without a hostname
	replyNoName  = replyHead + "*4\r\n$1\r\n?\r\n" + replyID + "*2\r\n$2\r\nip\r\n$8\r\n10.1.2.3\r\n"
	replyNoName3 = replyHead + "*4\r\n$1\r\n?\r\n" + replyID + "%1\r\n$2\r\nip\r\n$7\r\nfd00::7\r\n"
	replyNoIP    = replyHead + "*4\r\n$1\r\n?\r\n" + replyID + "*2\r\n$2\r\nip\r\n$0\r\n\r\n"
	// cluster-preferred-endpoint-type unknown-endpoint
	replyNull  = replyHead + "*4\r\n$-1\r\n" + replyID + "*4\r\n$2\r\nip\r\n$8\r\n10.1.2.3\r\n$8\r\nhostname\r\n$9\r\nh.example\r\n"
	replyNull3 = replyHead + "*4\r\n_\r\n" + replyID + "%2\r\n$2\r\nip\r\n$8\r\n10.1.2.3\r\n$8\r\nhostname\r\n$9\r\nh.example\r\n"
)

func TestParseSlotsEndpoints(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ reply, addr string }{
		"IPv4":                 {replyIPv4, "10.1.2.3:7001"},
		"IPv6":                 {replyIPv6, "[fd00::7]:7001"},
		"empty":                {replyEmpty, "asked:7001"},
		"name":                 {replyName, "h.example:7001"},
		"no name, IP":          {replyNoName, "10.1.2.3:7001"},
		"no name, IPv6, RESP3": {replyNoName3, "[fd00::7]:7001"},
		"no name, no IP":       {replyNoIP, "asked:7001"},
		"IPv6 in brackets":     {replyHead + "*4\r\n$9\r\n[fd00::7]\r\n" + replyID + "*0\r\n", "[fd00::7]:7001"},
		"name of any script":   {replyHead + "*4\r\n$15\r\nb\u00fccher.example\r\n" + replyID + "*0\r\n", "b\u00fccher.example:7001"},
		"no metadata":          {replyHead + "*4\r\n$8\r\n10.1.2.3\r\n" + replyID + "$-1\r\n", "10.1.2.3:7001"},
		"no metadata, array":   {replyHead + "*4\r\n$8\r\n10.1.2.3\r\n" + replyID + "*-1\r\n", "10.1.2.3:7001"},
		"no metadata, RESP3":   {replyHead + "*4\r\n$8\r\n10.1.2.3\r\n" + replyID + "_\r\n", "10.1.2.3:7001"},
		"null":                 {replyNull, "asked:7001"},
		"null, RESP3":          {replyNull3, "asked:7001"},
	} {
		t.Run(name, func(t *testing.T) {
			ranges, _, err := ParseSlots([]byte(test.reply), "asked:7000")
			require.NoError(t, err)
			id := "636174f2d8919ec24ac0f4be44b53219ffeb4f29"
			assert.Equal(t, []Range{{First: 0, Last: 8000, Nodes: []NodeAddr{{Addr: test.addr, ID: id, Dialled: strings.HasPrefix(test.addr, "asked")}}}}, ranges)
		})
	}
}

// TestParseSlotsOverAUnixSocket: a cluster of one node does not know its host. The client dialled
// /run/redis.sock:7001.
func TestParseSlotsOverAUnixSocket(t *testing.T) {
	t.Parallel()
	const path = "/run/redis.sock"
	for _, reply := range []string{replyEmpty, replyNull, replyNoIP} {
		ranges, _, err := ParseSlots([]byte(reply), path)
		require.NoError(t, err)
		require.Equal(t, path, ranges[0].Nodes[0].Addr)
		require.True(t, ranges[0].Nodes[0].Dialled)
	}
	ranges, _, err := ParseSlots([]byte(replyIPv4), path)
	require.NoError(t, err)
	require.Equal(t, "10.1.2.3:7001", ranges[0].Nodes[0].Addr)
	require.Equal(t, Redirect{Fate: fate.Nowhere, Slot: 1}, ParseRedirect([]byte("MOVED 1 :6379"), path))
	require.Equal(t, Redirect{Fate: fate.Moved, Slot: 1, Addr: "h:6379"}, ParseRedirect([]byte("MOVED 1 h:6379"), path))
}

func TestParseSlots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply string
		want  []Range
	}{
		"no range": {"*0\r\n", []Range{}},
		"no node":  {"*1\r\n*2\r\n:0\r\n:0\r\n", []Range{{First: 0, Last: 0, Nodes: nil}}},
		"old server, no ID": {
			"*1\r\n*3\r\n:5\r\n:6\r\n*2\r\n$1\r\na\r\n:1\r\n",
			[]Range{{First: 5, Last: 6, Nodes: []NodeAddr{{Addr: "a:1", ID: ""}}}},
		},
		"replicas": {
			"*2\r\n*4\r\n:0\r\n:5\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\nx\r\n*3\r\n$1\r\nb\r\n:2\r\n$1\r\ny\r\n" +
				"*3\r\n:6\r\n:16383\r\n*3\r\n+b\r\n:65535\r\n+z\r\n",
			[]Range{{First: 0, Last: 5, Nodes: []NodeAddr{{Addr: "a:1", ID: "x"}, {Addr: "b:2", ID: "y"}}}, {First: 6, Last: 16383, Nodes: []NodeAddr{{Addr: "b:65535", ID: "z"}}}},
		},
		"unknown replica": {
			"*1\r\n*4\r\n:0\r\n:5\r\n*3\r\n$1\r\na\r\n:1\r\n$1\r\nx\r\n*3\r\n$1\r\n?\r\n:0\r\n$1\r\ny\r\n",
			[]Range{{First: 0, Last: 5, Nodes: []NodeAddr{{Addr: "a:1", ID: "x"}}}},
		},
		"unknown primary": {
			"*1\r\n*4\r\n:0\r\n:5\r\n*3\r\n$-1\r\n:0\r\n$1\r\nx\r\n*3\r\n$1\r\nb\r\n:1\r\n$1\r\ny\r\n",
			[]Range{{First: 0, Last: 5, Nodes: nil}},
		},
		"more elements than today": {
			"*1\r\n*3\r\n:0\r\n:5\r\n*6\r\n$1\r\na\r\n:1\r\n$1\r\nx\r\n_\r\n*2\r\n,1.5\r\n#t\r\n%1\r\n+a\r\n~1\r\n(123\r\n",
			[]Range{{First: 0, Last: 5, Nodes: []NodeAddr{{Addr: "a:1", ID: "x"}}}},
		},
		"availability zone": {
			"*1\r\n*3\r\n:0\r\n:5\r\n*4\r\n+?\r\n:1\r\n+x\r\n*4\r\n$17\r\navailability-zone\r\n$2\r\neu\r\n+ip\r\n+h\r\n",
			[]Range{{First: 0, Last: 5, Nodes: []NodeAddr{{Addr: "h:1", ID: "x", Zone: "eu"}}}},
		},
		"metadata with other types": {
			"*1\r\n*3\r\n:0\r\n:5\r\n*4\r\n+?\r\n:1\r\n+x\r\n%3\r\n+n\r\n:7\r\n*1\r\n+ip\r\n+v\r\n+ip\r\n+h\r\n",
			[]Range{{First: 0, Last: 5, Nodes: []NodeAddr{{Addr: "h:1", ID: "x"}}}},
		},
		"value named ip": {
			"*1\r\n*3\r\n:0\r\n:5\r\n*4\r\n+?\r\n:1\r\n+x\r\n*4\r\n+name\r\n+ip\r\n+hostname\r\n+wrong\r\n",
			[]Range{{First: 0, Last: 5, Nodes: []NodeAddr{{Addr: "asked:1", ID: "x", Dialled: true}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ranges, _, err := ParseSlots([]byte(test.reply), "asked:7000")
			require.NoError(t, err)
			assert.Equal(t, test.want, ranges)
		})
	}
}

func TestParseSlotsErrors(t *testing.T) {
	t.Parallel()
	node := func(n string) string { return "*1\r\n*3\r\n:0\r\n:5\r\n" + n }
	for _, reply := range []string{
		"", "+OK\r\n", "*-1\r\n", "_\r\n", "*", "*1\r", "*1\r\n", "*999999999\r\n:1\r\n", "*99999999999999999999\r\n",
		"*0\r\n*0\r\n", "*1\r\n?\r\n", "-ERR no\r\n", "*16385\r\n" + strings.Repeat(":1\r\n", Count+1),
		node("*2\r\n$-5\r\n:1\r\n"), node("*2\r\n$9\r\na\r\n:1\r\n"), node("*2\r\n$1\r\nabc\r\n:1\r\n"),
		node("*4\r\n+a\r\n:1\r\n+x\r\n!2\r\n"),
	} {
		_, _, err := ParseSlots([]byte(reply), "asked:7000")
		assert.ErrorContains(t, err, "CLUSTER SLOTS reply: want an array of slot ranges, got ", "%.50q", reply)
	}
	for _, odd := range []string{
		"*1\r\n:1\r\n", ":1\r\n", "_\r\n", "*2\r\n:5\r\n:4\r\n", "*2\r\n:0\r\n:16384\r\n", "*2\r\n:-1\r\n:3\r\n", "*2\r\n+1\r\n:3\r\n",
		"*1027\r\n:1\r\n:2\r\n" + strings.Repeat("*2\r\n+a\r\n:1\r\n", 1025),
	} {
		_, _, err := ParseSlots([]byte("*1\r\n"+odd), "asked:7000")
		assert.ErrorContains(t, err, "want a slot range of first, last and nodes, got ", "%.50q", odd)
	}
	for _, odd := range []string{
		"*2\r\n+h\r\n:65536\r\n", "*2\r\n+h\r\n:-1\r\n", "*2\r\n+h\r\n+one\r\n", "*2\r\n:1\r\n:1\r\n", "*3\r\n+h\r\n:1\r\n:1\r\n",
		"+x\r\n", "*-1\r\n", "*1\r\n+x\r\n", "-ERR no\r\n",
	} {
		_, _, err := ParseSlots([]byte(node(odd)), "asked:7000")
		assert.ErrorContains(t, err, "want a node of endpoint, port and ID, got ", "%.50q", odd)
	}
	_, _, err := ParseSlots([]byte("+OK\r\n"), "asked:7000")
	assert.EqualError(t, err, `CLUSTER SLOTS reply: want an array of slot ranges, got "+OK\r\n"`)
}

// TestNodesWithoutAnAddress: the others are used. The slots of a primary without an address have no
// owner, whatever replicas there are.
func TestNodesWithoutAnAddress(t *testing.T) {
	t.Parallel()
	const nodeA, nodeB = "*3\r\n+a\r\n:1\r\n+x\r\n", "*3\r\n+b\r\n:2\r\n+y\r\n"
	a, b := NodeAddr{Addr: "a:1", ID: "x"}, NodeAddr{Addr: "b:2", ID: "y"}
	for odd, why := range map[string]string{
		"*3\r\n+h\r\n:0\r\n+z\r\n":                          "h:0 (ID z): its port is 0",
		"*3\r\n$-1\r\n:0\r\n+z\r\n":                         ":0 (ID z): its port is 0",
		"*4\r\n+?\r\n:0\r\n+z\r\n*1\r\n=5\r\ntxt:a\r\n":     "?:0 (ID z): its port is 0",
		"*2\r\n$3\r\na\nb\r\n:1\r\n":                        `a\nb:1 (ID ): its host is neither`,
		"*2\r\n+a b\r\n:1\r\n":                              "its host is neither",
		"*2\r\n+/tmp/s\r\n:1\r\n":                           "its host is neither",
		"*2\r\n+\xff\r\n:1\r\n":                             "its host is neither",
		"*2\r\n+[]\r\n:1\r\n":                               "its host is neither",
		"*2\r\n+" + strings.Repeat("h", 256) + "\r\n:1\r\n": "its host is neither",
	} {
		reply := "*3\r\n" + // a replica, a primary, and a range of its own
			"*5\r\n:0\r\n:5\r\n" + nodeA + odd + nodeB +
			"*4\r\n:6\r\n:9\r\n" + odd + nodeB +
			"*3\r\n:10\r\n:16383\r\n" + nodeB
		ranges, skips, err := ParseSlots([]byte(reply), "asked:7000")
		require.NoError(t, err)
		assert.Equal(t, []Range{{First: 0, Last: 5, Nodes: []NodeAddr{a, b}}, {First: 6, Last: 9, Nodes: nil}, {First: 10, Last: 16383, Nodes: []NodeAddr{b}}}, ranges)
		require.Len(t, skips, 1)
		assert.Equal(t, []uint16{6, 9}, []uint16{skips[0].First, skips[0].Last})
		assert.Contains(t, skips[0].Why, why)
	}
}

// Every reply that ends too early or has a byte changed must be refused or
// parsed, but never make the parser panic or allocate much.
func TestParseSlotsDamaged(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{replyIPv6, replyNull, replyNull3, replyNoName3} {
		for i := range reply {
			_, _, err := ParseSlots([]byte(reply[:i]), "asked:7000")
			assert.Error(t, err, "%q", reply[:i])
			for _, c := range "\x00\r\n*$%:_-9" {
				_, _, _ = ParseSlots([]byte(reply[:i]+string(c)+reply[i+1:]), "asked:7000")
			}
		}
	}
}

func TestParseSlotsLarge(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", Count)
	for i := range Count {
		fmt.Fprintf(&b, "*3\r\n:%d\r\n:%d\r\n*3\r\n$8\r\n10.1.2.3\r\n:7001\r\n$1\r\nx\r\n", i, i)
	}
	ranges, _, err := ParseSlots([]byte(b.String()), "asked:7000")
	require.NoError(t, err)
	assert.Len(t, ranges, Count)
	assert.Equal(t, Range{First: 16383, Last: 16383, Nodes: []NodeAddr{{Addr: "10.1.2.3:7001", ID: "x"}}}, ranges[16383])
}

func FuzzParseSlots(f *testing.F) {
	for _, reply := range []string{
		replyIPv4, replyIPv6, replyEmpty, replyName, replyNoName, replyNoName3, replyNoIP, replyNull, replyNull3,
		"*0\r\n", "-ERR no\r\n", "*1\r\n*2\r\n:0\r\n:0\r\n", "*99999\r\n",
	} {
		f.Add([]byte(reply), "10.0.0.1:7000")
	}
	f.Fuzz(func(t *testing.T, reply []byte, asked string) {
		ranges, _, err := ParseSlots(reply, asked)
		if err != nil {
			return
		}
		for _, r := range ranges {
			if r.First > r.Last || r.Last >= Count {
				t.Errorf("range %d to %d", r.First, r.Last)
			}
			for _, n := range r.Nodes {
				if strings.ContainsAny(n.Addr, "\r\n\x00") && !strings.ContainsAny(asked, "\r\n\x00") {
					t.Errorf("address %q", n.Addr)
				}
			}
		}
	})
}

func TestParseNodes(t *testing.T) {
	t.Parallel()
	const text = "b9 10.0.0.2:7000@17000,h.example slave a1 0 1 7 connected\n" +
		"abc\na b c d e f -1 h\na b c d e f g h\n" +
		"a1 10.0.0.1:7000@17000 myself,master - 0 0 7 connected 0-5460 [93-<-c3]\n" +
		"c3 :0@0 master,fail,noaddr - 1 1 3 disconnected 5461-16383\n"
	want := map[string]uint64{"a1": 7, "b9": 7, "c3": 3}
	for _, reply := range []string{
		fmt.Sprintf("$%d\r\n%s\r\n", len(text), text),
		fmt.Sprintf("=%d\r\ntxt:%s\r\n", len(text)+4, text),
	} {
		assert.Equal(t, want, ParseNodes([]byte(reply)))
	}
	for _, reply := range []string{"", "$-1\r\n", "_\r\n", ":1\r\n", "*0\r\n", "-ERR no\r\n"} {
		assert.Empty(t, ParseNodes([]byte(reply)), "%q", reply)
	}
}
