package model

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// luaScripts have KEYS {bar}k, which is a text, and {bar}n, a hash; and what they reply, in
// RESP2. % stands for what servers add to errors, with the line behind it.
var luaScripts = []struct{ text, reply string }{
	{"return {1, nil, 3}", "*1\r\n:1\r\n"},
	{"return {1.7, 'x', true, false, {}}", "*5\r\n:1\r\n$1\r\nx\r\n:1\r\n$-1\r\n*0\r\n"},
	{"return {ok='a\\r\\nb'}", "+a  b\r\n"},
	{"return {err='-x'}", "--x\r\n"},
	{"return redis.pcall('INCR', KEYS[1])", "-ERR value is not an integer or out of range\r\n"},
	{"return redis.pcall('INCR', KEYS[1]).err", "$43\r\nERR value is not an integer or out of range\r\n"},
	{"return {pcall(redis.call, 'INCR', KEYS[1])}", "*2\r\n$-1\r\n$43\r\nERR value is not an integer or out of range\r\n"},
	{"local x = 1\nreturn\n\nredis.call('INCR', KEYS[1])", "-ERR value is not an integer or out of range%4\r\n"},
	{"local function f()\n return redis.call('FOO') end\nreturn f()", "-ERR Unknown Redis command called from script%2\r\n"},
	{"return redis.call()", "-ERR Please specify at least one argument for this redis lib call%1\r\n"},
	{"return redis.pcall({})", "-ERR Lua redis lib command arguments must be strings or integers\r\n"},
	{"return redis.call('GET', '{foo}elsewhere')", "-ERR Script attempted to access a non local key in a cluster node%1\r\n"},
	{"return redis.call('MGET', '{bar}a', '{a9}b')", "-ERR Script attempted to access a non local key in a cluster node%1\r\n"},
	{"return redis.error_reply('MY ERR')", "-MY ERR\r\n"},
	{"return redis.error_reply('single')", "-ERR single\r\n"},
	{"return redis.error_reply('-ERR x')", "-ERR x\r\n"},
	{"return redis.error_reply()", "-ERR wrong number or type of arguments\r\n"},
	{"return redis.status_reply('FINE')", "+FINE\r\n"},
	{"return redis.sha1hex('x')", "$40\r\n11f6ad8ec52a2984abaafd7c3b516503785c2072\r\n"},
	{"return redis.sha1hex()", "-ERR wrong number of arguments%1\r\n"},
	{"redis.log(redis.LOG_WARNING, 'x') return 1", ":1\r\n"},
	{"return redis.log(7, 'x')", "-ERR Invalid debug level.%1\r\n"},
	{"return redis.replicate_commands()", ":1\r\n"},
	{"redis.set_repl(redis.REPL_ALL) return 1", ":1\r\n"},
	{"\nerror('boom')", "-ERR user_script:2: boom%2\r\n"},
	{"\nerror({err='MY boom'})", "-MY boom%2\r\n"},
	{"assert(false, 'no')", "-ERR user_script:1: no%1\r\n"},
	{"x = 1", "-ERR user_script:1: Attempt to modify a readonly table%1\r\n"},
	{"KEYS = {}", "-ERR user_script:1: Attempt to modify a readonly table%1\r\n"},
	{"_G.x = 1", "-ERR user_script:1: Attempt to modify a readonly table%1\r\n"},
	{"redis.foo = 1", "-ERR user_script:1: Attempt to modify a readonly table%1\r\n"},
	{"string.foo = 1", "-ERR user_script:1: Attempt to modify a readonly table%1\r\n"},
	{"KEYS[1] = 'x' return KEYS[1]", "$1\r\nx\r\n"},
	{"return x", "-ERR user_script:1: Script attempted to access nonexistent global variable 'x'%1\r\n"},
	{"return os.time()", "-ERR user_script:1: Script attempted to access nonexistent global variable 'os'%1\r\n"},
	{"print('x')", "-ERR user_script:1: Script attempted to access nonexistent global variable 'print'%1\r\n"},
	{"return loadstring('return 7')()", ":7\r\n"},
	{"return redis.call('ECHO', 12345678901234567890)", "$22\r\n1.2345678901234567e+19\r\n"},
	{"local inf = 1/0 return redis.call('ECHO', inf)", "$3\r\ninf\r\n"},
	{"return {tostring(0.1 + 0.2), tostring(12345678.9), tostring(100), tostring(1e15), tostring(1 / 0)}",
		"*5\r\n$3\r\n0.3\r\n$10\r\n12345678.9\r\n$3\r\n100\r\n$5\r\n1e+15\r\n$3\r\ninf\r\n"},
	{"return {tostring(nil), tostring(true), tostring('x')}", "*3\r\n$3\r\nnil\r\n$4\r\ntrue\r\n$1\r\nx\r\n"},
	{"return {tonumber('1e3'), tonumber('5e-07') * 1e8, tonumber(' 0x1F '), tonumber('010'), tonumber('-0x7'), tonumber(8.5)}",
		"*6\r\n:1000\r\n:50\r\n:31\r\n:10\r\n:-7\r\n:8\r\n"},
	{"return tonumber('1e400') == math.huge and tonumber('inf') == math.huge", ":1\r\n"},
	{"return tonumber('101', 2) .. tostring(tonumber('x')) .. tostring(tonumber('')) .. tostring(tonumber('1_0'))", "$10\r\n5nilnilnil\r\n"},
	{"return redis.call('ECHO', 007)", "$1\r\n7\r\n"},
	{"return redis.call('HGETALL', KEYS[2])", "*2\r\n$5\r\nfield\r\n$1\r\n1\r\n"},
	{"local h = redis.call('HGETALL', KEYS[2]) return h", "*2\r\n$5\r\nfield\r\n$1\r\n1\r\n"},
	{"return redis.call('MGET', KEYS[1], KEYS[2])", "*2\r\n$4\r\ntext\r\n$-1\r\n"},
	{"math.randomseed(7) return {math.random(10), math.random(1, 6), math.random(1000000)}", "*3\r\n:3\r\n:5\r\n:265491\r\n"},
}

// inLua returns the command that runs a script, and its reply.
func inLua(text, reply string, resp3 bool) (args [][]byte, want string) {
	for _, word := range []string{"EVAL", text, "2", "{bar}k", "{bar}n"} {
		args = append(args, []byte(word))
	}
	if message, line, ok := strings.Cut(reply, "%"); ok {
		reply = message + " script: " + sha([]byte(text)) + ", on @user_script:" + strings.TrimSpace(line) + ".\r\n"
	}
	if resp3 {
		reply = strings.ReplaceAll(reply, "$-1\r\n", "_\r\n")
	}
	return args, reply
}

func TestLua(t *testing.T) {
	for _, hello := range []string{"2", "3"} {
		s := New(Options{Primaries: 2}).Nodes()[0].NewSession(nil)
		for _, command := range []string{"HELLO " + hello, "SET {bar}k text", "HSET {bar}n field 1"} {
			do(s, command)
		}
		for _, script := range luaScripts {
			args, want := inLua(script.text, script.reply, hello == "3")
			reply, _ := s.Do(args)
			require.Equal(t, want, string(reply), "RESP%s: %s", hello, script.text)
		}
		s.Close()
	}
}

// TestFidelityOfLua: a real server replies so.
func TestFidelityOfLua(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string, dialect Dialect) {
		if dialect != Redis70 {
			t.Skip("texts of errors differ")
		}
		w := newTwin(t, binary, dialect, 1)
		for _, hello := range []string{"2", "3"} {
			p := newPair(w, 0)
			for _, command := range []string{"HELLO " + hello, "SET {bar}k text", "HSET {bar}n field 1"} {
				p.send(w.gen.words(command))
				p.receive()
			}
			for _, script := range luaScripts {
				args, want := inLua(script.text, script.reply, hello == "3")
				p.send(args)
				require.Equal(t, want, string(p.receive()), "RESP%s: %s", hello, script.text)
			}
			p.close()
		}
	})
}

// TestScriptsThatDoNotCompile are not kept, as on real servers.
func TestScriptsThatDoNotCompile(t *testing.T) {
	s := New(Options{}).Nodes()[0].NewSession(nil)
	defer s.Close()
	const broken = "-ERR Error compiling script (new function): user_script:1: syntax error\r\n"
	require.Equal(t, broken, do(s, "SCRIPT LOAD return("))
	for _, text := range []string{"return(", "return redis.call('GET',)", "return redis.call()x"} {
		reply, _ := s.Do([][]byte{[]byte("EVAL"), []byte(text), []byte("0")})
		require.Equal(t, broken, string(reply), text)
	}
	require.Equal(t, "*1\r\n:0\r\n", do(s, "SCRIPT EXISTS "+sha([]byte("return("))))
}

// TestEndlessScript: a script without an end has one, also if it catches errors, and the
// cluster lives on.
func TestEndlessScript(t *testing.T) {
	s := New(Options{}).Nodes()[0].NewSession(nil)
	defer s.Close()
	for _, text := range []string{"while true do end", "while true do pcall(function() while true do end end) end"} {
		reply, _ := s.Do([][]byte{[]byte("EVAL"), []byte(text), []byte("0")})
		require.Contains(t, string(reply), "runs for more than "+strconv.Itoa(mostInstructions/1_000_000)+",000,000 instructions")
	}
	require.Equal(t, "+PONG\r\n", do(s, "PING"))
}

// TestRandomNumbersOfScripts are the same in each cluster, so that seeds repeat.
func TestRandomNumbersOfScripts(t *testing.T) {
	s := New(Options{}).Nodes()[0].NewSession(nil)
	defer s.Close()
	require.Equal(t, ":397\r\n", do(s, "EVAL return(math.random(1,1000)) 0"))
	require.Equal(t, ":841\r\n", do(s, "EVAL return(math.random(1,1000)) 0"))
}
