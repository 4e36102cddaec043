// Package service answers requests for rate limits, over gRPC and HTTP.
//
// A [Service] decides: it turns the descriptors of a request into requests of package
// limit, and all of them into one call of limit.Limiter.Allow. [Service.ShouldRateLimit]
// is Envoy's interface. A [Server] has the listeners, and stops without losing an
// answer; a [Health] says whether Redis can be asked; a [Shedder], if there is one,
// refuses what would only wait.
package service
