package app_test

import (
	"net/http"
	"regexp"
	"testing"
)

// AUTH-4: a name that was rebound to this machine does not lead to the metrics' own listener either.
func TestMetricsAddressChecksHost(t *testing.T) {
	_, gateway, log, end := served(t, "allowed_hosts = [\"shunt.example\"]\n[server.metrics]\nbind = \"127.0.0.1:0\"\n")
	defer end()
	get(t, gateway+"/health") // once this is there, so is the other
	address := regexp.MustCompile(`metrics are served" address=(\S+)`).FindStringSubmatch(log.String())[1]
	for host, want := range map[string]int{
		address: 200, "localhost": 200, "LOCALHOST:9": 200, "[::1]:9": 200, "Shunt.Example": 200,
		"evil.example": 403, "10.0.0.1": 403, "localhost.evil.example:9": 403,
	} {
		request, err := http.NewRequest(http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, response.StatusCode, want)
		}
	}
}
