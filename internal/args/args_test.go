package args

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arg  any
		want string
	}{
		{"text", "text"}, {"", ""}, {[]byte("bytes"), "bytes"}, {[]byte(nil), ""}, {true, "1"}, {false, "0"},
		{-1, "-1"}, {int8(-8), "-8"}, {int16(-16), "-16"}, {int32(65), "65"}, {int64(math.MinInt64), "-9223372036854775808"},
		{uint(1), "1"}, {uint8(8), "8"}, {uint16(16), "16"}, {uint32(32), "32"}, {uint64(math.MaxUint64), "18446744073709551615"},
		{1.5, "1.5"}, {float32(0.1), "0.1"}, {1e21, "1000000000000000000000"}, {math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {math.NaN(), "nan"},
		{big.NewInt(7), "7"}, {time.Unix(0, 0).UTC(), "1970-01-01T00:00:00Z"}, {binary{}, "binary"},
	} {
		got, err := Append([]byte("before"), "SET", []any{"k", c.arg})
		require.NoError(t, err)
		require.Equal(t, "before"+string(resp.AppendCommand(nil, "SET", "k", c.want)), string(got), "%T", c.arg)
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	type word string
	for want, arg := range map[string]any{
		"argument 2 is a time.Duration: pass a number in the unit of the command": time.Minute,
		"argument 2 is a []string, which cannot be sent: pass strings":            []string{"a"},
		"argument 2 is a map[string]int, which cannot be sent: pass strings":      map[string]int{"a": 1},
		"argument 2 is a args.word, which cannot be sent: pass strings":           word("a"),
		"argument 2 is a json.RawMessage, which cannot be sent: pass strings":     json.RawMessage("{}"),
		"argument 2 is a <nil>, which cannot be sent: pass strings":               nil,
		"argument 2 is a chan int, which cannot be sent: pass strings":            make(chan int),
		"argument 2 is a args.fails, and its marshaler has failed: not sent":      fails{},
	} {
		got, err := Append([]byte("before"), "SET", []any{"k", arg})
		require.Equal(t, "before", string(got))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.Equal(t, arg == any(fails{}), errors.Is(err, errSecret))
	}
	_, err := Append(nil, "SET", []any{panics{}})
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.ErrorAs(t, err, new(*guard.PanicError))
}

var errSecret = errors.New("it is secret")

type fails struct{}

func (fails) MarshalText() ([]byte, error) { return nil, errSecret }

type panics struct{}

func (panics) MarshalText() ([]byte, error) { panic("in the program") }

type binary struct{}

func (binary) MarshalBinary() ([]byte, error) { return []byte("binary"), nil }
