package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPrimaries(t *testing.T) {
	t.Parallel()
	const listed = "aa 127.0.0.1:1@2 myself,master - 0 0 3 connected 0-8191 [5->-bb]\n" +
		"bb 127.0.0.1:3@4 master - 0 1 4 connected 8192-16383\n" +
		"cc 127.0.0.1:5@6 slave bb 0 1 4 connected\n" +
		"zz 127.0.0.1:7@8 handshake - 0 0 0 disconnected\n" +
		"too short\n"
	got := primaries(listed, []string{"bb", "cc", "aa", "dd"})
	if want := []int{0, 0, 2, -1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCurrentEpoch(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]int64{
		"cluster_state:ok\r\ncluster_current_epoch:17\r\ncluster_my_epoch:3\r\n": 17,
		"cluster_state:ok\r\n": 0, "": 0, "cluster_current_epoch:x": 0,
	} {
		if got := currentEpoch(info); got != want {
			t.Errorf("%q: %d, want %d", info, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	v := view{primary: []int{0, 1, 2, 1, 2, -1}} // node 0 has no replica, node 5 is unknown
	for _, test := range []struct {
		fault fault
		want  []int
	}{
		{fault{kind: failover, primary: true}, []int{3, 4}},
		{fault{kind: takeover}, []int{3, 4}},
		{fault{kind: kill}, []int{1, 2}},
		{fault{kind: hangUp}, []int{1, 2}},
		{fault{kind: standalone}, []int{1, 2}},
		{fault{kind: shardLost}, []int{0, 1, 2}},
		{fault{kind: throttle}, []int{0, 1, 2}},
		{fault{kind: reshard}, []int{0, 1, 2}},
		{fault{kind: stop, primary: true}, []int{0, 1, 2}},
		{fault{kind: stop}, []int{0, 1, 2, 3, 4, 5}},
	} {
		if got := v.fit(test.fault); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.fault, got, test.want)
		}
	}
}

func TestUnexpected(t *testing.T) {
	t.Parallel()
	before := view{epoch: 10, primary: []int{0, 1, 2, 0, 1, 2}}
	same, swapped := before.primary, []int{3, 1, 2, 3, 1, 2}
	for _, test := range []struct {
		name  string
		fault fault
		node  int
		after view
		want  string
	}{
		{"nothing", fault{kind: nothing}, 0, view{10, same}, ""},
		{"a failover by itself", fault{kind: nothing}, 0, view{11, swapped}, "node 0 is a primary: false"},
		{"an election in vain", fault{kind: stop}, 0, view{11, same}, "the epoch rose by 1, want 0"},
		{"a failover and back", fault{kind: stop}, 0, view{12, same}, "the epoch rose by 2, want 0"},
		{"the failover that was asked for", fault{kind: failover}, 3, view{11, swapped}, ""},
		{"two of them", fault{kind: failover}, 3, view{12, swapped}, "the epoch rose by 2, want 1"},
		{"it did not happen", fault{kind: failover}, 3, view{10, same}, "node 0 is a primary: true"},
		{"another one", fault{kind: failover}, 4, view{11, swapped}, "node 0 is a primary: false"},
		{"slots that moved", fault{kind: reshard, slots: []int{1, 2, 3}}, 0, view{13, same}, ""},
		{"and more", fault{kind: reshard, slots: []int{1, 2, 3}}, 0, view{14, same}, "the epoch rose by 4, want 3"},
	} {
		got := unexpected(before, test.after, test.fault, test.node)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
