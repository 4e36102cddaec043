package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/redislanes/redislanes/pool"
)

// variables is what the environment says. The names of the first part are those
// of Envoy's rate limit service; the tag want is for errors.
type variables struct {
	Type       string `env:"REDIS_TYPE" envDefault:"single"`
	SocketType string `env:"REDIS_SOCKET_TYPE" envDefault:"tcp"`
	URL        string `env:"REDIS_URL"` // host:port,..., name,host:port,... of Sentinels, or a path
	Auth       secret `env:"REDIS_AUTH"`

	SentinelAuth secret `env:"REDIS_SENTINEL_AUTH"`

	TLS                         bool   `env:"REDIS_TLS" want:"true or false"`
	TLSCACert                   string `env:"REDIS_TLS_CACERT"`
	TLSClientCert               string `env:"REDIS_TLS_CLIENT_CERT"`
	TLSClientKey                string `env:"REDIS_TLS_CLIENT_KEY"`
	TLSSkipHostnameVerification bool   `env:"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION" want:"true or false"`

	PoolSize              int           `env:"REDIS_POOL_SIZE" want:"a whole number"` // 0: the kind's default
	PoolOnEmpty           string        `env:"REDIS_POOL_ON_EMPTY_BEHAVIOR" envDefault:"wait"`
	PoolOnEmptyWait       time.Duration `env:"REDIS_POOL_ON_EMPTY_WAIT_DURATION" want:"a duration such as 1s"`
	Timeout               time.Duration `env:"REDIS_TIMEOUT" envDefault:"10s" want:"a duration such as 10s"`
	PipelineWindow        time.Duration `env:"REDIS_PIPELINE_WINDOW" want:"a duration such as 150us"`
	PipelineLimit         int           `env:"REDIS_PIPELINE_LIMIT" want:"a whole number"`
	ExplicitPipeline      bool          `env:"REDIS_USE_EXPLICIT_PIPELINE" want:"true or false"`
	HealthCheckConnection bool          `env:"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION" want:"true or false"`
	PerSecond             bool          `env:"REDIS_PERSECOND" want:"true or false"`

	// Ours.
	Pool       string `env:"REDIS_POOL" envDefault:"laned"`
	PoolMin    int    `env:"REDIS_POOL_MIN" want:"a whole number"`
	Lanes      int    `env:"REDIS_LANES" want:"a whole number"` // 0: the default, 4
	Strategy   string `env:"REDIS_LANE_STRATEGY" envDefault:"first-fit"`
	MaxWaiters int    `env:"REDIS_MAX_WAITERS" want:"a whole number"` // 0: the default, 65,536
}

// A secret is not shown, however it is printed.
type secret string

// Format is part of fmt.Formatter.
func (s secret) Format(f fmt.State, _ rune) {
	text := "none"
	if s != "" {
		text = "set"
	}
	_, _ = io.WriteString(f, text)
}

// read takes the variables from the environment and checks what can be checked
// without a file or a server. Its error names every variable that is wrong.
func read(environment map[string]string) (variables, error) {
	v, err := env.ParseAsWithOptions[variables](env.Options{Environment: environment})
	if err != nil {
		return v, byVariable(err, environment)
	}
	for _, word := range []*string{&v.Type, &v.SocketType, &v.PoolOnEmpty, &v.Pool, &v.Strategy} {
		*word = strings.ToLower(*word)
	}
	return v, v.check()
}

// byVariable names the variable where the library names the field of the
// struct, and what is wanted in place of what strconv says.
func byVariable(err error, environment map[string]string) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	var named []error
	for _, err := range all.Errors {
		var parse env.ParseError
		field, ok := reflect.StructField{}, false
		if errors.As(err, &parse) {
			field, ok = reflect.TypeFor[variables]().FieldByName(parse.Name)
		}
		if !ok {
			named = append(named, err)
			continue
		}
		name := field.Tag.Get("env")
		named = append(named, fmt.Errorf("%s = %q: want %s", name, environment[name], field.Tag.Get("want")))
	}
	return errors.Join(named...)
}

func (v *variables) check() error {
	errs := []error{
		v.checkServer(),
		oneOf("REDIS_POOL", v.Pool, "laned", "fixed", "adaptive"),
		oneOf("REDIS_LANE_STRATEGY", v.Strategy, strategyNames...),
		oneOf("REDIS_POOL_ON_EMPTY_BEHAVIOR", v.PoolOnEmpty, "wait", "error", "create"),
		notNegative("REDIS_POOL_SIZE", v.PoolSize), notNegative("REDIS_POOL_MIN", v.PoolMin),
		notNegative("REDIS_LANES", v.Lanes), notNegative("REDIS_MAX_WAITERS", v.MaxWaiters),
	}
	if v.Timeout < time.Millisecond {
		errs = append(errs, fmt.Errorf("REDIS_TIMEOUT = %v: want 1ms or more", v.Timeout))
	}
	if v.PoolOnEmpty == "create" && v.Pool == "fixed" {
		errs = append(errs, errors.New("REDIS_POOL_ON_EMPTY_BEHAVIOR = create with REDIS_POOL = fixed: "+
			"want wait or error, or REDIS_POOL = adaptive for a pool that grows"))
	}
	if v.Pool == "adaptive" && v.PoolSize > 0 && v.PoolMin > v.PoolSize {
		errs = append(errs, fmt.Errorf("REDIS_POOL_MIN = %d: want at most REDIS_POOL_SIZE = %d", v.PoolMin, v.PoolSize))
	}
	if v.PerSecond {
		errs = append(errs, errors.New("REDIS_PERSECOND = true: a second Redis is not supported here; want false"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := pool.Validate(v.pool()); err != nil { // more than a pool takes
		return fmt.Errorf("REDIS_POOL_SIZE = %d, REDIS_POOL_MIN = %d, REDIS_LANES = %d, REDIS_MAX_WAITERS = %d: %w", v.PoolSize, v.PoolMin, v.Lanes, v.MaxWaiters, err)
	}
	return nil
}

func (v *variables) checkServer() error {
	errs := []error{
		oneOf("REDIS_TYPE", v.Type, "single", "cluster", "sentinel"),
		oneOf("REDIS_SOCKET_TYPE", v.SocketType, "tcp", "unix"),
	}
	hosts, err := v.hosts()
	errs = append(errs, err)
	switch {
	case v.SocketType == "unix" && v.Type != "single":
		errs = append(errs, fmt.Errorf("REDIS_SOCKET_TYPE = unix with REDIS_TYPE = %s: want REDIS_TYPE = single", v.Type))
	case v.Type == "sentinel" && err == nil && len(hosts) == 0:
		errs = append(errs, errors.New("REDIS_URL with REDIS_TYPE = sentinel: want the primary's name and the Sentinels, name,host:port,host:port"))
	case v.SentinelAuth != "" && v.Type != "sentinel":
		errs = append(errs, fmt.Errorf("REDIS_SENTINEL_AUTH with REDIS_TYPE = %s: want REDIS_TYPE = sentinel", v.Type))
	case err == nil && v.Type == "single" && len(hosts) > 1:
		errs = append(errs, fmt.Errorf("REDIS_URL has %d hosts: want one with REDIS_TYPE = single, or REDIS_TYPE = cluster", len(hosts)))
	case v.URL == "" && (v.TLS || v.Auth != ""):
		errs = append(errs, errors.New("REDIS_TLS and REDIS_AUTH need REDIS_URL: the emulated cluster has neither"))
	}
	if user, password := v.Auth.credentials(); user != "" && password == "" {
		errs = append(errs, errors.New("REDIS_AUTH: want user:password, or the password of the default user: nothing follows the colon"))
	}
	if user, password := v.SentinelAuth.credentials(); user != "" && password == "" {
		errs = append(errs, errors.New("REDIS_SENTINEL_AUTH: want user:password, or a password: nothing follows the colon"))
	}
	if !v.TLS && (v.TLSCACert != "" || v.TLSClientCert != "" || v.TLSClientKey != "" || v.TLSSkipHostnameVerification) {
		errs = append(errs, errors.New("REDIS_TLS_... without REDIS_TLS: want REDIS_TLS = true, or none of them"))
	}
	if (v.TLSClientCert == "") != (v.TLSClientKey == "") {
		errs = append(errs, errors.New("REDIS_TLS_CLIENT_CERT and REDIS_TLS_CLIENT_KEY: want both or neither"))
	}
	return errors.Join(errs...)
}

// hosts returns the addresses in REDIS_URL; none if it is not set. The error
// does not show one that may hold a password.
func (v *variables) hosts() ([]string, error) {
	if v.URL == "" {
		return nil, nil
	}
	hosts := strings.Split(v.URL, ",")
	if v.SocketType == "unix" {
		if len(hosts) > 1 || !strings.HasPrefix(v.URL, "/") || strings.Contains(v.URL, "@") {
			return nil, errors.New("REDIS_URL with REDIS_SOCKET_TYPE = unix: want the absolute path of one socket")
		}
		return hosts, nil
	}
	if v.Type == "sentinel" {
		hosts = hosts[1:] // after the name
	}
	for i := range hosts {
		hosts[i] = strings.TrimSpace(hosts[i])
		switch {
		case strings.ContainsAny(hosts[i], "@/"):
			return nil, fmt.Errorf("REDIS_URL: host %d: want host:port without a scheme, a path or credentials; "+
				"these belong in REDIS_TLS and REDIS_AUTH", i+1)
		case !strings.Contains(hosts[i], ":"):
			return nil, fmt.Errorf("REDIS_URL: host %d = %q: want host:port", i+1, hosts[i])
		}
	}
	return hosts, nil
}

// primaryName returns the name that the Sentinels know the primary by.
func (v *variables) primaryName() string {
	name, _, _ := strings.Cut(v.URL, ",")
	return strings.TrimSpace(name)
}

// credentials returns what a variable says: user:password, or the password of
// the default user.
func (s secret) credentials() (user, password string) {
	if user, password, ok := strings.Cut(string(s), ":"); ok {
		return user, password
	}
	return "", string(s)
}

// notices says which variables are accepted and change nothing.
func (v *variables) notices() []string {
	var notes []string
	note := func(unused bool, text string) {
		if unused {
			notes = append(notes, text)
		}
	}
	note(v.PipelineWindow != 0 || v.PipelineLimit != 0 || v.ExplicitPipeline,
		"REDIS_PIPELINE_WINDOW, REDIS_PIPELINE_LIMIT and REDIS_USE_EXPLICIT_PIPELINE are not needed and have no effect: "+
			"a request is one pipeline, and lanes send those of many callers together without waiting for more")
	note(v.Pool == "laned" && v.PoolSize != 0,
		"REDIS_POOL_SIZE has no effect on lanes, which all callers share: set REDIS_LANES, or REDIS_POOL = fixed or adaptive")
	note(v.Pool != "laned" && v.Lanes != 0, "REDIS_LANES has no effect without REDIS_POOL = laned")
	note(v.Pool != "adaptive" && v.PoolMin != 0, "REDIS_POOL_MIN has no effect without REDIS_POOL = adaptive")
	note(v.Pool == "laned" && v.PoolOnEmpty == "create",
		"REDIS_POOL_ON_EMPTY_BEHAVIOR = create has no effect on lanes, which are never empty")
	note(v.PoolOnEmptyWait != 0,
		"REDIS_POOL_ON_EMPTY_WAIT_DURATION has no effect: a request waits for a connection until REDIS_TIMEOUT ends it")
	return notes
}

func oneOf(name, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s = %q: want %s", name, value, strings.Join(words, " or "))
}

func notNegative(name string, value int) error {
	if value < 0 {
		return fmt.Errorf("%s = %d: want 0 or more", name, value)
	}
	return nil
}
