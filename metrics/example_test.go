package metrics_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/mediocregopher/radix/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/redistest"
)

// steady stands for a *cluster.Client, whose figures would change from run to
// run.
type steady struct{}

func (steady) Stats() redislanes.Stats {
	return redislanes.Stats{
		Slots: cluster.SlotCount, Moved: 2, Refreshes: 5,
		Nodes: []redislanes.NodeStats{{Role: "primary", Pool: redislanes.PoolStats{
			Addr: "10.0.0.1:6379", Kind: "laned", Size: 2, Open: 2, InUse: 1,
			Capacity: 2048, LaneInFlight: []int{512, 0}, Dials: 2,
		}}},
	}
}

// Metrics are made before the client, which tells them of each request.
func ExampleNew() {
	servers, err := redistest.LaunchEmulated(3) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()

	m := metrics.New()
	client, err := cluster.Config{Trace: m.Trace()}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	reg := prometheus.NewRegistry()
	reg.MustRegister(m)

	for range 5 {
		if err := client.Do(ctx, radix.Cmd(nil, "INCRBY", "hits", "1")); err != nil {
			log.Fatal(err)
		}
	}
	families, err := reg.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "redislanes_request_duration_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			fmt.Println(m.GetLabel()[0].GetValue(), m.GetHistogram().GetSampleCount())
		}
	}
	// Output:
	// error 0
	// not_sent 0
	// ok 5
	// unknown 0
}

func ExampleNewCollector() {
	client := steady{} // a *cluster.Client

	reg := prometheus.NewRegistry()
	labels := prometheus.Labels{"client": "limits"} // to register those of other clients, too
	prometheus.WrapRegistererWith(labels, reg).MustRegister(metrics.NewCollector(client))
	handler := promhttp.HandlerFor(reg, promhttp.HandlerOpts{}) // serve it at /metrics

	scrape := httptest.NewRecorder()
	handler.ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	for lines := bufio.NewScanner(scrape.Body); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), "{")
		switch name {
		case "redislanes_lane_in_flight_batches", "redislanes_pool_saturation_ratio", "redislanes_slots_owned":
			fmt.Println(lines.Text())
		}
	}
	// Output:
	// redislanes_lane_in_flight_batches{client="limits",lane="0",node="10.0.0.1:6379",role="primary"} 512
	// redislanes_lane_in_flight_batches{client="limits",lane="1",node="10.0.0.1:6379",role="primary"} 0
	// redislanes_pool_saturation_ratio{client="limits",kind="laned",node="10.0.0.1:6379",role="primary"} 0.25
	// redislanes_slots_owned{client="limits"} 16384
}
