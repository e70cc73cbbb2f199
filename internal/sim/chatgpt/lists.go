package chatgpt

import (
	"net/http"

	"shunt/internal/sim/engine"
)

const noConstraint = "NO_CONSTRAINT"

// accountsCheck serves the list of the workspaces that the token may use, with where their requests belong.
func (x *exchange) accountsCheck() {
	constraint := func(s string) string {
		if s == "" {
			return noConstraint
		}
		return s
	}
	x.JSON(http.StatusOK, engine.Object{"accounts": []engine.Object{{
		"id": x.a.ID, "name": x.a.Name, "structure": "personal", "plan_type": x.a.Plan,
		"workspace_backend_origin": constraint(x.a.Origin), "account_routing_override": constraint(x.a.Routing),
	}}})
}

// models serves the list of models as Codex reads it.
func (x *exchange) models() {
	if x.R.URL.Query().Get("client_version") == "" {
		x.detail(http.StatusBadRequest, "client_version is required")
		return
	}
	list := []engine.Object{}
	for i, slug := range x.p.config.Models {
		list = append(list, engine.Object{
			"slug": slug, "display_name": slug, "description": "A simulated model.", "default_reasoning_level": "medium",
			"supported_reasoning_levels": []engine.Object{
				{"effort": "low", "description": "Fast"}, {"effort": "medium", "description": "Balanced"}, {"effort": "high", "description": "Thorough"},
			},
			"shell_type": "shell_command", "visibility": "list", "supported_in_api": true, "priority": i + 1, "upgrade": nil,
			"base_instructions": "You are a simulated coding assistant.", "supports_reasoning_summaries": true,
			"support_verbosity": false, "default_verbosity": nil, "apply_patch_tool_type": nil,
			"truncation_policy": engine.Object{"mode": "bytes", "limit": 10_000}, "supports_parallel_tool_calls": true,
			"context_window": 272_000, "experimental_supported_tools": []any{}, "input_modalities": []string{"text", "image"},
		})
	}
	x.W.Header().Set("Etag", `"simulated"`)
	x.JSON(http.StatusOK, engine.Object{"models": list})
}
