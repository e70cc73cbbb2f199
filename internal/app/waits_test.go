package app_test

import "time"

// waited reports whether a request took as long as a wait with its jitter: up to a fifth more (FO-6).
func waited(took, wait time.Duration) bool { return took >= wait && took <= wait+wait/5 }
