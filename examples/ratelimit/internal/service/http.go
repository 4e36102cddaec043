package service

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// Handler returns what is served over HTTP: /json, /check, /healthz and /readyz.
func (s *Service) Handler(h *Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /json", s.Metrics.handler("json", s.serveJSON))
	mux.Handle("GET /check", s.Metrics.handler("check", s.serveCheck))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := h.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.draining.Err() != nil {
			// The client opens another connection, elsewhere: one that was only closed
			// might have a request on its way.
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	})
}

// serveJSON answers a RateLimitRequest in the JSON form of protocol buffers with a
// RateLimitResponse, and a status that says the same.
func (s *Service) serveJSON(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.MaxMessage)))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, "the body is too large: must be at most "+strconv.Itoa(s.MaxMessage)+" bytes", http.StatusRequestEntityTooLarge)
		return
	}
	req := new(pb.RateLimitRequest)
	if err == nil {
		err = protojson.Unmarshal(body, req)
	}
	if err != nil {
		http.Error(w, "the body is not a RateLimitRequest in JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	a, err := s.decide(r.Context(), req)
	if err != nil {
		httpError(w, err)
		return
	}
	text, err := protojson.Marshal(a.response)
	if err != nil {
		s.Log.Error("a response has no JSON form", "error", err)
		http.Error(w, "the response has no JSON form", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status(w.Header()))
	_, _ = w.Write(text) // the client has gone
}

// status returns that of the answer, and sets Retry-After.
func (a *answer) status(h http.Header) int {
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(a.retryAfter, 10))
	}
	switch {
	case a.failed:
		return http.StatusServiceUnavailable
	case a.response.GetOverallCode() == pb.RateLimitResponse_OVER_LIMIT:
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}

// statusGone is for the metrics, as in nginx: the client has gone before its answer.
const statusGone = 499

// httpError writes an error of decide.
func httpError(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch status.Code(err) {
	case codes.InvalidArgument:
		code = http.StatusBadRequest
	case codes.Unavailable:
		code = http.StatusServiceUnavailable
	case codes.Canceled, codes.DeadlineExceeded:
		code = statusGone
	}
	http.Error(w, status.Convert(err).Message(), code)
}
