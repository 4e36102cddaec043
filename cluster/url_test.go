package cluster_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	type want struct {
		addrs    string
		user, pw string
		db       int
		tls      bool
		primary  string
	}
	for in, w := range map[string]want{
		"a":                                      {addrs: "a:6379"},
		" a:1, b ,[::1]:2,::1,[fe80::2]":         {addrs: "a:1 b:6379 [::1]:2 [::1]:6379 [fe80::2]:6379"},
		"fe80::2%eth0,[fe80::2%eth0]:1":          {addrs: "[fe80::2%eth0]:6379 [fe80::2%eth0]:1"},
		"redis://[fe80::2%25eth0]:1,[fe80::3]":   {addrs: "[fe80::2%eth0]:1 [fe80::3]:6379"},
		"redis://a":                              {addrs: "a:6379"},
		"redis://a:/":                            {addrs: "a:6379"},
		"REDIS://a:1,b:2/3":                      {addrs: "a:1 b:2", db: 3},
		"redis://:p%40%2F%25@a:1?db=3":           {addrs: "a:1", pw: "p@/%", db: 3},
		"rediss://u:p:q@a:1,b/0":                 {addrs: "a:1 b:6379", user: "u", pw: "p:q", tls: true},
		"redis://a/2?db=2":                       {addrs: "a:6379", db: 2},
		"unix:///run/redis.sock?db=1":            {addrs: "/run/redis.sock", db: 1},
		"unix://:p@/run/my%20redis.sock":         {addrs: "/run/my redis.sock", pw: "p"},
		"redis-sentinel://a,b:1/4?master_name=m": {addrs: "a:26379 b:1", db: 4, primary: "m"},
		"rediss-sentinel://u:p@a?master_name=m&sentinel_password=canary-s": {addrs: "a:26379", user: "u", pw: "p", tls: true, primary: "m"},
	} {
		c, addrs, err := cluster.ParseURL(in)
		require.NoError(t, err, in)
		got := want{strings.Join(addrs, " "), c.Dialer.Username, c.Dialer.Password, c.Dialer.Database, c.Dialer.TLS != nil, c.Sentinel}
		require.Equal(t, w.tls, c.SentinelDialer.TLS != nil)
		require.NotContains(t, fmt.Sprintf("%v %+v", c, c), "canary")
		require.Equal(t, w, got, in)
	}
	c, _, err := cluster.ParseURL("redis://a?client_name=n&protocol=3&timeout=500ms&standalone=true&lazy=1")
	require.NoError(t, err)
	require.Equal(t, "n", c.Dialer.ClientName)
	require.Equal(t, 3, c.Dialer.Protocol)
	require.Equal(t, 500*time.Millisecond, c.Dialer.Timeout)
	require.True(t, c.Standalone)
	require.True(t, c.Lazy)

	c, _, err = cluster.ParseURL("redis-sentinel://a?master_name=m&timeout=500ms")
	require.NoError(t, err)
	for _, d := range []lanes.Dialer{c.Dialer, c.SentinelDialer} {
		require.Equal(t, 500*time.Millisecond, d.Timeout)
	}
}

// TestParseURLErrors: errors say which part is wrong, and never show what may be
// a password.
func TestParseURLErrors(t *testing.T) {
	t.Parallel()
	const form, unknown = "percent-encoded in user", "a parameter is not known"
	for in, says := range map[string]string{
		"":                                     "address 1 has no host",
		"a:1,":                                 "address 2 has no host",
		"a:canary":                             "port of address 1",
		"a:b:canary":                           "address 1: want host",
		"u:canary@a:1":                         "want host:port,host:port or a URL",
		"http://u:canary@a:1":                  "or a URL with redis://",
		"redis://:canary":                      "address 1 has no host",
		"redis://a:0":                          "port of address 1",
		"redis://u:ca/nary@a":                  form,
		"redis://u:ca?nary@a":                  form,
		"redis://u:ca#nary@a":                  form,
		"redis://u:ca%nary@a":                  form,
		"redis://canary@a":                     "a user without a password",
		"redis://a/canary":                     "parameter db: want a number",
		"redis://a/-1":                         "Dialer.Database = -1",
		"redis://a?db=canary":                  "parameter db: want a number",
		"redis://a?canary=1":                   unknown,
		"redis://a?username=u&password=canary": unknown, // radix has these
		"redis://a?lazy=canary":                "parameter lazy: want a boolean",
		"redis://a?timeout=canary":             "parameter timeout: want a duration",
		"redis://a?timeout=-1s":                "Dialer.Timeout",
		"redis://a?protocol=4":                 "Dialer.Protocol = 4",
		"redis://a?lazy=%zcanary":              "percent-encoded",
		"unix://canary/run/redis.sock":         "want unix:///path",
		"unix:///":                             "want unix:///path",
		"redis-sentinel://:canary@a":           "parameter master_name is missing",
		"redis-sentinel://a?master_name=":      "parameter master_name is missing",
	} {
		_, _, err := cluster.ParseURL(in)
		require.ErrorContains(t, err, says, in)
		require.NotContains(t, err.Error(), "canary", in)
	}
}

// FuzzParseURL: what is parsed has usable addresses and keeps its password, and what
// is not never shows a part of it.
func FuzzParseURL(f *testing.F) {
	f.Add("redis://", "u", "pass/wo?rd@#%", "a:1,b", "/2?lazy=true")
	f.Add("unix://", "", "password", "/run/redis.sock", "")
	f.Fuzz(func(t *testing.T, scheme, user, password, hosts, rest string) {
		escaped := url.PathEscape(user) + ":" + strings.ReplaceAll(url.PathEscape(password), "@", "%40")
		c, addrs, err := cluster.ParseURL(scheme + escaped + "@" + hosts + rest)
		if err == nil {
			require.NotEmpty(t, addrs)
			for _, addr := range addrs {
				require.NotEmpty(t, addr)
			}
			if !strings.ContainsAny(scheme+user+hosts+rest, "@:?#%/ ") {
				require.Equal(t, password, c.Dialer.Password)
			}
		}
		const secret = "canary-of-password"
		for _, in := range []string{scheme + user + ":" + secret + "@" + hosts + rest, scheme + secret + hosts + rest, scheme + hosts + "/" + secret} {
			if _, _, err := cluster.ParseURL(in); err != nil {
				require.NotContains(t, err.Error(), secret)
			}
		}
	})
}
