package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
)

// split separates the name of a command line from its arguments. "”" is an
// empty argument.
func split(line string) (name string, args []string) {
	fields := strings.Fields(line)
	for i, f := range fields {
		if f == "''" {
			fields[i] = ""
		}
	}
	return fields[0], fields[1:]
}

func TestCommandSlot(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"GET a":                               "a",
		"sEt a 1":                             "a",
		"MGET {t}a {t}b":                      "t",
		"ZUNIONSTORE {t}d 2 {t}a {t}b":        "t",
		"SORT {t}a STORE {t}d":                "t",
		"EVALSHA x 2 {t}a {t}b {u}":           "t",
		"XREAD BLOCK 0 STREAMS {t}a {t}b 0 0": "t",
	} {
		name, args := split(line)
		slot, err := commandSlot(name, args)
		require.NoError(t, err, line)
		assert.Equal(t, int32(slots.Of(want)), slot, line)
	}
	slot, err := commandSlot("PING", nil)
	assert.EqualValues(t, slots.NoKey, slot)
	assert.NoError(t, err)
}

func TestCrossSlotError(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"mget canary1 canary2", "ZUNIONSTORE canary1 1 canary2", "sort canary1 store canary2", "RENAME canary1 canary2",
		"EVAL canary 2 canary1 canary2", "MSET {canary1} canary {canary1} canary canary2 canary",
	} {
		name, args := split(line)
		_, err := commandSlot(name, args)
		require.ErrorIs(t, err, redislanes.ErrCrossSlot, line)
		require.ErrorIs(t, err, redislanes.ErrNotSent, line)
		var cross *redislanes.Error
		require.True(t, errors.As(err, &cross))
		assert.Equal(t, strings.ToUpper(name), cross.Command)
		assert.ErrorContains(t, err, strconv.Itoa(int(slots.Of("canary1"))))
		assert.ErrorContains(t, err, strconv.Itoa(int(slots.Of("canary2"))))
		assert.NotContains(t, err.Error(), "canary")
	}
	_, err := commandSlot("mget", []string{"foo", "bar"})
	assert.EqualError(t, err, "redislanes: MGET: not sent: keys in different slots, 12182 and 5061: give them a common {hash tag}, or send a command for each slot")
}

func TestCommandSlotDoesNotAllocate(t *testing.T) {
	for _, line := range []string{
		"get a", "INCRBY a 1", "EXPIRE a 60", "MGET {t}a {t}b {t}c", "mset {t}a 1 {t}b 2", "EVALSHA x 2 {t}a {t}b c",
		"XREAD COUNT 1 BLOCK 0 STREAMS a 0", "SORT {t}a STORE {t}b", "object encoding a", "CLIENT TRACKING on", "no.such a",
	} {
		name, args := split(line)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, _ = commandSlot(name, args)
			_ = commandTraits(name, args)
		}), line)
	}
}

func BenchmarkCommandSlot(b *testing.B) {
	for _, line := range []string{
		"GET user:{1000}:name", "incrby user:{1000}:hits 1", "EXPIRE user:{1000}:hits 60",
		"MGET {t}1 {t}2 {t}3 {t}4 {t}5 {t}6 {t}7 {t}8", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 user:{1000} 5",
	} {
		name, args := split(line)
		b.Run(fmt.Sprintf("%s/args=%d", name, len(args)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = commandSlot(name, args)
			}
		})
	}
}

func commandSlot(name string, args []string) (slot int32, err error) {
	var buf [256]byte
	return slotOf(command.Of(resp.AppendCommand(buf[:0], name, args...)))
}

func commandTraits(name string, args []string) command.Traits {
	var buf [256]byte
	return command.Of(resp.AppendCommand(buf[:0], name, args...)).Traits()
}
