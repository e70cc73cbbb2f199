package upstream

import (
	"errors"

	"shunt/internal/family"
	"shunt/internal/http1"
)

// classifyError returns what a missing response means. If the connection failed in the middle of a response, the account gets
// no resend: the upstream has the request, and may be working on it (FO-0a).
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
