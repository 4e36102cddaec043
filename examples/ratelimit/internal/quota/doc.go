// Package quota is Envoy's rate limit quota service (RLQS),
// envoy.service.rate_limit_quota.v3. Clients decide about hits themselves: they report how many
// they have had, and get assignments that together are at most the limit.
//
// Several instances share a limit by leases in Redis. An instance assigns only what it has leased,
// and only until its lease ends, so that what a crashed instance has assigned is over when others get
// it. Package share divides a lease among the clients of an instance.
package quota
