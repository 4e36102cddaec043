// Command httplimit serves "hello", 100 times a minute to each address. It is the limiter of
// the README:
//
//	go run ./examples/httplimit -redis 127.0.0.1:6379
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
	"github.com/redislanes/redislanes/limit/limitmetrics"
	"github.com/redislanes/redislanes/metrics"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve at")
	redis := flag.String("redis", "127.0.0.1:6379", "addresses of nodes, with commas between them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	requests, decisions := metrics.New(), limitmetrics.New()
	prometheus.MustRegister(requests, decisions)
	client, err := cluster.Config{Trace: requests.Trace()}.New(ctx, strings.Split(*redis, ","))
	check(err)
	limiter, err := limit.Config{Budget: 100 * time.Millisecond, Observer: decisions}.New(client)
	check(err)
	perMinute, err := limit.Rule{Name: "address", Quota: 100, Window: time.Minute}.New(limiter)
	check(err)
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello\n")) })
	http.Handle("/", limithttp.Handler(limiter, hello, func(r *http.Request) []limit.Request {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		return []limit.Request{{Limit: perMinute, Key: host}} // with several limits, all count the request or none does
	}))
	http.Handle("/metrics", promhttp.Handler())
	server := &http.Server{Addr: *listen, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	go func() { check(server.ListenAndServe()) }()
	<-ctx.Done() // a second signal ends the program at once
	stop()
	check(errors.Join(server.Shutdown(context.Background()), limiter.Close(), client.Close())) // in this order
}

func check(err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
