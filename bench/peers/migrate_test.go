package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// The functions below hold the code of docs/migrate-*.md, so that it compiles
// with the versions in go.mod.

const source = "return redis.call('INCRBY', KEYS[1], ARGV[1])"

func ourNew(ctx context.Context, addrs []string, user, password string, use func(*cluster.Client) error) error {
	client, err := cluster.Config{
		Dialer: lanes.Dialer{
			Username: user, Password: password,
		},
	}.New(ctx, addrs)
	if err != nil {
		return err
	}
	defer client.Close()

	return use(client)
}

func ourPipeline(ctx context.Context, client *cluster.Client) (int64, error) {
	p := pipeline.New(client)
	total := p.IncrBy("user:42", 1)
	p.ExpireNX("user:42", time.Minute)
	_ = p.Do(ctx) // each reply has its own error
	n, err := total.Int()

	return n, err
}

func ourGet(ctx context.Context, client radix.MultiClient) (string, error) {
	var name string
	got := radix.Maybe{Rcv: &name}
	err := client.Do(ctx, radix.Cmd(&got, "GET", "name"))
	if got.Null {
		name = "nobody"
	}

	return name, err
}

func ourCmd(ctx context.Context, client *cluster.Client) (string, error) {
	name, err := client.Cmd(ctx, "GET", "name").Text()
	if errors.Is(err, redislanes.ErrNull) {
		name, err = "nobody", nil
	}

	return name, err
}

func ourScript(ctx context.Context, client radix.MultiClient) (int64, error) {
	var n int64
	add := radix.NewEvalScript(source)
	err := client.Do(ctx, add.Cmd(&n, []string{"hits"}, "5"))

	return n, err
}

func ourTransaction(ctx context.Context, client radix.MultiClient) ([]int64, error) {
	var replies []int64
	err := client.Do(ctx, radix.WithConn("hits",
		func(ctx context.Context, conn radix.Conn) error {
			p := radix.NewPipeline()
			p.Append(radix.Cmd(nil, "MULTI"))
			p.Append(radix.Cmd(nil, "INCRBY", "hits", "1"))
			p.Append(radix.Cmd(nil, "EXPIRE", "hits", "60"))
			p.Append(radix.Cmd(&replies, "EXEC"))
			return conn.Do(ctx, p)
		}))

	return replies, err
}

func ourKeys(ctx context.Context, client *cluster.Client, keys []string) ([]int64, []error) {
	replies := make([]pipeline.Reply, len(keys))
	totals, errs := make([]int64, len(keys)), make([]error, len(keys))

	p := pipeline.New(client)
	for i, key := range keys {
		replies[i] = p.Count(key, 1, time.Minute)
	}
	_ = p.Do(ctx) // each reply has its own error
	for i := range keys {
		totals[i], errs[i] = replies[i].Int()
	}

	return totals, errs
}

func radixNew(ctx context.Context, addrs []string, user, password string) error {
	client, err := radix.ClusterConfig{
		PoolConfig: radix.PoolConfig{
			Dialer: radix.Dialer{
				AuthUser: user, AuthPass: password,
			},
		},
	}.New(ctx, addrs)
	if err != nil {
		return err
	}
	defer client.Close()

	return nil
}

func radixKeys(ctx context.Context, client radix.MultiClient, keys []string) ([]int64, []error) {
	totals, errs := make([]int64, len(keys)), make([]error, len(keys))

	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			p := radix.NewPipeline()
			p.Append(radix.Cmd(&totals[i],
				"INCRBY", key, "1"))
			p.Append(radix.Cmd(nil,
				"EXPIRE", key, "60", "NX"))
			errs[i] = client.Do(ctx, p)
		})
	}
	wg.Wait()

	return totals, errs
}

func radixCmd(ctx context.Context, client radix.MultiClient) (int64, error) {
	var hits int64
	err := client.Do(ctx, radix.Cmd(&hits, "INCRBY", "hits", "5"))

	return hits, err
}

func radixScript(ctx context.Context, client radix.MultiClient) (hits int64, _ error) {
	add := radix.NewEvalScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	err := client.Do(ctx, add.Cmd(&hits, []string{"hits"}, "5"))

	return hits, err
}

func open(ctx context.Context, addrs []string) (radix.MultiClient, error) {
	if os.Getenv("REDIS_CLIENT") == "radix" { // a variable of the service's own
		return radix.ClusterConfig{}.New(ctx, addrs)
	}
	return cluster.Config{}.New(ctx, addrs)
}

func radixOverLanes(ctx context.Context, addrs []string) (radix.MultiClient, error) {
	return radix.ClusterConfig{
		PoolConfig: radix.PoolConfig{CustomPool: pool.Custom(pool.Laned{}, lanes.Dialer{})},
	}.New(ctx, addrs)
}

func goRedisNew(addrs []string, user, password string) {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:    addrs,
		Username: user,
		Password: password,
	})
	defer client.Close()
}

func goRedisPipeline(ctx context.Context, client *redis.ClusterClient) (int64, error) {
	pipe := client.Pipeline()
	total := pipe.IncrBy(ctx, "user:42", 1)
	pipe.ExpireNX(ctx, "user:42", time.Minute)
	_, _ = pipe.Exec(ctx) // each command has its own error
	n, err := total.Result()

	return n, err
}

func goRedisGet(ctx context.Context, client *redis.ClusterClient) (string, error) {
	name, err := client.Get(ctx, "name").Result()
	if errors.Is(err, redis.Nil) {
		name, err = "nobody", nil
	}

	return name, err
}

func goRedisScript(ctx context.Context, client *redis.ClusterClient) (int64, error) {
	add := redis.NewScript(source)
	n, err := add.Run(ctx, client, []string{"hits"}, 5).Int64()

	return n, err
}

func goRedisTransaction(ctx context.Context, client *redis.ClusterClient) (int64, error) {
	tx := client.TxPipeline()
	hits := tx.IncrBy(ctx, "hits", 1)
	tx.Expire(ctx, "hits", time.Minute)
	_, err := tx.Exec(ctx)

	return hits.Val(), err
}

func rueidisNew(addrs []string, user, password string) error {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: addrs,
		Username:    user,
		Password:    password,
	})
	if err != nil {
		return err
	}
	defer client.Close()

	return nil
}

func rueidisPipeline(ctx context.Context, client rueidis.Client) (int64, error) {
	results := client.DoMulti(ctx,
		client.B().Incrby().Key("user:42").Increment(1).Build(),
		client.B().Expire().Key("user:42").Seconds(60).Nx().Build(),
	)
	n, err := results[0].AsInt64()

	return n, err
}

func rueidisGet(ctx context.Context, client rueidis.Client) (string, error) {
	get := client.B().Get().Key("name").Build()
	name, err := client.Do(ctx, get).ToString()
	if rueidis.IsRedisNil(err) {
		name, err = "nobody", nil
	}

	return name, err
}

func rueidisScript(ctx context.Context, client rueidis.Client) (int64, error) {
	add := rueidis.NewLuaScript(source)
	n, err := add.Exec(ctx, client,
		[]string{"hits"}, []string{"5"}).AsInt64()

	return n, err
}

func rueidisTransaction(ctx context.Context, client rueidis.Client) ([]int64, error) {
	var replies []int64
	err := client.Dedicated(func(c rueidis.DedicatedClient) error {
		results := c.DoMulti(ctx,
			c.B().Multi().Build(),
			c.B().Incrby().Key("hits").Increment(1).Build(),
			c.B().Expire().Key("hits").Seconds(60).Build(),
			c.B().Exec().Build(),
		)
		var err error
		replies, err = results[3].AsIntSlice()
		return err
	})

	return replies, err
}

// What needs another client's server is compiled and not run.
var _ = []any{
	radixNew, radixKeys, goRedisNew, goRedisPipeline, goRedisGet, goRedisScript, goRedisTransaction,
	rueidisNew, rueidisPipeline, rueidisGet, rueidisScript, rueidisTransaction,
}

// TestMigrationCode runs our side of the pages on an emulated cluster.
func TestMigrationCode(t *testing.T) {
	servers, err := redistest.LaunchEmulated(3)
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = ourNew(ctx, servers.Addrs(), "", "", func(client *cluster.Client) error {
		if n, err := ourPipeline(ctx, client); n != 1 || err != nil {
			t.Errorf("pipeline: %d, %v", n, err)
		}
		if name, err := ourGet(ctx, client); name != "nobody" || err != nil {
			t.Errorf("GET: %q, %v", name, err)
		}
		if name, err := ourCmd(ctx, client); name != "nobody" || err != nil {
			t.Errorf("GET by Cmd: %q, %v", name, err)
		}
		if n, err := ourScript(ctx, client); n != 5 || err != nil {
			t.Errorf("script: %d, %v", n, err)
		}
		if n, err := radixCmd(ctx, client); n != 10 || err != nil {
			t.Errorf("radix's command: %d, %v", n, err)
		}
		if n, err := radixScript(ctx, client); n != 15 || err != nil {
			t.Errorf("radix's script: %d, %v", n, err)
		}
		if replies, err := ourTransaction(ctx, client); len(replies) != 2 || replies[0] != 16 || replies[1] != 1 || err != nil {
			t.Errorf("transaction: %v, %v", replies, err)
		}
		totals, errs := ourKeys(ctx, client, []string{"a", "b", "c"})
		if err := errors.Join(errs...); err != nil || totals[0]+totals[1]+totals[2] != 3 {
			t.Errorf("keys in several slots: %v, %v", totals, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name, open := range map[string]func(context.Context, []string) (radix.MultiClient, error){"by a setting": open, "radix over lanes": radixOverLanes} {
		client, err := open(ctx, servers.Addrs())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name, err := ourGet(ctx, client); name != "nobody" || err != nil {
			t.Errorf("%s: GET: %q, %v", name, name, err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMigrationPages: each paragraph of Go code in the pages is in this file.
func TestMigrationPages(t *testing.T) {
	file, err := os.ReadFile("migrate_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := trimmed(string(file))
	pages, err := filepath.Glob("../../docs/migrate-*.md")
	if err != nil || len(pages) != 3 {
		t.Fatalf("%q, %v", pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "```go\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			for _, paragraph := range strings.Split(block, "\n\n") {
				if !strings.Contains(code, trimmed(paragraph)) {
					t.Errorf("%s has code that is not compiled here:\n%s", page, paragraph)
				}
			}
		}
	}
}

// trimmed is without indentation, and without blank lines at the ends.
func trimmed(code string) string {
	lines := strings.Split(strings.Trim(code, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
