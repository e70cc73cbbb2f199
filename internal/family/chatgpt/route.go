package chatgpt

import (
	"encoding/json"
	"errors"

	"shunt/internal/family"
)

// noConstraint is the value of a constraint that an account does not have (GPT-4b).
const noConstraint = "NO_CONSTRAINT"

// accountJSON is an account in the response about routes.
type accountJSON struct {
	ID       string `json:"id"`
	Origin   string `json:"workspace_backend_origin"`
	Override string `json:"account_routing_override"`
}

type accountsJSON struct {
	Accounts []accountJSON `json:"accounts"`
}

// parseRoute returns the route of an account (GPT-4b). The errors do not quote the body.
func parseRoute(body []byte, a family.AccountInfo) (family.Route, error) {
	var response accountsJSON
	if json.Unmarshal(body, &response) != nil {
		return family.Route{}, errors.New("the response is not a list of accounts")
	}
	for _, listed := range response.Accounts {
		if listed.ID != a.ID {
			continue
		}
		var route family.Route
		if listed.Origin != noConstraint {
			route.Origin = listed.Origin
		}
		switch listed.Override {
		case "us", "us_cr":
			route.Override = listed.Override
		case noConstraint, "":
		default:
			return family.Route{}, errors.New("the response has an unknown routing override")
		}
		return route, nil
	}
	return family.Route{}, errors.New("the response does not list the account")
}
