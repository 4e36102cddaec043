package redisotel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/redislanes/redislanes/cluster"
	redisotel "github.com/redislanes/redislanes/otel"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func Example() {
	servers, err := redistest.LaunchEmulated(1) // in place of a Redis Cluster
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	ctx := context.Background()

	spans := tracetest.NewInMemoryExporter() // in place of an exporter to a collector
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))

	observer, err := redisotel.Config{TracerProvider: tracers, MeterProvider: meters}.New()
	if err != nil {
		log.Fatal(err)
	}
	defer observer.Close()
	client, err := cluster.Config{Trace: observer.Trace()}.New(ctx, servers.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	requests := pipeline.New(client)
	requests.IncrBy("hits:alice", 1)
	requests.IncrBy("hits:bob", 1)
	if err := requests.Do(ctx); err != nil {
		log.Fatal(err)
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name, span.SpanKind)
	}
	// Output:
	// PIPELINE INCRBY client
}
