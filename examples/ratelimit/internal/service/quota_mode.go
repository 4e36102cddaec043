package service

import "github.com/redislanes/redislanes/limit"

// withQuotas denies a call that all of its rules with quota_mode deny, if there are any.
func withQuotas(asks []ask, result limit.Result) limit.Result {
	retryAfter, next, over := limit.Never, 0, false
	for i := range asks {
		a := &asks[i]
		if !a.limited() {
			continue
		}
		d := &result.Each[next]
		next++
		if !a.rule.Quota {
			continue
		}
		if d.Allowed {
			return result
		}
		over, retryAfter = true, min(retryAfter, d.RetryAfter)
	}
	if over && result.Allowed {
		result.Allowed, result.RetryAfter = false, retryAfter
	}
	return result
}
