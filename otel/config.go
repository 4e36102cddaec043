package redisotel

import (
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/redislanes/redislanes/lanes"
)

// scope is the name of the instrumentation.
const scope = "github.com/redislanes/redislanes/otel"

// Config is the settings of an [Observer]. The zero value uses the global providers.
type Config struct {
	// TracerProvider makes the tracer. Default otel.GetTracerProvider(); a
	// noop.TracerProvider for no spans.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the instruments. Default otel.GetMeterProvider(); the
	// MeterProvider of the package metric/noop for no metrics.
	MeterProvider metric.MeterProvider

	// Attributes are added to all spans and metrics, such as one that tells the
	// clients of a program apart. Keys that the package sets itself are refused.
	Attributes []attribute.KeyValue
}

// New returns an observer for one client with the zero [Config]; see [Config.New].
func New() (*Observer, error) { return Config{}.New() }

// New returns an observer for one client.
func (c Config) New() (*Observer, error) {
	for _, a := range c.Attributes {
		if !a.Valid() {
			return nil, fmt.Errorf("redisotel: Config.Attributes: the key %q is empty, or its value is not set", a.Key)
		}
		if taken[a.Key] {
			return nil, fmt.Errorf("redisotel: Config.Attributes: the key %q is one that the package sets: leave it out", a.Key)
		}
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	o := &Observer{common: attribute.NewSet(append([]attribute.KeyValue{semconv.DBSystemNameRedis}, c.Attributes...)...)}
	if _, off := c.TracerProvider.(noop.TracerProvider); !off {
		o.tracer = c.TracerProvider.Tracer(scope,
			trace.WithInstrumentationVersion(lanes.Version), trace.WithSchemaURL(semconv.SchemaURL))
	}
	meter := c.MeterProvider.Meter(scope,
		metric.WithInstrumentationVersion(lanes.Version), metric.WithSchemaURL(semconv.SchemaURL))
	if err := o.instruments.make(meter); err != nil {
		return nil, fmt.Errorf("redisotel: Config.MeterProvider: %w", err)
	}
	return o, nil
}

// Attributes that the conventions do not have.
const (
	roleKey      = attribute.Key("redislanes.role")
	retriesKey   = attribute.Key("redislanes.retries")
	redirectsKey = attribute.Key("redislanes.redirects")
	outcomeKey   = attribute.Key("redislanes.outcome")
	kindKey      = attribute.Key("redislanes.kind")
	reasonKey    = attribute.Key("redislanes.reason")
)

// taken are the keys that Config.Attributes must not have.
var taken = map[attribute.Key]bool{
	semconv.DBSystemNameKey: true, semconv.DBOperationNameKey: true, semconv.DBOperationBatchSizeKey: true,
	semconv.DBResponseStatusCodeKey: true, semconv.DBQueryTextKey: true,
	semconv.ErrorTypeKey: true, semconv.ServerAddressKey: true, semconv.ServerPortKey: true,
	semconv.DBClientConnectionPoolNameKey: true, semconv.DBClientConnectionStateKey: true,
	semconv.NetworkIODirectionKey: true,
	roleKey:                       true, retriesKey: true, redirectsKey: true, outcomeKey: true, kindKey: true, reasonKey: true,
}
