package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// luaScripts have KEYS {bar}k, which is a text, and {bar}n, a hash.
var luaScripts = []string{
	"return {1, nil, 3}",
	"return {1.7, 'x', true, false, {}}",
	"return {ok='a\\r\\nb'}",
	"return {err='-x'}",
	"return redis.pcall('INCR', KEYS[1])",
	"return redis.pcall('INCR', KEYS[1]).err",
	"return {pcall(redis.call, 'INCR', KEYS[1])}",
	"local x = 1\nreturn\n\nredis.call('INCR', KEYS[1])",
	"local function f()\n return redis.call('FOO') end\nreturn f()",
	"return redis.call()",
	"return redis.pcall({})",
	"return redis.call('GET', '{foo}elsewhere')",
	"return redis.call('MGET', '{bar}a', '{a9}b')",
	"return redis.error_reply('MY ERR')",
	"return redis.error_reply('single')",
	"return redis.error_reply('-ERR x')",
	"return redis.error_reply()",
	"return redis.status_reply('FINE')",
	"\nerror('boom')",
	"\nerror({err='MY boom'})",
	"assert(false, 'no')",
	"x = 1",
	"KEYS = {}",
	"_G.x = 1",
	"redis.foo = 1",
	"string.foo = 1",
	"KEYS[1] = 'x' return KEYS[1]",
	"return x",
	"return os.time()",
	"print('x')",
	"return loadstring('return 7')()",
	"return redis.call('ECHO', 12345678901234567890)",
	"local inf = 1/0 return redis.call('ECHO', inf)",
	"return {tostring(0.1 + 0.2), tostring(12345678.9), tostring(100), tostring(1e15), tostring(1 / 0)}",
	"return {tostring(nil), tostring(true), tostring('x')}",
	"return {tonumber('1e3'), tonumber('5e-07') * 1e8, tonumber(' 0x1F '), tonumber('010'), tonumber('-0x7'), tonumber(8.5)}",
	"return tonumber('1e400') == math.huge and tonumber('inf') == math.huge",
	"return tonumber('101', 2) .. tostring(tonumber('x')) .. tostring(tonumber('')) .. tostring(tonumber('1_0'))",
	"return redis.call('ECHO', 007)",
	"return redis.call('HGETALL', KEYS[2])",
	"local h = redis.call('HGETALL', KEYS[2]) return h",
	"return redis.call('MGET', KEYS[1], KEYS[2])",
}

// notCompared are words of scripts for which the model is as 7.0. Behind a script that wants keys of another node, Valkey
// refuses what later ones do.
var notCompared = map[string]string{"redis-8.10": "os. 12345678901234567890", "valkey-9": "os. 12345678901234567890 elsewhere {a9}b"}

// TestFidelityOfLua compares scripts, with their errors.
func TestFidelityOfLua(t *testing.T) {
	eachServer(t, func(t *testing.T, server, binary string) {
		w := newTwin(t, server, binary, 1)
		for _, hello := range []string{"2", "3"} {
			p := newPair(w, 0)
			defer p.close()
			for _, command := range []string{"HELLO " + hello, "SET {bar}k text", "HSET {bar}n field 1"} {
				p.both(strings.Fields(command)...)
			}
			for _, script := range luaScripts {
				if slices.ContainsFunc(strings.Fields(notCompared[server]), func(word string) bool { return strings.Contains(script, word) }) {
					continue
				}
				mine, theirs := p.both("EVAL", script, "2", "{bar}k", "{bar}n")
				require.Equal(t, theirs, mine, "RESP%s: %s", hello, script)
			}
		}
	})
}

// TestScriptsThatDoNotCompile are not kept, as on real servers.
func TestScriptsThatDoNotCompile(t *testing.T) {
	s := New(Options{}).Nodes()[0].NewSession(nil)
	defer s.Close()
	require.Equal(t, "-ERR Error compiling script (new function): user_script:1: syntax error\r\n", do(s, "EVAL return( 0"))
	require.Equal(t, "*1\r\n:0\r\n", do(s, "SCRIPT EXISTS "+sha([]byte("return("))))
}
