package redisotel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	redisotel "github.com/redislanes/redislanes/otel"
	"github.com/redislanes/redislanes/pool"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A backend keeps what a client's observer exports.
type backend struct {
	spans    *tracetest.InMemoryExporter
	reader   *metric.ManualReader
	tracers  *sdktrace.TracerProvider
	observer *redisotel.Observer
}

func newBackend(t *testing.T, sampler sdktrace.Sampler, attrs ...attribute.KeyValue) *backend {
	b := &backend{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	b.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans), sdktrace.WithSampler(sampler))
	meters := metric.NewMeterProvider(metric.WithReader(b.reader))
	t.Cleanup(func() {
		require.NoError(t, b.tracers.Shutdown(context.Background()))
		require.NoError(t, meters.Shutdown(context.Background()))
	})
	var err error
	b.observer, err = redisotel.Config{TracerProvider: b.tracers, MeterProvider: meters, Attributes: attrs}.New()
	require.NoError(t, err)
	return b
}

func (b *backend) client(t *testing.T, c cluster.Config, addrs []string) *cluster.Client {
	if c.Trace == nil {
		c.Trace = b.observer.Trace()
	}
	c.RefreshEvery = -1
	if c.Pool == nil {
		c.Pool = pool.Laned{Lanes: 1}
	}
	client, err := c.New(within(t), addrs)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		require.NoError(t, b.observer.Close())
	})
	return client
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// taken returns the spans that were exported since it was last called.
func (b *backend) taken() tracetest.SpanStubs {
	defer b.spans.Reset()
	return b.spans.GetSpans()
}

// metrics returns what a reader collects now, by name.
func (b *backend) metrics(t *testing.T) map[string]metricdata.Aggregation {
	var collected metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(within(t), &collected))
	all := make(map[string]metricdata.Aggregation)
	for _, scope := range collected.ScopeMetrics {
		require.Equal(t, "github.com/redislanes/redislanes/otel", scope.Scope.Name)
		for _, m := range scope.Metrics {
			all[m.Name] = m.Data
		}
	}
	return all
}

// attrs returns attributes by their keys.
func attrs(list []attribute.KeyValue) map[string]any {
	all := make(map[string]any)
	for _, a := range list {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}
