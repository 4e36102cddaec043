package pool_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// filled returns a value of c's type in which no field is zero, and no two numbers
// are equal.
func filled(c pool.Config) reflect.Value {
	v := reflect.New(reflect.TypeOf(c)).Elem()
	n := int64(1)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch n++; v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Int, reflect.Int64:
			v.SetInt(n)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Func:
			v.Set(reflect.MakeFunc(v.Type(), nil))
		default:
			panic("what fills a " + v.Kind().String() + "?")
		}
	}
	fill(v)
	return v
}

// TestSettingsAreComplete: every field of the settings arrives where it is used,
// under the same name.
func TestSettingsAreComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []pool.Config{pool.Fixed{}, pool.Adaptive{}, pool.Laned{}} {
		from := filled(c)
		to := reflect.ValueOf(from.Interface().(pool.Config).Settings())
		require.Equal(t, from.Type().Name(), to.Type().Name())
		same(t, from.Type().Name(), from, to)
	}
}

func same(t *testing.T, name string, from, to reflect.Value) {
	t.Helper()
	require.Equal(t, from.NumField(), to.NumField(), name)
	for i := range from.NumField() {
		field := name + "." + from.Type().Field(i).Name
		other := to.FieldByName(from.Type().Field(i).Name)
		require.True(t, other.IsValid(), field)
		switch v := from.Field(i); v.Kind() {
		case reflect.Struct:
			same(t, field, v, other)
		case reflect.Func:
			require.False(t, other.IsNil(), field)
		default:
			require.Equal(t, v.Interface(), other.Interface(), field)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, pool.Validate(pool.Adaptive{Min: 2, Max: 4}))
	require.EqualError(t, pool.Validate(nil), "pool: the Config is nil: pass Fixed{}, Adaptive{} or Laned{}")
	require.EqualError(t, pool.Validate((*pool.Laned)(nil)), "pool: the Config is a nil *pool.Laned: pass Fixed{}, Adaptive{} or Laned{}")
	require.NoError(t, pool.Validate(&pool.Laned{}))
	require.EqualError(t, pool.Validate(pool.Laned{Lanes: -1}), "pool: Laned.Lanes = -1: must not be negative")
}

// TestCustomRefuses: what cannot be used is an error of the function that Custom
// returns, and names the field.
func TestCustomRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]pool.Config{"the Config is nil": nil, "Fixed.Size = -1": pool.Fixed{Size: -1}} {
		client, err := pool.Custom(c, lanes.Dialer{})(t.Context(), "tcp", "127.0.0.1:1")
		require.ErrorContains(t, err, want)
		require.Nil(t, client)
	}
}

// TestCustom: the face does what the pool behind it does.
func TestCustom(t *testing.T) {
	t.Parallel()
	server, err := redistest.LaunchEmulated(1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client, err := pool.Custom(pool.Fixed{}, lanes.Dialer{})(ctx, "tcp", server.Addrs()[0])
	require.NoError(t, err)
	p := client.(*pool.Pool)
	var n int
	require.NoError(t, p.Do(ctx, radix.Cmd(&n, "INCR", "hits")))
	require.Equal(t, 1, n)
	require.Equal(t, server.Addrs()[0], p.Addr().String())
	require.Equal(t, "pool.Pool{fixed, "+server.Addrs()[0]+"}", p.String())
	require.Equal(t, pool.DefaultSize, p.Stats().Size, "as for a node of a cluster")
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Do(ctx, radix.Cmd(&n, "INCR", "hits")), redislanes.ErrClosed)
}
