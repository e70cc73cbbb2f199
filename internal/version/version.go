// Package version knows the version of this build.
package version

import (
	"runtime/debug"
	"sync"
)

// String returns the version of the build.
var String = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
})
