// Package limithttp has HTTP handlers that ask a limit.Limiter or a places.Semaphore before they
// call the next handler, and the values of the RateLimit header fields.
package limithttp
