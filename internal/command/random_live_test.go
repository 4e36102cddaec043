package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/servers"
)

// linesPerCommand is how many lines are made up for each command.
const linesPerCommand = 25

// seed returns that of REDISLANES_SEED, or a new one, and prints it.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("REDISLANES_SEED"); text != "" {
		var err error
		n, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "REDISLANES_SEED")
	}
	t.Logf("REDISLANES_SEED=%d makes the same lines again", n)
	return n
}

// TestKeysOfRandomLinesEqualServers makes up lines for each command that a server
// at hand knows, and compares their keys with those that COMMAND GETKEYS finds.
// What the server refuses says nothing.
func TestKeysOfRandomLinesEqualServers(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	for _, binary := range servers.Servers(t) {
		t.Run(filepath.Base(filepath.Dir(binary))+"/"+filepath.Base(binary), func(t *testing.T) {
			t.Parallel()
			ctx, conn := dialBinary(t, binary)
			m := maker{rand.New(rand.NewPCG(seed, 0))}
			checked, withKeys := 0, map[string]bool{}
			for _, c := range serverCommands(t, ctx, conn) {
				if c.hasSubcommands {
					continue // each of them is a row of its own
				}
				name, _, _ := strings.Cut(c.name, "|")
				if keyDifferences[name] != "" {
					continue
				}
				for range linesPerCommand {
					n, ok := compareKeys(t, ctx, conn, m.line(c))
					if !ok {
						continue
					}
					checked++
					if n > 0 {
						withKeys[c.name] = true
					}
				}
			}
			t.Logf("%d lines compared; %d commands with keys", checked, len(withKeys))
			assert.Greater(t, checked, 2500)
			assert.Greater(t, len(withKeys), 150)
		})
	}
}

// compareKeys compares the keys that the table finds in a line with those that the server finds. It
// returns the number of keys; ok is false if the server refuses the line.
func compareKeys(t *testing.T, ctx context.Context, conn radix.Conn, line string) (n int, ok bool) {
	t.Helper()
	encoded := command.Encode(line)
	want := []string{}
	err := conn.Do(ctx, radix.Cmd(&want, "COMMAND", append([]string{"GETKEYS"}, elements(encoded)...)...))
	require.NoError(t, ctx.Err())
	if err != nil && !strings.Contains(err.Error(), "The command has no key arguments") {
		return 0, false
	}
	assert.ElementsMatch(t, want, command.KeysOf(encoded), line)
	return len(want), true
}

// A maker makes up command lines.
type maker struct{ *rand.Rand }

// line makes up a line with as many arguments as the command takes, with numbers
// and keywords where its key specifications look for them. Commands whose keys
// depend on options have lines of their own.
func (m maker) line(c serverCommand) string {
	if grammar := grammars[c.name]; grammar != nil {
		return c.name + " " + grammar(m)
	}
	words := strings.Split(c.name, "|")
	n := max(c.arity, -c.arity)
	if c.arity < 0 {
		n += m.IntN(7)
	}
	for len(words) < n {
		words = append(words, m.word())
	}
	for _, s := range c.specs {
		words = m.fit(words, s)
	}
	return strings.Join(words, " ")
}

// fit makes the words a line in which the specification finds keys, more often
// than not.
func (m maker) fit(words []string, s keySpec) []string {
	begin := s.index
	if s.keyword != "" {
		if m.IntN(4) == 0 {
			return words // it is an option
		}
		begin = s.startFrom
		if begin < 0 {
			begin = max(2, len(words)+begin)
		}
		words = slices.Insert(words, min(begin, len(words)), s.keyword)
		begin = min(begin, len(words)-1) + 1
	}
	if s.countAt < 0 {
		return words
	}
	keys := 1 + m.IntN(4)
	for len(words) < begin+s.countAt+1+m.IntN(3)+keys {
		words = append(words, m.word())
	}
	words[begin+s.countAt] = strconv.Itoa(keys)
	return words
}

// word is a key, or a number, which some commands insist on.
func (m maker) word() string {
	if m.IntN(4) == 0 {
		return strconv.Itoa(m.IntN(5))
	}
	return fmt.Sprint(string(rune('a'+m.IntN(6))), m.IntN(100))
}

// some joins up to most of the options, in any order and perhaps twice.
func (m maker) some(most int, options ...string) string {
	var line []string
	for range m.IntN(most + 1) {
		line = append(line, m.fill(options[m.IntN(len(options))]))
	}
	return strings.Join(line, " ")
}

// fill puts words in the places of underscores.
func (m maker) fill(text string) string {
	for strings.Contains(text, "_") {
		text = strings.Replace(text, "_", m.word(), 1)
	}
	return text
}

// words joins n of them.
func (m maker) words(n int) string {
	return m.fill(strings.TrimSpace(strings.Repeat("_ ", n)))
}

// grammars make up the arguments of commands whose keys depend on options.
var grammars = map[string]func(m maker) string{
	"SORT": func(m maker) string {
		return m.words(1) + " " + m.some(5, "BY _", "GET _", "LIMIT 0 _", "ASC", "ALPHA", "STORE _", "BY STORE", "GET LIMIT", "store _")
	},
	"XREAD": func(m maker) string {
		return m.some(2, "COUNT _", "BLOCK _") + " STREAMS " + m.words(2*(1+m.IntN(3)))
	},
	"XREADGROUP": func(m maker) string {
		return m.fill("GROUP _ _ ") + m.some(3, "COUNT _", "BLOCK _", "NOACK") + " STREAMS " + m.words(2*(1+m.IntN(3)))
	},
	"GEORADIUS": func(m maker) string {
		return m.words(1) + " 1 2 3 km " + m.some(2, "WITHCOORD", "COUNT _", "ASC") + m.some(1, " STORE _", " STOREDIST _")
	},
	"GEORADIUSBYMEMBER": func(m maker) string {
		return m.words(2) + " 3 km " + m.some(2, "WITHDIST", "COUNT _", "DESC") + m.some(1, " STORE _", " STOREDIST _")
	},
	"MIGRATE": func(m maker) string {
		options := m.some(3, "COPY", "REPLACE", "AUTH _", "AUTH2 _ _")
		if m.IntN(2) == 0 {
			return m.fill("host 1 _ 0 10 ") + options
		}
		return "host 1 '' 0 10 " + options + " KEYS " + m.words(1+m.IntN(4))
	},
	"STRALGO": func(m maker) string {
		return "LCS " + m.some(2, "LEN", "IDX") + m.fill([]string{" KEYS _ _", " STRINGS _ _"}[m.IntN(2)])
	},
}
