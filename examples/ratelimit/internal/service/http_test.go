package service_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/redislanes/redislanes/limit"
)

func TestJSON(t *testing.T) {
	w := start(t, 3, options{})
	const body = `{"domain": "shop", "hitsAddend": 2, "descriptors": [{"entries": [{"key": "user", "value": "1"}]}]}`
	for i := range 2 {
		code, fields, text := w.post(w.url+"/json", body)
		require.Equal(t, http.StatusOK, code, text)
		require.Equal(t, "application/json", fields.Get("Content-Type"))
		res := new(pb.RateLimitResponse)
		require.NoError(t, protojson.Unmarshal([]byte(text), res))
		require.EqualValues(t, 3-2*i, res.GetStatuses()[0].GetLimitRemaining())
	}
	code, fields, text := w.post(w.url+"/json", body)
	require.Equal(t, http.StatusTooManyRequests, code)
	require.Contains(t, text, `"OVER_LIMIT"`)
	seconds, err := strconv.Atoi(fields.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, seconds)

	for body, want := range map[string]int{
		"":                   http.StatusBadRequest,
		"{":                  http.StatusBadRequest,
		"{}":                 http.StatusBadRequest,
		`{"domain": "shop"}`: http.StatusBadRequest,
		`{"nonsense": 1}`:    http.StatusBadRequest,
		`{"domain": "` + strings.Repeat("x", 64<<10) + `"}`: http.StatusRequestEntityTooLarge,
	} {
		code, _, text := w.post(w.url+"/json", body)
		require.Equal(t, want, code, text)
	}
	code, _, _ = w.get(w.url + "/json")
	require.Equal(t, http.StatusMethodNotAllowed, code)
	require.EqualValues(t, 2, w.metric("ratelimit_requests_total", "json", "200"))
	require.EqualValues(t, 1, w.metric("ratelimit_requests_total", "json", "429"))
}

func TestCheck(t *testing.T) {
	w := start(t, 3, options{})
	code, _, _ := w.get(w.url + "/check?domain=shop&descriptor=user%3D" + strings.Repeat("x", 32<<10))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, code)
	check := func(domain string, hits string, descriptors ...string) (int, http.Header, string) {
		values := url.Values{"domain": {domain}, "descriptor": descriptors}
		if hits != "" {
			values.Set("hits", hits)
		}
		return w.get(w.url + "/check?" + values.Encode())
	}
	code, fields, text := check("shop", "", "plan=gold,path=/img/%2Ca", "tenant=1")
	require.Equal(t, http.StatusOK, code, text)
	require.Regexp(t, `^"shop.plan_gold.path__img__-[0-9a-f]{12}";q=2;w=31536000, "shop.tenant";q=100;w=2592000$`, fields.Get("RateLimit-Policy"))
	require.Regexp(t, `;r=1;t=\d+, "shop.tenant";r=99;t=\d+$`, fields.Get("RateLimit"))
	code, _, _ = check("shop", "1", "pl%61n=gold,path=/img/%2Ca")
	require.Equal(t, http.StatusOK, code)
	code, fields, _ = check("shop", "", "plan=gold,path=/img/%2Ca")
	require.Equal(t, http.StatusTooManyRequests, code)
	require.NotEmpty(t, fields.Get("Retry-After"))

	code, _, _ = check("shop", "6", "user=1")
	require.Equal(t, http.StatusTooManyRequests, code)
	for _, free := range []string{"free=1", "color=red"} {
		code, fields, _ = check("shop", "", free)
		require.Equal(t, http.StatusOK, code)
		require.Empty(t, fields.Get("RateLimit"))
	}
	for query, want := range map[string]string{
		"":                                    "domain is empty",
		"domain=shop":                         "0 descriptors",
		"domain=shop&domain=b":                `"domain" 2 times`,
		"domain=shop&user=1":                  `unknown name "user"`,
		"domain=shop&descriptor=":             `descriptor = "": want key=value`,
		"domain=shop&descriptor=a%3Db%2C":     "want key=value",
		"domain=shop&descriptor=a%3D%25zz":    "want key=value",
		"domain=shop&descriptor=a%3Db&hits=0": `hits = "0": want a whole number`,
		"%zz":                                 "the query cannot be read",
	} {
		code, _, text := w.get(w.url + "/check?" + query)
		require.Equal(t, http.StatusBadRequest, code, query)
		require.Contains(t, text, want)
	}
}

func TestAdmin(t *testing.T) {
	w := start(t, 1, options{})
	w.ask(request("user=1"))
	code, _, text := w.get("http://" + w.addrs.Admin + "/metrics")
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{
		`ratelimit_requests_total{code="OK",method="grpc"} 1`, `ratelimit_rules_reloads_total{result="error"} 0`,
		"ratelimit_rules 15", "ratelimit_rules_last_reload_successful 1", "ratelimit_request_duration_seconds_count",
	} {
		require.Contains(t, text, want)
	}
	code, _, text = w.get("http://" + w.addrs.Admin + "/debug/pprof/")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "goroutine")
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		code, _, _ = w.get(w.url + path)
		require.Equal(t, http.StatusNotFound, code, "not for everyone")
	}
}

// TestUnmatched: requests that match no rule are counted, without a label of their
// making, and /check shows which descriptors those are.
func TestUnmatched(t *testing.T) {
	w := start(t, 1, options{})
	for query, want := range map[string]string{
		"domain=shop&descriptor=color%3Dred":                                            "ok: no rule matches descriptor 1\n",
		"domain=elsewhere&descriptor=user%3D1":                                          "ok: no rule matches descriptor 1\n",
		"domain=nowhere&descriptor=user%3D1&descriptor=user%3D2":                        "ok: no rule matches descriptor 1, 2\n",
		"domain=shop&descriptor=user%3D1&descriptor=color%3Dred&descriptor=plan%3Dgold": "ok: no rule matches descriptor 2, 3\n",
		"domain=shop&descriptor=user%3D1&descriptor=vip%3D1":                            "ok\n", // one replaces the other
		"domain=shop&descriptor=free%3D1":                                               "ok\n",
	} {
		code, _, text := w.get(w.url + "/check?" + query)
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, want, text, query)
	}
	w.ask(request("color=red"))
	require.EqualValues(t, 2, w.metric("ratelimit_unmatched_requests_total", "shop"))
	require.EqualValues(t, 2, w.metric("ratelimit_unmatched_requests_total", "(unknown)"))
	require.EqualValues(t, 4, w.metric("ratelimit_unmatched_requests_total"))
}

// TestRedisRefuses: limits fail open or closed, as their rules say.
func TestRedisRefuses(t *testing.T) {
	w := start(t, 1, options{limit: limit.Config{Budget: 50 * time.Millisecond}})
	w.refuse()
	res := w.ask(request("user=1"))
	require.Equal(t, ok, res.GetOverallCode())
	require.Nil(t, res.GetStatuses()[0].GetCurrentLimit(), "nothing is known")
	res = w.ask(request("user=1", "closed=1"))
	require.Equal(t, over, res.GetOverallCode())
	require.Equal(t, over, res.GetStatuses()[1].GetCode())
	require.Empty(t, res.GetResponseHeadersToAdd())
	for _, key := range []string{"closed", "third"} { // a request that these rules deny is not over a limit
		code, fields, text := w.post(w.url+"/json", `{"domain": "shop", "descriptors": [{"entries": [{"key": "`+key+`", "value": "1"}]}]}`)
		require.Equal(t, http.StatusServiceUnavailable, code, text)
		require.Empty(t, fields.Get("Retry-After"))
		code, _, text = w.get(w.url + "/check?domain=shop&descriptor=" + key + "%3D1")
		require.Equal(t, http.StatusServiceUnavailable, code, text)
	}
}
