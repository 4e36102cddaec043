// Package drill lets a service with a limiter run into outages of a real cluster while
// a real Prometheus watches, by monitoring/start.sh: which alert fires, and how long
// after the outage began. It takes minutes, and only make drill runs it.
// TestStartScript takes seconds and runs wherever the exporters are installed.
package drill
