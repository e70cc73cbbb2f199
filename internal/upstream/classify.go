package upstream

import (
	"errors"

	"shunt/internal/family"
	"shunt/internal/http1"
)

// classifyError returns what the lack of a response means. A connection that failed in the middle of one is final for the
// account: the upstream has the request, and may be working on it (FO-0a).
func classifyError(err error) (family.Class, *http1.SendError) {
	var failure *http1.SendError
	switch {
	case errors.Is(err, http1.ErrNoConnection):
		return family.HostDown, nil
	case errors.As(err, &failure) && !failure.Received:
		return family.Unreachable, failure
	}
	return family.Unreadable, nil
}
